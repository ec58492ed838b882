#include "sandbox/mounts.h"

#include <cerrno>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/setup_error.h"

namespace factionos::sandbox {
namespace {

Fd owned(long descriptor, const char* reason) {
  return Fd(static_cast<int>(checked(Step::kMounts, descriptor, reason)));
}

// Resolves below `base`, which stands for "/": no way out, and no symlink that somebody else may have put
// there.
long openBelow(int base, const std::string& path, std::uint64_t flags, mode_t mode = 0) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return syscall(SYS_openat2, base, path.c_str(), &how, sizeof how);
}

class Builder {
 public:
  Builder() : base_(owned(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "mount_root_unusable")) {}

  void take(const MountStep& step) {
    if (step.kind != MountStep::Kind::kNewRoot && step.kind != MountStep::Kind::kPivotRoot &&
        (step.target.empty() || step.target.front() != '/')) {
      throw SetupError(Step::kMounts, EINVAL, "mount_target_invalid");
    }
    switch (step.kind) {
      case MountStep::Kind::kNewRoot:
        return newRoot(step);
      case MountStep::Kind::kDirectory:
        return makeDirectories(step.target, step.mode);
      case MountStep::Kind::kFile:
        return makeFile(step.target);
      case MountStep::Kind::kSymlink:
        return makeSymlink(step);
      case MountStep::Kind::kBind:
      case MountStep::Kind::kDevice:
        return bind(step);
      case MountStep::Kind::kTmpfs:
        return tmpfs(step);
      case MountStep::Kind::kProc:
        return proc(step);
      case MountStep::Kind::kPivotRoot:
        return pivotRoot();
    }
  }

  // After newRoot without pivotRoot the plan would leave the old root in reach.
  void finish() const {
    if (building_) throw SetupError(Step::kMounts, EINVAL, "mount_plan_without_pivot");
  }

  [[nodiscard]] std::vector<std::string_view> missing() { return std::move(missing_); }

 private:
  Fd newTmpfs(std::uint64_t sizeBytes, mode_t mode, std::uint64_t attributes) {
    if (sizeBytes == 0) throw SetupError(Step::kMounts, EINVAL, "mount_size_missing");
    const Fd context = owned(fsopen("tmpfs", FSOPEN_CLOEXEC), "tmpfs_refused");
    set(context, "size", std::to_string(sizeBytes));
    char octal[8];
    snprintf(octal, sizeof octal, "%04o", mode & 07777U);
    set(context, "mode", octal);
    return mounted(context, attributes, "tmpfs_refused");
  }

  static void set(const Fd& context, const char* key, const std::string& value) {
    checked(Step::kMounts, fsconfig(context.get(), FSCONFIG_SET_STRING, key, value.c_str(), 0),
            "mount_option_refused");
  }

  static Fd mounted(const Fd& context, std::uint64_t attributes, const char* reason) {
    checked(Step::kMounts, fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0), reason);
    return owned(fsmount(context.get(), FSMOUNT_CLOEXEC,
                         static_cast<unsigned>(attributes | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)),
                 reason);
  }

