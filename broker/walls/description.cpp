#include "broker/walls/description.h"

#include <algorithm>
#include <array>
#include <set>

#include <sys/resource.h>

#include "sandbox/explain/explain.h"
#include "sandbox/system_paths.h"
#include "workers/common/descriptors.h"
#include "workers/session/protected_paths.h"

namespace factionos::walls {
namespace {

using sandbox::MountStep;
using sandbox::Need;

std::string sizeText(std::uint64_t bytes) {
  constexpr std::array kUnits = {" bytes", " KiB", " MiB", " GiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kUnits.at(unit);
}

std::string pathName(const Scene& scene, const std::string& path) {
  if (path.empty()) return "a descriptor";
  if (path == scene.command.workspace) return "the workspace";
  if (path == scene.command.terminal) return "its terminal";
  if (!scene.namespaces.mount && path == scene.command.temporary) return "$TMPDIR";
  if (!scene.namespaces.mount && path == scene.command.home) return "$HOME";
  return path;
}

DescribedSection files(const sandbox::Policy& policy, const Scene& scene) {
  DescribedSection section{"files", "", {}};
  if (policy.files.scope == sandbox::FileScope::kUnrestricted) {
    section.summary = "not restricted by this profile";
    return section;
  }
  section.summary = policy.files.rules.empty() ? "none can be opened (Landlock)"
                                               : "what is listed, and no other (Landlock)";
  for (const sandbox::FileRule& rule : policy.files.rules) {
    const bool optional = rule.need == Need::kIfAvailable;
    section.rows.push_back({pathName(scene, rule.path),
                            sandbox::explain::rightsText(rule.access) + (optional ? ", where it exists" : ""),
                            std::string(rule.reason),
                            {}});
  }
  return section;
}

// What of them exists, and which are links, is each machine's own: they are one row.
bool isOfTheSystem(const std::string& path) {
  const auto is = [&path](const auto& listed) { return listed.path == path; };
  return std::ranges::any_of(sandbox::systemDirectories(), is) ||
         std::ranges::any_of(sandbox::devices(), is) || std::ranges::any_of(sandbox::systemFacts(), is) ||
         std::ranges::any_of(sandbox::nameResolution(), is);
}

std::string mountText(const MountStep& step) {
  switch (step.kind) {
    case MountStep::Kind::kNewRoot:
      return "a new root, in memory, " + sizeText(step.sizeBytes);
    case MountStep::Kind::kDirectory:
      return "a directory";
    case MountStep::Kind::kFile:
      return "an empty file";
    case MountStep::Kind::kSymlink:
      return "a link to " + step.source;
    case MountStep::Kind::kBind:
      return step.writable == sandbox::Writable::kYes ? "as outside, writable" : "as outside, read-only";
    case MountStep::Kind::kDevice:
      return "the device";
    case MountStep::Kind::kTmpfs:
      return "private, in memory, at most " + sizeText(step.sizeBytes);
    case MountStep::Kind::kProc:
      return "a new one";
    case MountStep::Kind::kPivotRoot:
      break;
  }
  return {};
}

DescribedSection mounts(const sandbox::Policy& policy, const Scene& scene) {
  DescribedSection section{"mounts", "", {}};
  if (policy.mounts.empty()) {
    section.summary = "the machine's own file system";
    return section;
  }
  section.summary =
      "a root of its own that holds what is listed; nothing set-user-id, no device but the listed";
  section.rows.push_back(
      {"system paths of the rules above", "as outside, read-only", "what of them exists", {}});
  for (const MountStep& step : policy.mounts) {
    if (step.kind == MountStep::Kind::kPivotRoot || isOfTheSystem(step.target)) continue;
    const bool root = step.kind == MountStep::Kind::kNewRoot;
    section.rows.push_back(
        {root ? "/" : pathName(scene, step.target), mountText(step), std::string(step.reason), {}});
  }
  return section;
}

DescribedSection protectedPaths(const sandbox::Policy& policy) {
  DescribedSection section{"protected", "nothing", {}};
  if (policy.mounts.empty()) {
    section.summary = "nothing: it needs a mount namespace";
    return section;
  }
  section.summary =
      "in the workspace, what of it exists at the start; and what git's configuration names there";
  for (const session::ProtectedName& name : session::protectedNames()) {
    const bool point = name.guard == session::Guard::kMountPoint;
    section.rows.push_back({std::string(name.path),
                            point ? "can't be renamed or removed" : "read-only",
                            std::string(name.reason),
                            {}});
  }
  return section;
}

std::string portsText(const std::vector<sandbox::PortRange>& ranges) {
  std::string text;
  for (const sandbox::PortRange& range : ranges) {
    text += (text.empty() ? "" : ", ") + std::to_string(range.first);
    if (range.last != range.first) text += "-" + std::to_string(range.last);
  }
  return text.empty() ? "none" : text;
}

DescribedSection reach(const sandbox::Policy& policy, const Scene& scene) {
  DescribedSection section{"reach", "who else can be reached, beside what the calls below say", {}};
  if (policy.tcp.need == Need::kOff) {
    section.rows.push_back({"TCP ports", "not restricted", "", {}});
  } else {
    section.rows.push_back({"TCP ports to connect to", portsText(policy.tcp.connect), "", {}});
    section.rows.push_back({"TCP ports to bind", portsText(policy.tcp.bind), "", {}});
  }
  const auto scoped = [](Need need) { return need == Need::kOff ? "not restricted" : "its own alone"; };
  section.rows.push_back({"abstract sockets", scoped(policy.scopes.abstractSockets), "", {}});
  section.rows.push_back({"processes to signal", scoped(policy.scopes.signals), "", {}});
  const bool loopback = policy.namespaces.loopback == sandbox::Loopback::kUp;
  section.rows.push_back({"network",
                          !scene.namespaces.network ? "the machine's"
                          : loopback                ? "a loopback of its own"
                                                    : "one of its own, without an interface that is up",
                          "",
                          {}});
  return section;
}

DescribedSection namespaces(const Scene& scene) {
  DescribedSection section{"namespaces", "", {}};
  const sandbox::NamespacePosture& has = scene.namespaces;
  for (const auto& [name, given] :
       {std::pair{"user", has.user}, std::pair{"pid", has.pid}, std::pair{"mount", has.mount},
        std::pair{"ipc", has.ipc}, std::pair{"uts", has.uts}, std::pair{"network", has.network}}) {
    if (given) section.summary += (section.summary.empty() ? "" : ", ") + std::string(name);
  }
  if (section.summary.empty()) section.summary = "none of its own";
  return section;
}

std::string limitName(int resource) {
  constexpr std::array kNames = {
      std::pair{RLIMIT_CORE, "RLIMIT_CORE"},      std::pair{RLIMIT_NOFILE, "RLIMIT_NOFILE"},
      std::pair{RLIMIT_FSIZE, "RLIMIT_FSIZE"},    std::pair{RLIMIT_NPROC, "RLIMIT_NPROC"},
      std::pair{RLIMIT_DATA, "RLIMIT_DATA"},      std::pair{RLIMIT_CPU, "RLIMIT_CPU"},
      std::pair{RLIMIT_AS, "RLIMIT_AS"},          std::pair{RLIMIT_STACK, "RLIMIT_STACK"},
      std::pair{RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK"}};
  for (const auto& [number, name] : kNames) {
    if (static_cast<int>(number) == resource) return name;
  }
  return "RLIMIT " + std::to_string(resource);
}

DescribedSection limits(const sandbox::Policy& policy) {
  DescribedSection section{"limits", "of each process", {}};
  section.rows.push_back({"RLIMIT_CORE", "1", "no core dump, also not into a pipe", {}});
  for (const sandbox::Limit& limit : policy.limits)
    section.rows.push_back(
        {limitName(limit.resource), std::to_string(limit.value), std::string(limit.reason), {}});
  return section;
}

std::string descriptorText(int descriptor) {
  switch (descriptor) {
    case worker::kLine:
      return "3: its line";
    case worker::kEvents:
      return "4: events";
    case worker::kScope:
      return "5: the directory that it was started for";
    default:
      return std::to_string(descriptor);
  }
}

DescribedSection descriptors(const sandbox::Policy& policy) {
  DescribedSection section{"descriptors", "", {}};
  for (const int descriptor : std::set<int>(policy.keep.begin(), policy.keep.end())) {
    if (descriptor < 0) continue;
    section.summary += (section.summary.empty() ? "" : ", ") + descriptorText(descriptor);
  }
  if (section.summary.empty()) section.summary = "those that its start lists, one by one";
  section.summary += "; every other is closed";
  return section;
}

DescribedSection memory(const sandbox::Policy& policy) {
  const bool refused = policy.memoryExecution == sandbox::MemoryExecution::kRefuseGain;
  return {"memory", refused ? "no page gains execution after it was writable" : "not restricted", {}};
}

DescribedSection calls(const sandbox::Policy& policy) {
  DescribedSection section{"calls", "", {}};
  section.summary = "not listed: " + verdictText(policy.seccomp.unlisted) +
                    "; by another architecture's entry: " + verdictText(policy.seccomp.foreignEntry);
  for (const sandbox::SeccompRule& rule : policy.seccomp.rules) {
    section.rows.push_back({std::string(rule.family.name), verdictText(rule.verdict),
                            std::string(rule.reason), callTexts(rule.family)});
  }
  return section;
}

}  // namespace

Description describe(const Profile& profile, const Scene& scene) {
  const sandbox::Policy policy = profile.policy(scene);
  Description description{profile.name, profile.purpose, profile.within, {}};
  auto& sections = description.sections;
  sections.push_back(files(policy, scene));
  sections.push_back(mounts(policy, scene));
  if (profile.role == "command") sections.push_back(protectedPaths(policy));
  sections.push_back(reach(policy, scene));
  sections.push_back(namespaces(scene));
  sections.push_back(limits(policy));
  sections.push_back(descriptors(policy));
  sections.push_back(memory(policy));
  sections.push_back(calls(policy));
  return description;
}

}  // namespace factionos::walls
