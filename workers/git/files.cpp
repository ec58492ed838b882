#include "workers/git/files.h"

#include <algorithm>
#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace factionos::git {
namespace {

sandbox::Fd open2(int directory, const std::string& path, int flags, mode_t mode, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = resolve;
  return sandbox::Fd(static_cast<int>(syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
}

}  // namespace

sandbox::Fd openBeneath(int directory, const std::string& path, int flags, mode_t mode) {
  return open2(directory, path, flags, mode,
               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
}

sandbox::Fd openDirectory(const std::string& path) {
  return open2(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

std::optional<std::string> readSmall(int directory, const std::string& path, std::size_t most) {
  const sandbox::Fd file =
      open2(directory, path, O_RDONLY | O_NONBLOCK, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return std::nullopt;
  }
  std::string text(most + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = read(file.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  if (have > most) {
    errno = EFBIG;
    return std::nullopt;
  }
  text.resize(have);
  return text;
}

std::optional<Identity> identityOf(int descriptor) {
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) return std::nullopt;
  return Identity{status.st_dev, status.st_ino};
}

bool liesWithin(int directory, const std::vector<int>& roots) {
  std::vector<std::optional<Identity>> wanted;
  for (const int root : roots) wanted.push_back(identityOf(root));
  sandbox::Fd parent;
  std::optional<Identity> below;
  for (int depth = 0; depth < PATH_MAX / 2; ++depth) {
    const int at = parent ? parent.get() : directory;
    const std::optional<Identity> identity = identityOf(at);
    if (!identity || identity == below) return false;  // only the root is its own parent
    if (std::ranges::find(wanted, identity) != wanted.end()) return true;
    below = identity;
    parent = sandbox::Fd(openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return false;
}

}  // namespace factionos::git
