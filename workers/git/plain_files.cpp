#include "workers/git/plain_files.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workers/git/refusal.h"

namespace factionos::git {
namespace {

std::atomic<int> living = 0;
std::atomic<bool> metAnother = false;
std::atomic<bool> metHeld = false;

int refused(std::atomic<bool>& what, int error) {
  what = true;
  errno = error;
  return -1;
}

int openPlain(const char* path, int flags, mode_t mode) {
  const int file = openat(AT_FDCWD, path, flags | O_NONBLOCK, mode);
  if (file < 0 && errno == ENXIO) return refused(metAnother, ENXIO);
  if (file < 0 && errno == EWOULDBLOCK) return refused(metHeld, EWOULDBLOCK);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
    return file;
  close(file);
  return refused(metAnother, EINVAL);
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
  ++living;
}

PlainFilesOnly::~PlainFilesOnly() {
  --living;
}

void PlainFilesOnly::mustBeAll() const {
  if (metAnother) throw repositoryRefused("no_plain_file");
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
