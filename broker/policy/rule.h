#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "broker/policy/policy.h"

namespace factionos::policy {

// Mechanism of the policy: one rule. Private to this library.

// "*", "read-only", "mutating", or one operation by name.
struct OperationPattern {
  enum class Kind : std::uint8_t { kAny, kReadOnly, kMutating, kOne } kind = Kind::kAny;
  std::string name;  // kOne: the row's own name

  bool matches(const Operation& operation) const;
};

// "*", "sh", "workspace", or one resolved absolute path; there are no globs and no prefixes.
struct ProgramPattern {
  enum class Kind : std::uint8_t { kAny, kShellLine, kWorkspace, kPath } kind = Kind::kAny;
  std::string path;

  bool matches(const Program& program) const;
};

struct Rule {
  std::uint32_t line = 0;
  std::optional<Family> family;  // nothing: any
  OperationPattern operation;
  std::string workspace = "*";
  std::string principal = "*";
  ProgramPattern program;
  std::string network = "*";
  std::string profile = "*";
  Verdict verdict = Verdict::kDeny;
  std::string reason;
  std::optional<Time> until;

  // The first field that keeps the rule from deciding, by its name in policy.toml; empty when it decides.
  std::string_view mismatch(const Operation& operation, const Subject& subject, Time now) const;

  // Could it decide about this operation of this principal, whatever the rest of the request is?
  bool concerns(const Operation& operation, std::string_view principal, Time now) const;
  // It leaves open workspace, program, network and profile.
  bool isForEverything() const;

  // Could it decide about something that changes anything?
  bool reachesMutations() const;

  // All that decides, each field with its length in front; neither line nor layout.
  std::string canonicalBytes() const;
};

// Absolute, lexically normal, without a trailing slash, printable.
bool isProgramPath(std::string_view path);

inline constexpr std::size_t kMaxReasonBytes = 160;

}  // namespace factionos::policy
