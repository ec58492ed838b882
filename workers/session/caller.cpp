#include "workers/session/caller.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace factionos::session {
namespace {

constexpr std::int64_t kBelieved = 200'000'000;  // ns
constexpr std::int64_t kSettling = 10'000'000;

std::string ofThread(pid_t thread, std::string_view rest) {
  return "/proc/" + std::to_string(thread) + std::string(rest);
}

// The number after `name` in /proc/THREAD/status, or -1.
long statusNumber(pid_t thread, std::string_view name, int base) {
  const sandbox::Fd file(::open(ofThread(thread, "/status").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t size = file ? read(file.get(), text.data(), text.size() - 1) : -1;
  if (size <= 0) return -1;
  const std::string_view status(text.data(), static_cast<std::size_t>(size));
  const std::size_t at = status.find(name);
  if (at == std::string_view::npos) return -1;
  return std::strtol(text.data() + at + name.size(), nullptr, base);
}

std::int64_t monotonic() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// A process that made itself undumpable is not looked at; the program hears what a file mode would say.
int asSeen(int error) {
  return error == EPERM ? EACCES : error;
}

}  // namespace

int Caller::path(unsigned argument, std::string& text) const {
  std::array<char, PATH_MAX> space;
  const ssize_t size = sandbox::readText(call_.thread, call_.arguments[argument], space);
  if (size < 0) return asSeen(static_cast<int>(-size));
  text.assign(space.data(), static_cast<std::size_t>(size));
  return 0;
}

int Caller::bytes(unsigned argument, std::span<std::byte> bytes) const {
  return asSeen(sandbox::readMemory(call_.thread, call_.arguments[argument], bytes));
}

int Caller::open(const std::string& path, int flags, sandbox::Fd& file) const {
  file.reset(::open(path.c_str(), flags | O_PATH | O_CLOEXEC));
  const int error = file ? 0 : errno;
  // The number may have been another's by now; then nobody hears the answer either.
  return isValid() ? asSeen(error) : ESRCH;
}

int Caller::start(int directory, sandbox::Fd& start) const {
  if (directory == AT_FDCWD) return open(ofThread(call_.thread, "/cwd"), O_DIRECTORY, start);
  const int error = open(ofThread(call_.thread, "/fd/" + std::to_string(directory)), O_DIRECTORY, start);
  return error == ENOENT ? EBADF : error;
}

int Caller::file(int descriptor, sandbox::Fd& file) const {
  const int error = open(ofThread(call_.thread, "/fd/" + std::to_string(descriptor)), 0, file);
  return error == ENOENT ? EBADF : error;
}

int Caller::socket(int descriptor, sandbox::Fd& socket) const {
  const sandbox::Fd handle(static_cast<int>(syscall(SYS_pidfd_open, process(), 0U)));
  if (!handle) return errno;
  socket.reset(static_cast<int>(syscall(SYS_pidfd_getfd, handle.get(), descriptor, 0U)));
  const int error = socket ? 0 : errno;
  return isValid() ? asSeen(error) : ESRCH;
}

pid_t Caller::process() const {
  const long number = statusNumber(call_.thread, "\nTgid:\t", 10);
  return number > 0 ? static_cast<pid_t>(number) : 0;
}

void Masks::changed() {
  changed_ = true;
  known_ = {};
  settled_ = monotonic() + kSettling;
}

mode_t Masks::of(const Caller& caller) {
  if (!changed_) return first_;
  const std::int64_t now = monotonic();
  Known& known = known_[static_cast<std::size_t>(caller.thread()) % known_.size()];
  if (known.thread == caller.thread() && now < known.until) return known.mask;
  const long mask = statusNumber(caller.thread(), "\nUmask:\t", 8);
  if (mask < 0) return first_;
  if (now >= settled_) known = {caller.thread(), static_cast<mode_t>(mask), now + kBelieved};
  return static_cast<mode_t>(mask);
}

}  // namespace factionos::session
