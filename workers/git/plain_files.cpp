#include "workers/git/plain_files.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <new>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workers/git/ignore_text.h"
#include "workers/git/refusal.h"

namespace factionos::git {
namespace {

std::atomic<int> living = 0;
std::atomic<bool> metAnother = false;
std::atomic<bool> metHeld = false;
std::atomic<bool> metEndless = false;

// Far above what anybody writes.
constexpr off_t kMostRules = off_t{16} << 20;

int refused(std::atomic<bool>& what, int error) {
  what = true;
  errno = error;
  return -1;
}

bool isIgnoreFile(std::string_view path) {
  return path.ends_with("/.gitignore") || path.ends_with("/info/exclude");
}

// Called by C, which no exception may pass.
bool canBeReadToItsEnd(int file, off_t size) noexcept {
  if (size > kMostRules) return false;
  try {
    std::string text(static_cast<std::size_t>(size), '\0');
    std::size_t filled = 0;
    while (filled < text.size()) {
      const ssize_t got = pread(file, &text[filled], text.size() - filled, static_cast<off_t>(filled));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      filled += static_cast<std::size_t>(got);
    }
    return !hasEndlessRule(std::string_view(text).substr(0, filled));
  } catch (const std::bad_alloc&) {
    return false;
  }
}

int openPlain(const char* path, int flags, mode_t mode) {
  const int file = openat(AT_FDCWD, path, flags | O_NONBLOCK, mode);
  if (file < 0 && errno == ENXIO) return refused(metAnother, ENXIO);
  if (file < 0 && errno == EWOULDBLOCK) return refused(metHeld, EWOULDBLOCK);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0 || S_ISDIR(status.st_mode)) return file;
  const bool plain = S_ISREG(status.st_mode);
  if (plain && (!isIgnoreFile(path) || canBeReadToItsEnd(file, status.st_size))) return file;
  close(file);
  return refused(plain ? metEndless : metAnother, EINVAL);
}

// `rest`: the mode, where the flags say that there is one.
int opened(const char* path, int flags, va_list rest) {
  const bool makes = (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) != 0;
  const mode_t mode = makes ? va_arg(rest, mode_t) : 0;
  const bool asIs = living == 0 || (flags & O_PATH) != 0;
  return asIs ? openat(AT_FDCWD, path, flags, mode) : openPlain(path, flags, mode);
}

}  // namespace

PlainFilesOnly::PlainFilesOnly() {
  metAnother = false;
  metHeld = false;
  metEndless = false;
  ++living;
}

PlainFilesOnly::~PlainFilesOnly() {
  --living;
}

void PlainFilesOnly::mustBeAll() const {
  if (metAnother) throw repositoryRefused("no_plain_file");
  if (metEndless) throw repositoryRefused("endless_ignore_rule");
  if (metHeld) throw Refusal{"locked", "lease"};
}

}  // namespace factionos::git

// By other names than the C library's header has them, which may be a macro or inline. libgit2 is built with
// either width of offsets, and perhaps with checked calls.
using factionos::git::opened;

extern "C" {
[[gnu::visibility("default"), gnu::used]] int factionosOpen(const char* path, int flags, ...) __asm__("open");
[[gnu::visibility("default"), gnu::used]] int factionosOpen64(const char* path, int flags,
                                                              ...) __asm__("open64");
[[gnu::visibility("default"), gnu::used]] int factionosOpen2(const char* path, int flags) __asm__("__open_2");
[[gnu::visibility("default"), gnu::used]] int factionosOpen642(const char* path,
                                                               int flags) __asm__("__open64_2");

int factionosOpen(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int file = opened(path, flags, rest);
  va_end(rest);
  return file;
}

int factionosOpen64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int file = opened(path, flags, rest);
  va_end(rest);
  return file;
}

int factionosOpen2(const char* path, int flags) {
  return factionosOpen(path, flags);
}

int factionosOpen642(const char* path, int flags) {
  return factionosOpen(path, flags);
}
}
