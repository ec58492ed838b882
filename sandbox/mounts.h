// A mount plan as a value: what the file system of a sandbox looks like.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "sandbox/need.h"

namespace factionos::sandbox {

enum class Writable : std::uint8_t { kNo, kYes };
enum class Recursive : std::uint8_t {
  kNo,
  kYes
};  // with the mounts below it; read-only then holds for them too
enum class Executable : std::uint8_t { kNo, kYes };
enum class Symlinks : std::uint8_t {
  kRefuse,  // a symlink anywhere in source or target is an error: for trees that others write
  kFollow,  // for system paths in the source
};

// One step. Steps run in their order. Before newRoot, targets lie in the present root; after it, targets lie
// in the new root and sources still in the old one, until pivotRoot makes the new root the only one.
struct MountStep {
  enum class Kind : std::uint8_t {
    kNewRoot,    // an empty tmpfs as the root to be
    kDirectory,  // mkdir, with parents; an existing directory is kept
    kFile,       // an empty file to bind over, with parents
    kSymlink,    // `source` is the text of the link
    kBind,
    kDevice,  // bind of one device node, writable, devices allowed
    kTmpfs,
    kProc,  // of the pid namespace that the caller is in
    kPivotRoot,
  };
  Kind kind = Kind::kDirectory;
  std::string source = {};
  int sourceDescriptor = -1;  // O_PATH, used instead of `source` if not -1; borrowed
  std::string target = {};    // absolute
  Writable writable = Writable::kNo;
  Recursive recursive = Recursive::kYes;
  Executable executable = Executable::kYes;
  Symlinks symlinks = Symlinks::kRefuse;
  std::uint64_t sizeBytes = 0;  // of a tmpfs; must not be 0 there
  mode_t mode = 0755;
  Need need = Need::kRequired;  // kIfAvailable: with kProc only, which a container's kernel may refuse
  std::string_view reason = {};
};

namespace mounts {
MountStep newRoot(std::uint64_t sizeBytes);
MountStep directory(std::string target, mode_t mode = 0755);
MountStep file(std::string target);
MountStep symlink(std::string text, std::string target);
// Targets of what follows are made in a new root, and must be there in the present one.
// A system path, read and execute, with what is mounted below; symlinks in the source are followed.
MountStep system(std::string path, std::string_view reason);
MountStep bind(std::string source, std::string target, Writable writable, std::string_view reason);
MountStep bindDescriptor(int source, std::string target, Writable writable, std::string_view reason);
MountStep device(std::string path, std::string_view reason);
MountStep tmpfs(std::string target, std::uint64_t sizeBytes, mode_t mode, std::string_view reason);
MountStep proc(Need need, std::string_view reason);
MountStep pivotRoot();
}  // namespace mounts

// Needs the mount namespace and the capabilities that enterNamespaces() gave. Everything mounted is nosuid,
// and nodev but for kDevice. Throws SetupError at Step::kMounts. On success the working directory is "/" if
// the root was changed. Gives the labels of what was skipped ("proc_mount_refused").
std::vector<std::string_view> applyMounts(std::span<const MountStep> steps);

}  // namespace factionos::sandbox
