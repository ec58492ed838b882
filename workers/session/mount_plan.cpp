#include "workers/session/mount_plan.h"

#include <algorithm>
#include <array>
#include <climits>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "workers/session/command_policy.h"
#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

using sandbox::MountStep;
using sandbox::Need;
using sandbox::Writable;
namespace mounts = sandbox::mounts;

constexpr std::uint64_t kRootBytes = std::uint64_t{4} << 20;  // directories and links only

enum class Kind { kAbsent, kDirectory, kLink, kOther };

Kind kindOf(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return Kind::kAbsent;
  if (S_ISDIR(status.st_mode)) return Kind::kDirectory;
  return S_ISLNK(status.st_mode) ? Kind::kLink : Kind::kOther;
}

std::string linkText(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = readlink(path.c_str(), text.data(), text.size());
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// A link stays a link (/bin -> usr/bin), so that a program's real path is the same inside and outside.
void addSystem(std::vector<MountStep>& plan, std::string_view path, std::string_view reason) {
  const std::string name(path);
  switch (kindOf(name)) {
    case Kind::kAbsent:
      return;
    case Kind::kLink:
      plan.push_back(mounts::symlink(linkText(name), name));
      return;
    case Kind::kDirectory:
    case Kind::kOther:
      plan.push_back(mounts::system(name, reason));
  }
}

void addDevices(std::vector<MountStep>& plan, const CommandScope& scope) {
  for (const SystemFile& device : devices()) {
    const std::string path(device.path);
    if (kindOf(path) != Kind::kAbsent) plan.push_back(mounts::device(path, device.reason));
  }
  plan.push_back(
      mounts::device(scope.terminal, "its own terminal: ttyname() finds it, and no other is there"));
  plan.push_back(mounts::symlink("/proc/self/fd", "/dev/fd"));
  plan.push_back(mounts::symlink("/proc/self/fd/0", "/dev/stdin"));
  plan.push_back(mounts::symlink("/proc/self/fd/1", "/dev/stdout"));
  plan.push_back(mounts::symlink("/proc/self/fd/2", "/dev/stderr"));
}

// Memory of a tmpfs counts against the tree's, which the keeper watches; half of it is the most that one may
// take.
void addTemporary(std::vector<MountStep>& plan, const CommandScope& scope) {
  const std::uint64_t size = std::max<std::uint64_t>(scope.limits.memoryBytes / 2, std::uint64_t{16} << 20);
  plan.push_back(mounts::tmpfs(scope.temporary, size, 01777, "private, gone with the session"));
  plan.push_back(mounts::directory(scope.home, 0700));
  plan.push_back(mounts::tmpfs("/dev/shm", size, 01777, "semaphores and shared memory"));
  plan.push_back(mounts::directory("/var"));
  // A mount and no link: a workspace may lie below it.
  plan.push_back(mounts::tmpfs("/var/tmp", size, 01777, "private, gone with the session"));
  plan.push_back(mounts::directory("/run"));
}

// The machine's own below, for where a container's kernel refuses a new one or there is no pid namespace.
void addProc(std::vector<MountStep>& plan, const sandbox::NamespacePosture& namespaces) {
  plan.push_back(mounts::system("/proc", "of the machine, read-only"));
  if (namespaces.pid) plan.push_back(mounts::proc(Need::kIfAvailable, "its own processes"));
}

std::string_view reasonOf(const ProtectedPath& path) {
  const auto names = protectedNames();
  const auto known = std::ranges::find(names, path.path, &ProtectedName::path);
  if (known != names.end()) return known->reason;
  return path.guard == Guard::kReadOnly ? "git reads its settings, or executes what lies here"
                                        : "on the way to what is protected";
}

void addWorkspace(std::vector<MountStep>& plan, const CommandScope& scope) {
  plan.push_back(
      mounts::bind(scope.workspace, scope.workspace, Writable::kYes, "the workspace, at its real path"));
  for (const ProtectedPath& path : scope.protectedPaths) {
    const std::string full = scope.workspace + "/" + path.path;
    const Writable writable = path.guard == Guard::kMountPoint ? Writable::kYes : Writable::kNo;
    plan.push_back(mounts::bind(full, full, writable, reasonOf(path)));
  }
}

// Programs over data: a directory that both lists name holds programs.
void addProfilePaths(std::vector<MountStep>& plan, const CommandScope& scope) {
  for (const std::string& path : scope.readPaths) {
    if (kindOf(path) == Kind::kAbsent) continue;
    MountStep data = mounts::bind(path, path, Writable::kNo, "data that the profile lists");
    data.executable = sandbox::Executable::kNo;
    plan.push_back(std::move(data));
  }
  for (const std::string& path : scope.programPaths) {
    if (kindOf(path) != Kind::kAbsent)
      plan.push_back(mounts::bind(path, path, Writable::kNo, "programs that the profile lists"));
  }
}

}  // namespace

std::vector<MountStep> mountPlan(const CommandScope& scope, const sandbox::NamespacePosture& namespaces) {
  std::vector<MountStep> plan;
  plan.push_back(mounts::newRoot(kRootBytes));
  for (const SystemDirectory& directory : systemDirectories())
    addSystem(plan, directory.path, directory.reason);
  for (const SystemFile& tree : systemFacts()) addSystem(plan, tree.path, tree.reason);
  addDevices(plan, scope);
  addProc(plan, namespaces);
  addTemporary(plan, scope);
  addProfilePaths(plan, scope);
  addWorkspace(plan, scope);
  if (scope.network == Network::kFull) {
    for (const SystemFile& file : nameResolution()) addSystem(plan, file.path, file.reason);
  }
  plan.push_back(mounts::pivotRoot());
  return plan;
}

}  // namespace factionos::session
