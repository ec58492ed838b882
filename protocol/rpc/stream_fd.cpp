#include "protocol/rpc/stream_fd.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <kj/debug.h>

namespace factionos::rpc {
namespace {

using Provider = kj::LowLevelAsyncIoProvider;

// The kernel's SCM_MAX_FD: it refuses to send more in one message.
constexpr size_t kMostFdsPerMessage = 253;
constexpr size_t kPiecesPerCall = 64;
constexpr ssize_t kWouldBlock = -1;

bool wouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

// Takes every descriptor of a received message: the first go to the reader, the rest are closed at once.
size_t takeFds(msghdr& message, OwnFd* room, size_t roomFor) {
  size_t taken = 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      OwnFd received(number);
      if (taken < roomFor) room[taken++] = kj::mv(received);
    }
  }
  return taken;
}

}  // namespace

void prepareFd(int fd, unsigned flags) {
  if ((flags & Provider::ALREADY_NONBLOCK) == 0) {
    int status = 0;
    KJ_SYSCALL(status = fcntl(fd, F_GETFL));
    if ((status & O_NONBLOCK) == 0) {
      KJ_SYSCALL(fcntl(fd, F_SETFL, status | O_NONBLOCK));
    }
  }
  if ((flags & Provider::TAKE_OWNERSHIP) != 0 && (flags & Provider::ALREADY_CLOEXEC) == 0) {
    KJ_SYSCALL(fcntl(fd, F_SETFD, FD_CLOEXEC));
  }
}

// What is left to read. `fds` and `streams` point into the caller's buffers.
struct StreamFd::Reading {
  kj::byte* buffer;
  size_t minBytes;
  size_t maxBytes;
  OwnFd* fds;
  size_t maxFds;
  ReadResult done{0, 0};
};

// What is left to write.
struct StreamFd::Writing {
  kj::ArrayPtr<const kj::byte> first;
  kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> more;
  kj::ArrayPtr<const int> fds;

  [[nodiscard]] bool skipEmpty() {
    while (first.size() == 0 && more.size() > 0) {
      first = more[0];
      more = more.slice(1, more.size());
    }
    return first.size() > 0;
  }

  void advance(size_t count) {
    while (count > 0) {
      const size_t step = std::min(count, first.size());
      first = first.slice(step, first.size());
      count -= step;
      if (count > 0) {
        first = more[0];
        more = more.slice(1, more.size());
      }
    }
  }
};

StreamFd::StreamFd(PollSet& set, int fd, unsigned flags, FdKind kind, kj::Maybe<WriteStall> stall)
    : fd_(fd),
      owned_((flags & Provider::TAKE_OWNERSHIP) != 0 ? fd : -1),
      kind_(kind),
      set_(set),
      stall_(stall),
      watch_(set, fd) {
  prepareFd(fd, flags);
}

StreamFd::~StreamFd() noexcept(false) = default;

kj::Promise<size_t> StreamFd::tryRead(void* buffer, size_t minBytes, size_t maxBytes) {
  return readOn({static_cast<kj::byte*>(buffer), minBytes, maxBytes, nullptr, 0}).then([](ReadResult result) {
    return result.byteCount;
  });
}

kj::Promise<StreamFd::ReadResult> StreamFd::tryReadWithFds(void* buffer, size_t minBytes, size_t maxBytes,
                                                           OwnFd* fdBuffer, size_t maxFds) {
  return readOn({static_cast<kj::byte*>(buffer), minBytes, maxBytes, fdBuffer, maxFds});
}

kj::Promise<StreamFd::ReadResult> StreamFd::tryReadWithStreams(
    void* buffer, size_t minBytes, size_t maxBytes, kj::Own<kj::AsyncCapabilityStream>* streamBuffer,
    size_t maxStreams) {
  auto fds = kj::heapArray<OwnFd>(maxStreams);
  auto reading = readOn({static_cast<kj::byte*>(buffer), minBytes, maxBytes, fds.begin(), maxStreams});
  return reading.then([this, fds = kj::mv(fds), streamBuffer](ReadResult result) mutable {
    constexpr unsigned kFlags = Provider::TAKE_OWNERSHIP | Provider::ALREADY_CLOEXEC;
    for (size_t i = 0; i < result.capCount; ++i) {
      streamBuffer[i] = kj::heap<StreamFd>(set_, fds[i].release(), kFlags, FdKind::kSocket);
    }
    return result;
  });
}

