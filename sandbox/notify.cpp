#include "sandbox/notify.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace factionos::sandbox {
namespace {

// Debian 12's headers end before these (source: the kernel's include/uapi/linux/seccomp.h).
constexpr unsigned long kSetFlags = SECCOMP_IOW(4, std::uint64_t);
constexpr std::uint64_t kSynchronousWake = 1;
constexpr std::uint32_t kGiveAndAnswer = 1U << 1;  // SECCOMP_ADDFD_FLAG_SEND

constexpr std::size_t kPage = 4096;  // no architecture has smaller ones

ssize_t readMemoryFile(pid_t thread, std::uint64_t address, std::span<std::byte> bytes) {
  const Fd memory(::open(("/proc/" + std::to_string(thread) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory) return -1;
  const ssize_t got = pread(memory.get(), bytes.data(), bytes.size(), static_cast<off_t>(address));
  if (got < 0 && errno == EIO) errno = EFAULT;  // nothing is mapped there
  return got;
}

}  // namespace

bool canSupervise() {
  seccomp_notif_sizes sizes{};
  if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0U, &sizes) != 0) return false;
  // A kernel with larger structures writes more than we have room for.
  if (sizes.seccomp_notif > sizeof(seccomp_notif) || sizes.seccomp_notif_resp > sizeof(seccomp_notif_resp))
    return false;
  // A null program: EFAULT says that the flags were understood. Waiting for death alone came after the rest.
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kListenerFlags, nullptr) == -1 && errno == EFAULT;
}

NotifyListener::NotifyListener(Fd listener) : listener_(std::move(listener)) {
  ioctl(listener_.get(), kSetFlags, kSynchronousWake);
}

// While it is set, whoever answers draws the caller to its own processor.
class NotifyListener::Apart {
 public:
  explicit Apart(const NotifyListener& listener) : listener_(listener) { set(0); }
  ~Apart() { set(kSynchronousWake); }
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

 private:
  void set(std::uint64_t flags) const {
    if (listener_.inARow_ < kAlone) ioctl(listener_.get(), kSetFlags, flags);
  }
  const NotifyListener& listener_;
};

std::optional<Notification> NotifyListener::receive() {
  seccomp_notif heard;
  std::memset(&heard, 0, sizeof heard);  // the kernel refuses one that is not all zero, padding included
  if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &heard) != 0) return std::nullopt;
  inARow_ = static_cast<pid_t>(heard.pid) == last_ ? inARow_ + 1 : 0;
  last_ = static_cast<pid_t>(heard.pid);
  Notification notification{heard.id, static_cast<pid_t>(heard.pid), heard.data.nr, {}};
  std::ranges::copy(heard.data.args, notification.arguments.begin());
  return notification;
}

bool NotifyListener::isOver() const {
  pollfd ready{listener_.get(), 0, 0};
  return poll(&ready, 1, 0) == 1 && (ready.revents & POLLHUP) != 0;
}

bool NotifyListener::isValid(std::uint64_t id) const {
  return ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

void NotifyListener::answer(seccomp_notif_resp response) const {
  const Apart apart(*this);
  ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response);
}

void NotifyListener::succeed(std::uint64_t id, std::int64_t value) const {
  answer({.id = id, .val = value, .error = 0, .flags = 0});
}
void NotifyListener::fail(std::uint64_t id, int error) const {
  answer({.id = id, .val = 0, .error = -error, .flags = 0});
}
void NotifyListener::letGoOn(std::uint64_t id) const {
  answer({.id = id, .val = 0, .error = 0, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE});
}

void NotifyListener::give(std::uint64_t id, int file, OnExec onExec) const {
  if (add(id, file, onExec, kGiveAndAnswer) < 0 && errno != ENOENT) fail(id, errno);
}

void NotifyListener::giveAway(std::uint64_t id, Fd file, OnExec onExec) const {
  const int number = add(id, file.get(), onExec, 0);
  const int error = errno;
  file.reset();
  if (number >= 0) return succeed(id, number);
  if (error != ENOENT) fail(id, error);
}

// A signal would have the kernel take the request back, though it counts as answered: the call returns 0, and
// no descriptor comes.
int NotifyListener::add(std::uint64_t id, int file, OnExec onExec, std::uint32_t flags) const {
  seccomp_notif_addfd given{};
  given.id = id;
  given.flags = flags;
  given.srcfd = static_cast<std::uint32_t>(file);
  given.newfd_flags = onExec == OnExec::kClose ? static_cast<std::uint32_t>(O_CLOEXEC) : 0U;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  int number = 0;
  int error = 0;
  {
    const Apart apart(*this);
    number = ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ADDFD, &given);
    error = errno;
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return number;
}

Family listenerCalls() {
#ifdef SYS_poll
  Family family{"listenerCalls", {{SYS_poll, {}}, {SYS_ppoll, {}}}};
#else
  Family family{"listenerCalls", {{SYS_ppoll, {}}}};
#endif
  for (const unsigned long request : {static_cast<unsigned long>(SECCOMP_IOCTL_NOTIF_RECV),
                                      static_cast<unsigned long>(SECCOMP_IOCTL_NOTIF_SEND),
                                      static_cast<unsigned long>(SECCOMP_IOCTL_NOTIF_ID_VALID),
                                      static_cast<unsigned long>(SECCOMP_IOCTL_NOTIF_ADDFD), kSetFlags}) {
    family.calls.push_back({SYS_ioctl, {is32(1, static_cast<std::uint32_t>(request))}});
  }
  return family;
}

Fd receiveListener(int socket) {
  char letter = 0;
  iovec content{&letter, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  ssize_t got = 0;
  while ((got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  const cmsghdr* const header = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return {};
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return Fd(descriptor);
}

int readMemory(pid_t thread, std::uint64_t address, std::span<std::byte> bytes) {
  const iovec own{bytes.data(), bytes.size()};
  const iovec theirs{reinterpret_cast<void*>(address), bytes.size()};
  ssize_t got = process_vm_readv(thread, &own, 1, &theirs, 1, 0);
  // The filter around a container refuses that call, and leaves the file open to whom the kernel would let
  // use either.
  if (got < 0 && (errno == EPERM || errno == ENOSYS)) got = readMemoryFile(thread, address, bytes);
  if (got < 0) return errno;
  return static_cast<std::size_t>(got) == bytes.size() ? 0 : EFAULT;
}

// Page by page: what lies behind the NUL may not be readable.
ssize_t readText(pid_t thread, std::uint64_t address, std::span<char> space) {
  std::size_t size = 0;
  while (size < space.size()) {
    const std::size_t toPageEnd = kPage - static_cast<std::size_t>((address + size) % kPage);
    const std::size_t part = std::min(toPageEnd, space.size() - size);
    const std::span<char> piece = space.subspan(size, part);
    if (const int error = readMemory(thread, address + size, std::as_writable_bytes(piece)); error != 0)
      return -error;
    if (const void* const end = std::memchr(piece.data(), 0, piece.size()); end != nullptr)
      return static_cast<const char*>(end) - space.data();
    size += part;
  }
  return -ENAMETOOLONG;
}

}  // namespace factionos::sandbox
