#include "workers/launcher/spawn.h"

#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/environment.h"
#include "workers/common/signals.h"
#include "workers/common/start.h"

namespace factionos::launcher {
namespace {

constexpr int kNotExecuted = 127;
constexpr int kAbove = 64;  // out of the way of the numbers that a worker gets
static_assert(kAbove > worker::kScope + static_cast<int>(kMostScopes));

// dup2 clears close-on-exec, but not where both numbers are the same: every descriptor goes by way of a high
// one.
bool place(int from, int to) {
  return from >= 0 && dup2(from, to) == to;
}
int raise(int descriptor) {
  return descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, kAbove);
}

// Between vfork and exec, in memory that is the launcher's: system calls alone.
[[noreturn]] void become(const WorkerImage& image, char* const* argv, char* const* environment) {
  worker::defaultSignals();
  const int directory = raise(image.directory);
  const int line = raise(image.line);
  const int events = raise(image.events);
  int scopes[kMostScopes];
  for (std::size_t i = 0; i < image.scopes.size(); ++i) scopes[i] = raise(image.scopes[i]);
  bool placed = place(line, worker::kLine) && place(events, worker::kEvents);
  unsigned next = worker::kEvents + 1;
  for (std::size_t i = 0; i < image.scopes.size(); ++i)
    placed = placed && place(scopes[i], static_cast<int>(next++));
  if (placed && syscall(SYS_close_range, next, ~0U, CLOSE_RANGE_CLOEXEC) == 0) {
    syscall(SYS_execveat, directory, image.executable, argv, environment, 0);
  }
  _exit(kNotExecuted);
}

}  // namespace

pid_t spawn(WorkerImage image) {
  if (image.scopes.size() > kMostScopes) throw std::system_error(E2BIG, std::generic_category(), "scopes");
  std::vector<std::string> words = {image.executable};
  words.insert(words.end(), image.arguments.begin(), image.arguments.end());
  const std::vector<char*> argv = sandbox::environmentPointers(words);
  const std::vector<char*> environment = sandbox::environmentPointers(image.environment);
  // A handler of ours must not run in the child, which shares our memory until it executes; it has them off
  // before it takes signals again.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = vfork();
  if (child == 0) become(image, argv.data(), environment.data());
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) throw std::system_error(error, std::generic_category(), "vfork");
  return child;
}

}  // namespace factionos::launcher