kj::Promise<StreamFd::ReadResult> StreamFd::readOn(Reading reading) {
  while (reading.maxBytes > 0) {
    const ssize_t count = readOnce(reading);
    if (count == kWouldBlock) {
      return watch_.whenReadable().then([this, reading]() { return readOn(reading); });
    }
    if (count == 0) break;
    const auto got = static_cast<size_t>(count);
    reading.done.byteCount += got;
    reading.buffer += got;
    reading.maxBytes -= got;
    if (got >= reading.minBytes) break;
    reading.minBytes -= got;
  }
  return reading.done;
}

// Bytes read, 0 at the end, kWouldBlock.
ssize_t StreamFd::readOnce(Reading& reading) {
  for (;;) {
    const ssize_t count =
        kind_ == FdKind::kSocket ? receive(reading) : ::read(fd_, reading.buffer, reading.maxBytes);
    if (count >= 0) return count;
    const int error = errno;
    if (error == EINTR) continue;
    if (wouldBlock(error)) return kWouldBlock;
    if (error == ENOTSOCK && kind_ == FdKind::kSocket) {
      kind_ = FdKind::kTerminal;
      continue;
    }
    // A terminal whose other side hung up says EIO for what every other stream calls its end.
    if (error == EIO && kind_ == FdKind::kTerminal) return 0;
    KJ_FAIL_SYSCALL(kind_ == FdKind::kSocket ? "recvmsg" : "read", error);
  }
}

ssize_t StreamFd::receive(Reading& reading) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFdsPerMessage * sizeof(int))> control;
  iovec piece{reading.buffer, reading.maxBytes};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  const size_t room = std::min(reading.maxFds, kMostFdsPerMessage);
  if (room > 0) {
    // CMSG_LEN and not CMSG_SPACE: the padding would be room for one descriptor more than was asked for.
    message.msg_control = control.data();
    message.msg_controllen = CMSG_LEN(room * sizeof(int));
  }
  const ssize_t count = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
  if (count >= 0 && room > 0) {
    const size_t taken = takeFds(message, reading.fds, room);
    reading.fds += taken;
    reading.maxFds -= taken;
    reading.done.capCount += taken;
  }
  return count;
}

kj::Promise<void> StreamFd::write(const void* buffer, size_t size) {
  return writeOn({kj::arrayPtr(static_cast<const kj::byte*>(buffer), size), nullptr, nullptr});
}

kj::Promise<void> StreamFd::write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) {
  return writeOn({nullptr, pieces, nullptr});
}

kj::Promise<void> StreamFd::writeWithFds(kj::ArrayPtr<const kj::byte> data,
                                         kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> moreData,
                                         kj::ArrayPtr<const int> fds) {
  KJ_REQUIRE(fds.size() <= kMostFdsPerMessage, "too many descriptors for one message", fds.size());
  return writeOn({data, moreData, fds});
}

kj::Promise<void> StreamFd::writeWithStreams(kj::ArrayPtr<const kj::byte> data,
                                             kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> moreData,
                                             kj::Array<kj::Own<kj::AsyncCapabilityStream>> streams) {
  auto fds = kj::heapArray<int>(streams.size());
  for (size_t i = 0; i < streams.size(); ++i) fds[i] = kj::downcast<StreamFd>(*streams[i]).fd_;
  auto writing = writeWithFds(data, moreData, fds);
  return writing.attach(kj::mv(fds), kj::mv(streams));
}

