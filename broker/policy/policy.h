#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/home/home.h"
#include "broker/home/result.h"
#include "broker/policy/operations.h"

namespace factionos::policy {

using home::Problem;
using home::ProblemCode;
using home::Result;
using home::Status;
using Time = std::chrono::sys_time<std::chrono::milliseconds>;

enum class Verdict : std::uint8_t { kAllow, kAsk, kDeny };
const char* label(Verdict verdict);  // "allow", "ask", "deny"

// What would run. Policy knows a program by its resolved path or by its kind; it never looks inside a shell
// line, so a request that carries one is `sh` as a whole, whatever the line says.
struct Program {
  enum class Kind : std::uint8_t { kNone, kSystem, kShellLine, kWorkspace } kind = Kind::kNone;
  std::string path;  // kSystem: the resolved real path in a system or profile directory; else empty

  static Program none() { return {}; }
  static Program system(std::string resolvedPath) { return {Kind::kSystem, std::move(resolvedPath)}; }
  static Program shellLine() { return {Kind::kShellLine, {}}; }
  static Program workspace() { return {Kind::kWorkspace, {}}; }
  bool operator==(const Program&) const = default;
};

// What a decision depends on, and nothing else. Empty strings: the request has none (they match "*" alone).
struct Subject {
  Family family = Family::kFile;
  std::string operation;
  std::string workspace;  // label
  std::string principal;  // label: Principal::name
  Program program;
  std::string network;  // "none", "loopback", "full"
  std::string profile;  // the session's profile or the container's template, a label

  bool operator==(const Subject&) const = default;
};

enum class Approver : std::uint8_t { kPresent, kAbsent };  // is there an operator's key that could approve?
enum class SessionCover : std::uint8_t { kNone, kOwnApprovedSession };

struct Request {
  Subject subject;
  Time now{};
  Approver approver = Approver::kAbsent;
  SessionCover cover = SessionCover::kNone;  // for operations that are Decided::kBySession
};

// Why the verdict is what it is; a stable label for audit and API.
enum class Cause : std::uint8_t {
  kRule,                  // "policy_rule"
  kGrant,                 // "policy_grant"
  kSession,               // "session_approval"
  kNoRule,                // "policy_no_rule"
  kMalformed,             // "policy_malformed": a terminal run without a program, a relative path, …
  kNoApprover,            // "policy_no_approver": a rule asks, and nobody can answer
  kNoSession,             // "not_session_owner"
  kOperationUnavailable,  // "operation_unavailable"
};
const char* label(Cause cause);

struct Decision {
  Verdict verdict = Verdict::kDeny;
  Cause cause = Cause::kNoRule;
  std::uint32_t ruleLine = 0;  // in policy.toml; 0 when no rule matched
  std::string reason;          // the rule's own words (at most 160 printable bytes), else a fixed sentence
  std::string grantId;         // of the grant that turned ask into allow
};

// Identifies what was in force. The counter rises with every load whose content differs from the one before;
// the digest (BLAKE2b-256 of the canonical rules) does not change with comments or layout.
struct Revision {
  std::uint64_t counter = 0;
  std::array<std::uint8_t, 32> digest{};

  std::string text() const;  // "7-" and the first 16 hexadecimal digits
  bool operator==(const Revision&) const = default;
};

class GrantList;
struct Rule;

class Policy {
 public:
  // "policy.toml:LINE:COLUMN: FIELD: …; next step", no value echoed. `previous` is the last revision in force
  // (all zero for none): its counter is kept if the content is the same, else raised by one.
  static Result<Policy> parse(std::string_view text, const Revision& previous);
  static Result<Policy> load(const home::Home& home, const Revision& previous);

  Policy(Policy&&) noexcept;
  Policy& operator=(Policy&&) noexcept;
  ~Policy();

  const Revision& revision() const { return revision_; }
  std::size_t ruleCount() const;

  // First rule that matches decides; none is deny. A grant is asked only where the rules say ask.
  Decision evaluate(const Request& request, const GrantList& grants) const;

  // Whether `principal` is allowed the operation on everything there is: what a list needs, since it shows
  // rows of every workspace and program. False if only some of it is.
  bool allowsAll(Family family, std::string_view operation, std::string_view principal, Time now) const;

  // For `policy check`: each rule down to the one that matched, with the first field that did not.
  struct Step {
    std::uint32_t line;
    bool matched;
    std::string_view mismatch;  // "family", "operation", …, "until"; empty when matched
  };
  struct Explanation {
    std::vector<Step> steps;
    Decision decision;
    std::string text() const;  // lines for a terminal; labels and line numbers only
  };
  Explanation explain(const Request& request, const GrantList& grants) const;

 private:
  Policy(std::vector<Rule> rules, Revision revision);
  const Rule* firstMatch(const Operation& operation, const Request& request, std::vector<Step>* trace) const;
  Decision decide(const Request& request, const GrantList& grants, std::vector<Step>* trace) const;

  std::vector<Rule> rules_;
  Revision revision_;
};

inline constexpr const char* kPolicyFile = "policy.toml";
inline constexpr std::size_t kMaxPolicyBytes = 256 * 1024;
inline constexpr std::size_t kMaxRules = 1024;

// What `init` writes: asks for every mutation, allows what only reads, denies push.
std::string_view defaultPolicyText();

}  // namespace factionos::policy