  void newRoot(const MountStep& step) {
    if (building_) throw SetupError(Step::kMounts, EINVAL, "mount_plan_two_roots");
    Fd root = newTmpfs(step.sizeBytes, step.mode, 0);
    // On top of "/": the process goes on seeing what lies below, and pivot_root needs no directory of the
    // host.
    checked(Step::kMounts, move_mount(root.get(), "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH),
            "mount_root_refused");
    base_ = std::move(root);
    building_ = true;
  }

  void pivotRoot() {
    if (!building_) throw SetupError(Step::kMounts, EINVAL, "mount_plan_without_root");
    checked(Step::kMounts, fchdir(base_.get()), "pivot_refused");
    // Old and new root on one another, then the old one, which is on top, is taken off.
    checked(Step::kMounts, syscall(SYS_pivot_root, ".", "."), "pivot_refused");
    checked(Step::kMounts, umount2(".", MNT_DETACH), "pivot_refused");
    checked(Step::kMounts, chdir("/"), "pivot_refused");
    building_ = false;
  }

  void makeDirectories(const std::string& path, mode_t mode) {
    Fd at = owned(openBelow(base_.get(), "/", O_PATH | O_DIRECTORY), "mount_target_unusable");
    std::size_t start = 0;
    while (start < path.size()) {
      const std::size_t end = std::min(path.find('/', start), path.size());
      const std::string part = path.substr(start, end - start);
      start = end + 1;
      if (part.empty()) continue;
      if (part == "." || part == "..") throw SetupError(Step::kMounts, EINVAL, "mount_target_invalid");
      if (mkdirat(at.get(), part.c_str(), mode) != 0 && errno != EEXIST) {
        failWithErrno(Step::kMounts, "mount_target_refused");
      }
      at = owned(openBelow(at.get(), part, O_PATH | O_DIRECTORY), "mount_target_unusable");
    }
  }

  // The parent of `path`, made if we are in the new root; `name` becomes the last part.
  Fd parentOf(const std::string& path, std::string& name) {
    const std::size_t slash = path.rfind('/');
    const std::string parent = slash == 0 ? "/" : path.substr(0, slash);
    name = path.substr(slash + 1);
    if (name.empty() || name == "." || name == "..")
      throw SetupError(Step::kMounts, EINVAL, "mount_target_invalid");
    makeDirectories(parent, 0755);
    return owned(openBelow(base_.get(), parent, O_PATH | O_DIRECTORY), "mount_target_unusable");
  }

  void makeFile(const std::string& path) {
    std::string name;
    const Fd parent = parentOf(path, name);
    // Never opens one that is there: it may be read-only, or under somebody's lease.
    const Fd made(static_cast<int>(openBelow(parent.get(), name, O_CREAT | O_EXCL | O_WRONLY, 0444)));
    if (!made && errno != EEXIST) failWithErrno(Step::kMounts, "mount_target_refused");
  }

  void makeSymlink(const MountStep& step) {
    std::string name;
    const Fd parent = parentOf(step.target, name);
    checked(Step::kMounts, symlinkat(step.source.c_str(), parent.get(), name.c_str()),
            "mount_target_refused");
  }

  // In the new root, which is ours alone, targets are made; in the present one they must be there.
  Fd target(const MountStep& step, mode_t kind) {
    if (building_) {
      if (S_ISDIR(kind)) {
        makeDirectories(step.target, step.mode);
      } else {
        makeFile(step.target);
      }
    }
    return owned(openBelow(base_.get(), step.target, O_PATH), "mount_target_unusable");
  }

  static void attach(const Fd& mount, const Fd& target, const char* reason) {
    checked(Step::kMounts,
            move_mount(mount.get(), "", target.get(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH),
            reason);
  }

  static Fd source(const MountStep& step) {
    if (step.sourceDescriptor >= 0) {
      return owned(fcntl(step.sourceDescriptor, F_DUPFD_CLOEXEC, 3), "mount_source_unusable");
    }
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_NO_MAGICLINKS;
    if (step.symlinks == Symlinks::kRefuse) how.resolve |= RESOLVE_NO_SYMLINKS;
    return owned(syscall(SYS_openat2, AT_FDCWD, step.source.c_str(), &how, sizeof how),
                 "mount_source_unusable");
  }

  void bind(const MountStep& step) {
    const Fd from = source(step);
    struct stat status {};
    checked(Step::kMounts, fstat(from.get(), &status), "mount_source_unusable");
    const bool device = step.kind == MountStep::Kind::kDevice;
    if (device && !S_ISCHR(status.st_mode)) throw SetupError(Step::kMounts, ENODEV, "mount_source_no_device");

    const unsigned recursive = step.recursive == Recursive::kYes ? AT_RECURSIVE : 0U;
    const Fd tree =
        owned(open_tree(from.get(), "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | recursive),
              "bind_refused");
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_NOSUID;
    attributes.propagation = MS_PRIVATE;
    if (!device) attributes.attr_set |= MOUNT_ATTR_NODEV;
    if (step.writable == Writable::kNo) attributes.attr_set |= MOUNT_ATTR_RDONLY;
    if (step.executable == Executable::kNo) attributes.attr_set |= MOUNT_ATTR_NOEXEC;
    checked(Step::kMounts,
            mount_setattr(tree.get(), "", AT_EMPTY_PATH | recursive, &attributes, sizeof attributes),
            "bind_refused");
    attach(tree, target(step, status.st_mode), "bind_refused");
  }

  void tmpfs(const MountStep& step) {
    const std::uint64_t noExecution = step.executable == Executable::kNo ? MOUNT_ATTR_NOEXEC : 0;
    const Fd mount = newTmpfs(step.sizeBytes, step.mode, noExecution);
    attach(mount, target(step, S_IFDIR), "tmpfs_refused");
  }

  void proc(const MountStep& step) {
    const Fd context = owned(fsopen("proc", FSOPEN_CLOEXEC), "proc_mount_refused");
    try {
      const Fd mount = mounted(context, MOUNT_ATTR_NOEXEC, "proc_mount_refused");
      attach(mount, target(step, S_IFDIR), "proc_mount_refused");
    } catch (const SetupError&) {
      // A container's kernel refuses a proc that would show more than the one that is there.
      if (step.need == Need::kRequired) throw;
      missing_.push_back("proc_mount_refused");
    }
  }

  Fd base_;  // what "/" means for targets
  bool building_ = false;
  std::vector<std::string_view> missing_;
};

}  // namespace

namespace mounts {

using Kind = MountStep::Kind;

MountStep newRoot(std::uint64_t sizeBytes) {
  return {.kind = Kind::kNewRoot, .sizeBytes = sizeBytes};
}

MountStep directory(std::string target, mode_t mode) {
  return {.kind = Kind::kDirectory, .target = std::move(target), .mode = mode};
}

MountStep file(std::string target) {
  return {.kind = Kind::kFile, .target = std::move(target)};
}

MountStep symlink(std::string text, std::string target) {
  return {.kind = Kind::kSymlink, .source = std::move(text), .target = std::move(target)};
}

MountStep system(std::string path, std::string_view reason) {
  return {
      .kind = Kind::kBind, .source = path, .target = path, .symlinks = Symlinks::kFollow, .reason = reason};
}

MountStep bind(std::string source, std::string target, Writable writable, std::string_view reason) {
  return {.kind = Kind::kBind,
          .source = std::move(source),
          .target = std::move(target),
          .writable = writable,
          .reason = reason};
}

MountStep bindDescriptor(int source, std::string target, Writable writable, std::string_view reason) {
  return {.kind = Kind::kBind,
          .sourceDescriptor = source,
          .target = std::move(target),
          .writable = writable,
          .reason = reason};
}

MountStep device(std::string path, std::string_view reason) {
  return {.kind = Kind::kDevice,
          .source = path,
          .target = path,
          .writable = Writable::kYes,
          .executable = Executable::kNo,
          .reason = reason};
}

MountStep tmpfs(std::string target, std::uint64_t sizeBytes, mode_t mode, std::string_view reason) {
  return {.kind = Kind::kTmpfs,
          .target = std::move(target),
          .writable = Writable::kYes,
          .sizeBytes = sizeBytes,
          .mode = mode,
          .reason = reason};
}

MountStep proc(Need need, std::string_view reason) {
  return {.kind = Kind::kProc, .target = "/proc", .need = need, .reason = reason};
}

MountStep pivotRoot() {
  return {.kind = Kind::kPivotRoot};
}

}  // namespace mounts

std::vector<std::string_view> applyMounts(std::span<const MountStep> steps) {
  Builder builder;
  for (const MountStep& step : steps) builder.take(step);
  builder.finish();
  return builder.missing();
}

}  // namespace factionos::sandbox
