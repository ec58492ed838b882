#include "workers/git/files.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sandbox/entries.h"
#include "workers/git/refusal.h"

namespace factionos::git {
namespace {

enum class Reach { kBeneath, kAnywhere };

bool isLink(int directory, const std::string& name) {
  struct stat status {};
  return fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

// One component after the other, each opened in the directory before it and never through a link. openat2
// would walk as safely in one call; but its mode lies behind a pointer that no filter reads, and a worker
// that turned bad could make set-user-id files with it.
sandbox::Fd walk(int directory, std::string_view path, int flags, mode_t mode, Reach reach) {
  const std::uint64_t mount = reach == Reach::kBeneath ? sandbox::mountOf(directory) : 0;
  sandbox::Fd at;
  do {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string name(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
    if (name.empty() || (reach == Reach::kBeneath && name == "..")) {
      errno = name.empty() ? ENOENT : EXDEV;
      return {};
    }
    const int how = path.empty() ? flags : O_PATH | O_DIRECTORY;
    const int from = at ? at.get() : directory;
    sandbox::Fd next(openat(from, name.c_str(), how | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!next && errno == ENOTDIR) errno = isLink(from, name) ? ELOOP : ENOTDIR;
    at = std::move(next);
    if (at && reach == Reach::kBeneath && sandbox::mountOf(at.get()) != mount) {
      at.reset();
      errno = EXDEV;
    }
  } while (at && !path.empty());
  return at;
}

}  // namespace

sandbox::Fd openBeneath(int directory, const std::string& path, int flags, mode_t mode) {
  return walk(directory, path, flags, mode, Reach::kBeneath);
}

void mustWrite(bool fact, std::string_view what) {
  if (fact) return;
  if (errno == ENOSPC || errno == EDQUOT) throw Refusal{"no_space", "file_system"};
  if (errno == EIO || errno == EFBIG) throw Refusal{"io_failed", "file_system"};
  throw Refusal{"not_writable", what};
}

bool writeAll(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t wrote = write(file, content.data(), content.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool makeDirectory(int parent, const std::string& name) {
  if (mkdirat(parent, name.c_str(), 0777) == 0) return true;
  mustWrite(errno == EEXIST, "directory");
  return false;
}

void makeFilesAsIn(int directory) {
  struct stat status {};
  mustWrite(fstat(directory, &status) == 0, "directory");
  mode_t rights = status.st_mode;
  const sandbox::Fd open = openBeneath(directory, ".", O_RDONLY | O_DIRECTORY);  // the other may be O_PATH
  // With an access control list these bits are its mask, and no right of the group's.
  if (open && fgetxattr(open.get(), "system.posix_acl_access", nullptr, 0) > 0)
    rights &= ~static_cast<mode_t>(S_IRWXG);
  umask((~rights & (S_IRWXG | S_IRWXO)) | S_IWOTH);
}

int renameToFree(int parent, const std::string& from, const std::string& to) {
  if (renameat2(parent, from.c_str(), parent, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL) return errno;
  struct stat status {};
  if (fstatat(parent, to.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return renameat(parent, from.c_str(), parent, to.c_str()) == 0 ? 0 : errno;
}

Split splitOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return {slash == std::string::npos ? "." : path.substr(0, slash), path.substr(slash + 1)};
}

sandbox::Fd openDirectory(const std::string& path) {
  sandbox::Fd root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (path == "/" || !root) return root;
  if (!path.starts_with('/')) {
    errno = EINVAL;
    return {};
  }
  return walk(root.get(), std::string_view(path).substr(1), O_PATH | O_DIRECTORY, 0, Reach::kAnywhere);
}

std::optional<std::string> readSmall(int directory, const std::string& path, std::size_t most) {
  const sandbox::Fd file = walk(directory, path, O_RDONLY, 0, Reach::kAnywhere);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return std::nullopt;
  }
  // What it holds and one byte more, by which is seen that it has grown.
  std::string text(std::min(most, static_cast<std::size_t>(status.st_size)) + 1, '\0');
  std::size_t have = 0;
  while (have <= most) {
    if (have == text.size()) text.resize(std::min(most, 2 * have) + 1);
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

Identity identityOf(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

std::optional<Identity> identityOf(int descriptor) {
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) return std::nullopt;
  return identityOf(status);
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
