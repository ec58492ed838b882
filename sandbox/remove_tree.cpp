#include "sandbox/remove_tree.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/entries.h"

namespace factionos::sandbox {
namespace {

constexpr int kNames = 1000;  // tried before an entry is given up

// Where a directory lies: of two mounts of one file system the device is the same.
struct Where {
  dev_t device = 0;
  std::uint64_t mount = 0;
  friend bool operator==(const Where&, const Where&) = default;
};

std::optional<Where> whereIs(int directory) noexcept {
  struct stat status {};
  if (fstat(directory, &status) != 0) return std::nullopt;
  return Where{status.st_dev, mountOf(directory)};
}

// A directory itself, not what a link leads to, on no other mount, with all rights for its owner.
Fd openDirectory(int parent, const char* name, const Where& where) noexcept {
  const Fd handle(openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!handle || whereIs(handle.get()) != where) return {};
  // A handle takes no fchmod before Linux 6.6; its link in /proc leads to what it holds and nowhere else.
  char link[32];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", handle.get());
  const int widened = fchmodat(AT_FDCWD, link, S_IRWXU, 0);
  static_cast<void>(widened);  // where it is refused, what follows is refused for the same reason
  return Fd(openat(handle.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Calls `each` with the name of every entry, over and over as long as that removes something: what is moved
// while a directory is read may or may not be seen.
template <typename Each>
void drain(int directory, Each each) noexcept {
  const DirectoryStream stream = streamOf(Fd(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!stream) return;
  bool progress = true;
  while (progress) {
    progress = false;
    rewinddir(stream.get());
    while (const dirent* entry = nextEntry(stream.get()))
      progress = each(static_cast<const char*>(entry->d_name)) || progress;
  }
}

class Remover {
 public:
  Remover(int top, const Where& where) noexcept : top_(top), where_(where) {}

  void run() noexcept {
    drain(top_, [this](const char* name) { return removeEntry(name); });
  }

 private:
  // An entry of the top directory: its files go, its directories come up here.
  bool removeEntry(const char* name) noexcept {
    if (unlinkat(top_, name, 0) == 0 || unlinkat(top_, name, AT_REMOVEDIR) == 0) return true;
    const Fd child = openDirectory(top_, name, where_);
    if (!child) return false;
    drain(child.get(), [this, &child](const char* inner) {
      return unlinkat(child.get(), inner, 0) == 0 || unlinkat(child.get(), inner, AT_REMOVEDIR) == 0 ||
             moveUp(child.get(), inner);
    });
    return unlinkat(top_, name, AT_REMOVEDIR) == 0;
  }

  // A directory that changes its parent must be writable itself.
  bool moveUp(int from, const char* name) noexcept {
    if (!openDirectory(from, name, where_)) return false;
    for (int i = 0; i < kNames; ++i) {
      char fresh[32];
      std::snprintf(fresh, sizeof fresh, ".up-%llu", static_cast<unsigned long long>(next_++));
      if (renameat(from, name, top_, fresh) == 0) return true;
      if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return false;
    }
    return false;
  }

  int top_;
  Where where_;
  std::uint64_t next_ = 0;
};

}  // namespace

void emptyTree(int directory) noexcept {
  if (const auto where = whereIs(directory)) Remover(directory, *where).run();
}

Removal removeTree(int parent, const char* name) noexcept {
  const auto isGone = [parent, name] {
    struct stat status {};
    return fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
  };
  if (unlinkat(parent, name, 0) == 0 || isGone()) return Removal::kGone;
  const auto where = whereIs(parent);
  if (!where) return Removal::kLeft;
  const Fd top = openDirectory(parent, name, *where);
  if (top) Remover(top.get(), *where).run();
  unlinkat(parent, name, AT_REMOVEDIR);
  return isGone() ? Removal::kGone : Removal::kLeft;
}

}  // namespace factionos::sandbox
