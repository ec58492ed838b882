#include "workers/session/caller.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

namespace factionos::session {
namespace {

constexpr std::int64_t kBelieved = 200'000'000;  // ns
constexpr std::int64_t kSettling = 10'000'000;

std::string ofThread(pid_t thread, std::string_view rest) {
  return "/proc/" + std::to_string(thread) + std::string(rest);
}

// What follows `name` in a file of /proc/THREAD, to its next NUL; null if it is not there.
class ThreadFile {
 public:
  ThreadFile(pid_t thread, std::string_view name) {
    const sandbox::Fd file(::open(ofThread(thread, name).c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t size = file ? read(file.get(), text_.data(), text_.size() - 1) : -1;
    size_ = size > 0 ? static_cast<std::size_t>(size) : 0;
  }
  [[nodiscard]] const char* after(std::string_view name) const {
    const std::size_t at = std::string_view(text_.data(), size_).find(name);
    return at == std::string_view::npos ? nullptr : text_.data() + at + name.size();
  }

 private:
  std::array<char, 2048> text_{};
  std::size_t size_ = 0;
};

// The number after `name` in /proc/THREAD/status, or -1.
long statusNumber(pid_t thread, std::string_view name, int base) {
  const ThreadFile status(thread, "/status");
  const char* const number = status.after(name);
  return number == nullptr ? -1 : std::strtol(number, nullptr, base);
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

int Caller::address(unsigned argument, unsigned size, SocketAddress& address) const {
  address.size = std::min<std::size_t>(static_cast<std::uint32_t>(number(size)), sizeof address.bytes);
  return bytes(argument, std::as_writable_bytes(std::span(&address.bytes, 1)).first(address.size));
}

std::optional<std::string> SocketAddress::path() const {
  const auto* const named = reinterpret_cast<const sockaddr_un*>(&bytes);
  constexpr std::size_t kBegin = offsetof(sockaddr_un, sun_path);
  if (bytes.ss_family != AF_UNIX || size <= kBegin || named->sun_path[0] == 0) return std::nullopt;
  return std::string(named->sun_path, strnlen(named->sun_path, std::min(size, sizeof *named) - kBegin));
}

std::optional<std::uint16_t> SocketAddress::port() const {
  const auto* const four = reinterpret_cast<const sockaddr_in*>(&bytes);
  const auto* const six = reinterpret_cast<const sockaddr_in6*>(&bytes);
  if (bytes.ss_family == AF_INET && size >= sizeof *four) return ntohs(four->sin_port);
  if (bytes.ss_family == AF_INET6 && size > offsetof(sockaddr_in6, sin6_addr)) return ntohs(six->sin6_port);
  return std::nullopt;
}

std::uint64_t Caller::largestFile() const {
  const ThreadFile limits(call_.thread, "/limits");
  const char* const number = limits.after("\nMax file size ");
  char* end = nullptr;
  const std::uint64_t bytes = number == nullptr ? 0 : std::strtoull(number, &end, 10);
  return number == nullptr || end == number ? UINT64_MAX : bytes;  // "unlimited" is no number
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
