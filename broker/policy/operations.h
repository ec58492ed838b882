#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "broker/redaction/words.h"

namespace factionos::policy {

enum class Family : std::uint8_t { kFile, kGit, kTerminal, kContainer, kRemote, kHosted };
enum class Effect : std::uint8_t { kReadOnly, kMutating };
enum class Posture : std::uint8_t {
  kAvailable,
  kUnavailable,  // 501
  kNonExecuting,
  kDeferred,
  kOffline,
  kAuthRequired,
  kTimeout,
  kPolicyBlocked,
};
enum class Risk : std::uint8_t { kLow, kMedium, kHigh };
enum class Rollback : std::uint8_t { kAutomatic, kManual, kNone };

// Whose decision an operation rests on.
enum class Decided : std::uint8_t {
  kByItself,   // policy is asked for each request
  kBySession,  // covered by the decision that started the session or the run, for its owner alone
};

const char* label(Family family);      // "file", …
const char* label(Effect effect);      // "read-only", "mutating"
const char* label(Posture posture);    // "available", "policy_blocked", …
const char* label(Risk risk);          // "low", "medium", "high"
const char* label(Rollback rollback);  // "automatic", "manual", "none"
std::optional<Family> parseFamily(std::string_view text);

// One row of the table of all operations. Every label is safe to show at every boundary.
struct Operation {
  Family family;
  std::string_view name;
  Effect effect;
  Posture posture;  // as shipped; readiness and policy may lower it at run time, never raise it
  Decided decided;
  Risk risk;                    // under network profile `none`
  redaction::Literal mutation;  // what is expected to change; "none" for what reads
  Rollback rollback;
  redaction::Literal guidance;  // how to undo by hand, or why it can't be undone; empty where it is automatic
};

std::span<const Operation> allOperations();

// `remote` and `hosted` answer for any name; terminal `kill` is another name of `signal`. Null: no such
// operation.
const Operation* findOperation(Family family, std::string_view name);

}  // namespace factionos::policy
