#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "broker/audit/audit_log.h"

namespace factionos::audit {

enum class Breach {
  kNone,
  kNoLog,          // the log is missing or empty
  kUnreadable,     // the log or head can't be read
  kMalformed,      // a line that the format does not know
  kSequence,       // a line is missing, repeated or out of place
  kChain,          // a line's bytes do not match its hash, or it does not follow the line before
  kSignature,      // a signature that the epoch's key did not make
  kUnsigned,       // lines that no signature covers before the end
  kWrongFirstKey,  // the log begins with another key than the one given
  kWrongEpochKey,  // the secret in use is not the one that the last seal named
  kTruncated,      // the head, or the anchor given, knows of later lines
  kHeadBehind,     // the log is ahead of the head by more than the one batch that a crash explains
  kHeadDamaged,    // the head is missing or contradicts itself
};

std::string_view nameOf(Breach breach);

struct Verdict {
  Breach breach = Breach::kNone;
  std::uint64_t sequence = 0;   // first line that is wrong or missing; the last line's if intact
  std::uint64_t records = 0;    // decisions and outcomes seen
  std::uint64_t gaps = 0;       // gap lines: what power loss or a failing disk took, told openly
  std::uint64_t voided = 0;     // void lines
  std::uint64_t tornBytes = 0;  // an unfinished write at the end: under way, or the next open makes it a gap
  bool headBehind = false;      // by the one batch that a crash explains
  bool intact() const { return breach == Breach::kNone; }
};

struct Expectation {
  std::optional<std::string> firstPublicKey{};  // hex, as create() returned it
  std::uint64_t atLeast = 0;                    // anchor: the log held this many lines once
  std::optional<Digest> hashAtLeast{};          // anchor: and the hash over line `atLeast` was this
};

// Reads the whole log; may run while the log is written, in this process or another. Never throws for what it
// finds.
Verdict verify(const AuditPaths& paths, const Expectation& expected = {});

}  // namespace factionos::audit