kj::Promise<void> StreamFd::writeOn(Writing writing) {
  while (writing.skipEmpty()) {
    const ssize_t count = writeOnce(writing);
    if (count == kWouldBlock) {
      return whenWritable().then([this, writing]() { return writeOn(writing); });
    }
    writing.fds = nullptr;  // they went with the first byte
    writing.advance(static_cast<size_t>(count));
  }
  KJ_REQUIRE(writing.fds.size() == 0, "descriptors travel with bytes, and there are none");
  return kj::READY_NOW;
}

// Bytes written (at least one), or kWouldBlock.
ssize_t StreamFd::writeOnce(const Writing& writing) {
  std::array<iovec, kPiecesPerCall> pieces;
  size_t used = 0;
  const auto add = [&pieces, &used](kj::ArrayPtr<const kj::byte> piece) {
    pieces[used++] = {const_cast<kj::byte*>(piece.begin()), piece.size()};  // writev takes no const
  };
  add(writing.first);
  for (size_t i = 0; i < writing.more.size() && used < kPiecesPerCall; ++i) add(writing.more[i]);

  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFdsPerMessage * sizeof(int))> control;
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = used;
  if (writing.fds.size() > 0) {
    const size_t bytes = writing.fds.size() * sizeof(int);
    std::memset(control.data(), 0, CMSG_SPACE(bytes));
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), writing.fds.begin(), bytes);
  }

  for (;;) {
    const ssize_t count = kind_ == FdKind::kSocket ? sendmsg(fd_, &message, MSG_NOSIGNAL)
                                                   : ::writev(fd_, pieces.data(), static_cast<int>(used));
    if (count > 0) return count;
    const int error = count == 0 ? EIO : errno;  // some bytes were asked for, so none is no answer
    if (error == EINTR) continue;
    if (wouldBlock(error)) return kWouldBlock;
    if (error == ENOTSOCK && kind_ == FdKind::kSocket && writing.fds.size() == 0) {
      kind_ = FdKind::kTerminal;
      continue;
    }
    KJ_FAIL_SYSCALL(kind_ == FdKind::kSocket ? "sendmsg" : "writev", error);
  }
}

kj::Promise<void> StreamFd::whenWritable() {
  auto writable = watch_.whenWritable();
  FACTIONOS_IF_SOME(stall, stall_) {
    return writable.exclusiveJoin(stall.timer.afterDelay(stall.limit).then([]() -> kj::Promise<void> {
      return kj::Exception(kj::Exception::Type::DISCONNECTED, __FILE__, __LINE__, kj::str(kWriteStalled));
    }));
  }
  return writable;
}

kj::Promise<void> StreamFd::whenWriteDisconnected() {
  FACTIONOS_IF_SOME(fork, hungUp_) {
    return fork.addBranch();
  }
  return hungUp_.emplace(watch_.whenHungUp().fork()).addBranch();
}

void StreamFd::shutdownWrite() {
  KJ_SYSCALL(shutdown(fd_, SHUT_WR));
}

void StreamFd::abortRead() {
  KJ_SYSCALL(shutdown(fd_, SHUT_RD));
}

void StreamFd::getsockopt(int level, int option, void* value, unsigned* length) {
  socklen_t size = *length;
  KJ_SYSCALL(::getsockopt(fd_, level, option, value, &size));
  *length = size;
}

void StreamFd::setsockopt(int level, int option, const void* value, unsigned length) {
  KJ_SYSCALL(::setsockopt(fd_, level, option, value, length));
}

void StreamFd::getsockname(struct sockaddr* addr, unsigned* length) {
  socklen_t size = *length;
  KJ_SYSCALL(::getsockname(fd_, addr, &size));
  *length = size;
}

void StreamFd::getpeername(struct sockaddr* addr, unsigned* length) {
  socklen_t size = *length;
  KJ_SYSCALL(::getpeername(fd_, addr, &size));
  *length = size;
}

kj::Promise<void> StreamFd::whenConnected() {
  return watch_.whenWritable().then([this]() {
    int error = 0;
    socklen_t size = sizeof(error);
    KJ_SYSCALL(::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size));
    if (error != 0) KJ_FAIL_SYSCALL("connect", error);
  });
}

}  // namespace factionos::rpc
