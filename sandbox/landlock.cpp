#include "sandbox/landlock.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/setup_error.h"
#include "sandbox/syscalls.h"

namespace factionos::sandbox {
namespace {

// The kernel's structures, in full length of ABI 6. An older kernel takes them as long as what it does not
// know is 0.
struct RulesetAttributes {
  std::uint64_t handledFiles = 0;
  std::uint64_t handledNetwork = 0;
  std::uint64_t scoped = 0;
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed;
  std::int32_t parent;
};
struct NetworkPort {
  std::uint64_t allowed;
  std::uint64_t port;
};

constexpr unsigned kVersionFlag = 1;
constexpr int kRulePathBeneath = 1;
constexpr int kRuleNetworkPort = 2;
constexpr std::uint64_t kBindTcp = 1;
constexpr std::uint64_t kConnectTcp = 2;
constexpr std::uint64_t kScopeAbstractSocket = 1;
constexpr std::uint64_t kScopeSignal = 2;
constexpr int kAbiOfRefer = 2;
constexpr int kAbiOfTcp = 4;
constexpr unsigned kLogSameExecOff = 1;
constexpr unsigned kLogNewExecOn = 2;

// What the kernel takes for a rule on something that is not a directory.
constexpr Access kOfFiles =
    access::kExecute | access::kWriteFile | access::kReadFile | access::kTruncate | access::kIoctlDev;

struct NamedRight {
  Access right;
  std::string_view label;
};
constexpr std::array kLateRights = {NamedRight{access::kRefer, "landlock_refer"},
                                    NamedRight{access::kTruncate, "landlock_truncate"},
                                    NamedRight{access::kIoctlDev, "landlock_ioctl_dev"}};

bool restrictsAnything(const LandlockPolicy& policy) {
  return policy.files.scope == FileScope::kListedOnly || policy.tcp.need == Need::kRequired ||
         policy.scopes.abstractSockets == Need::kRequired || policy.scopes.signals == Need::kRequired;
}

// Whether a layer that came with `sinceAbi` is taken. Throws if it must be and is not there.
bool take(Need need, int abi, int sinceAbi, std::string_view label, const char* fatal,
          LandlockPosture& posture) {
  if (need == Need::kOff) return false;
  if (abi >= sinceAbi) return true;
  if (need == Need::kRequired) throw SetupError(Step::kLandlock, ENOSYS, fatal);
  posture.missing.push_back(label);
  return false;
}

unsigned flagsOf(DenialLog log, int abi) {
  return log == DenialLog::kPrograms && abi >= kAbiOfAudit ? kLogSameExecOff | kLogNewExecOn : 0;
}

bool isEveryPort(const std::vector<PortRange>& ranges) {
  return std::ranges::any_of(ranges, [](PortRange range) { return range.first == 0 && range.last == 65535; });
}

// What a layer does not handle it lets pass, as 65,536 rules would: a tenth of a second and some megabytes of
// the kernel's for each process that enters.
std::uint64_t handledOf(const TcpRules& tcp) {
  return (isEveryPort(tcp.bind) ? 0 : kBindTcp) | (isEveryPort(tcp.connect) ? 0 : kConnectTcp);
}

RulesetAttributes decide(const LandlockPolicy& policy, LandlockPosture& posture) {
  RulesetAttributes attributes;
  if (policy.files.scope == FileScope::kListedOnly) {
    posture.filesEnforced = rightsOfAbi(posture.abi);
    attributes.handledFiles = posture.filesEnforced.bits;
    if (!posture.filesEnforced.has(policy.files.mustEnforce)) {
      throw SetupError(Step::kLandlock, ENOSYS, "landlock_right_missing");
    }
    for (const NamedRight& late : kLateRights) {
      if (!posture.filesEnforced.has(late.right)) posture.missing.push_back(late.label);
    }
  }
  posture.tcpEnforced =
      take(policy.tcp.need, posture.abi, kAbiOfTcp, "landlock_tcp", "landlock_tcp_missing", posture);
  if (posture.tcpEnforced) attributes.handledNetwork = handledOf(policy.tcp);
  posture.abstractSocketsScoped = take(policy.scopes.abstractSockets, posture.abi, kAbiOfScopes,
                                       "landlock_scope_abstract_sockets", "landlock_scope_missing", posture);
  if (posture.abstractSocketsScoped) attributes.scoped |= kScopeAbstractSocket;
  posture.signalsScoped = take(policy.scopes.signals, posture.abi, kAbiOfScopes, "landlock_scope_signals",
                               "landlock_scope_missing", posture);
  if (posture.signalsScoped) attributes.scoped |= kScopeSignal;
  // The kernel refuses renaming and linking between directories (EXDEV) in every layer that does not handle
  // and grant it, also in one that only scopes.
  const bool restricts = attributes.handledNetwork != 0 || attributes.scoped != 0;
  if (policy.files.scope == FileScope::kUnrestricted && restricts && posture.abi >= kAbiOfRefer)
    attributes.handledFiles = access::kRefer.bits;
  return attributes;
}

void addFileRule(int ruleset, const FileRule& rule, Access enforced) {
  Fd opened;
  int parent = rule.descriptor;
  if (parent < 0) {
    opened.reset(open(rule.path.c_str(), O_PATH | O_CLOEXEC));
    if (!opened && errno == ENOENT && rule.need == Need::kIfAvailable) return;
    if (!opened) failWithErrno(Step::kLandlock, "landlock_path_unusable");
    parent = opened.get();
  }
  struct stat status {};
  checked(Step::kLandlock, fstat(parent, &status), "landlock_path_unusable");
  Access allowed = rule.access & enforced;
  if (!S_ISDIR(status.st_mode)) allowed = allowed & kOfFiles;
  if (allowed.empty()) throw SetupError(Step::kLandlock, EINVAL, "landlock_rule_empty");
  const PathBeneath attributes{allowed.bits, parent};
  checked(Step::kLandlock, syscall(calls::kLandlockAddRule, ruleset, kRulePathBeneath, &attributes, 0U),
          "landlock_rule_refused");
}

void addPortRules(int ruleset, const std::vector<PortRange>& ranges, std::uint64_t right) {
  for (const PortRange& range : ranges) {
    for (std::uint64_t port = range.first; port <= range.last; ++port) {
      const NetworkPort attributes{right, port};
      checked(Step::kLandlock, syscall(calls::kLandlockAddRule, ruleset, kRuleNetworkPort, &attributes, 0U),
              "landlock_rule_refused");
    }
  }
}

}  // namespace

Access rightsOfAbi(int abi) {
  if (abi <= 0) return access::kNone;
  Access rights{(1ULL << 13) - 1};
  if (abi >= 2) rights = rights | access::kRefer;
  if (abi >= 3) rights = rights | access::kTruncate;
  if (abi >= 5) rights = rights | access::kIoctlDev;
  return rights;
}

FileRule allowPath(std::string path, Access access, std::string_view reason) {
  return {std::move(path), -1, access, reason, Need::kRequired};
}

FileRule allowPathIfPresent(std::string path, Access access, std::string_view reason) {
  return {std::move(path), -1, access, reason, Need::kIfAvailable};
}

FileRule allowDescriptor(int descriptor, Access access, std::string_view reason) {
  return {{}, descriptor, access, reason, Need::kRequired};
}

std::vector<PortRange> everyPortBut(std::uint16_t port) {
  std::vector<PortRange> ranges;
  if (port > 0) ranges.push_back({0, static_cast<std::uint16_t>(port - 1)});
  if (port < 65535) ranges.push_back({static_cast<std::uint16_t>(port + 1), 65535});
  return ranges;
}

int landlockAbi() {
  const long abi = syscall(calls::kLandlockCreateRuleset, nullptr, 0UL, kVersionFlag);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

std::vector<std::string_view> missingAt(int abi, const LandlockPolicy& policy) {
  LandlockPosture posture;
  posture.abi = abi;
  decide(policy, posture);
  return posture.missing;
}

LandlockPosture restrictByLandlock(const LandlockPolicy& policy) {
  LandlockPosture posture;
  posture.abi = landlockAbi();
  if (posture.abi == 0 && restrictsAnything(policy)) {
    throw SetupError(Step::kLandlock, ENOSYS, "landlock_missing");
  }
  const RulesetAttributes attributes = decide(policy, posture);
  if (attributes.handledFiles == 0 && attributes.handledNetwork == 0 && attributes.scoped == 0)
    return posture;

  const Fd ruleset(static_cast<int>(
      checked(Step::kLandlock, syscall(calls::kLandlockCreateRuleset, &attributes, sizeof attributes, 0U),
              "landlock_ruleset_refused")));
  if (policy.files.scope == FileScope::kListedOnly) {
    for (const FileRule& rule : policy.files.rules) addFileRule(ruleset.get(), rule, posture.filesEnforced);
  } else if (attributes.handledFiles != 0) {
    addFileRule(ruleset.get(), allowPath("/", access::kRefer, "as without this layer"), access::kRefer);
  }
  const auto handles = [&attributes](std::uint64_t right) {
    return (attributes.handledNetwork & right) != 0;
  };
  if (handles(kBindTcp)) addPortRules(ruleset.get(), policy.tcp.bind, kBindTcp);
  if (handles(kConnectTcp)) addPortRules(ruleset.get(), policy.tcp.connect, kConnectTcp);
  checked(Step::kLandlock,
          syscall(calls::kLandlockRestrictSelf, ruleset.get(), flagsOf(policy.log, posture.abi)),
          "landlock_refused");
  posture.active = true;
  return posture;
}

}  // namespace factionos::sandbox
