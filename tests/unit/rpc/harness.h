// What the tests of this folder share.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/types.h>

#include <kj/async-io.h>
#include <kj/debug.h>

#include "echo.capnp.h"
#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"

namespace factionos::rpc::test {

/// Longer than anything healthy takes, also under a sanitizer on a loaded machine.
inline constexpr kj::Duration kLong = 20 * kj::SECONDS;

/// One loop's I/O: ours or KJ's own.
class TestIo {
 public:
  TestIo() = default;
  virtual ~TestIo() noexcept(false) = default;
  KJ_DISALLOW_COPY(TestIo);
  virtual kj::WaitScope& waitScope() = 0;
  virtual kj::LowLevelAsyncIoProvider& lowLevel() = 0;
  virtual kj::AsyncIoProvider& io() = 0;
  kj::Timer& timer() { return lowLevel().getTimer(); }

  /// Waits no longer than kLong.
  template <typename T>
  T wait(kj::Promise<T> promise);

  kj::Own<kj::AsyncCapabilityStream> wrap(OwnFd fd);
};

enum class Port { kUv, kKj };
std::unique_ptr<TestIo> makeIo(Port port);

template <typename T>
T waitFor(Loop& loop, kj::Promise<T> promise);

size_t openFds();

/// Sends `bytes` and duplicates of `fds` on a blocking or non-blocking socket; fails the test if that does
/// not work.
void sendRaw(int socket, kj::ArrayPtr<const kj::byte> bytes, kj::ArrayPtr<const int> fds);

/// A pipe whose ends are close-on-exec.
struct Pipe {
  OwnFd in;   ///< to read from
  OwnFd out;  ///< to write to
};
Pipe makePipe();

/// Whether the two descriptors are of one file.
bool sameFile(int a, int b);

/// A child process that runs `body` and then ends with its result, without running this process's exit
/// handlers.
class Child {
 public:
  explicit Child(const std::function<int()>& body);
  ~Child();
  KJ_DISALLOW_COPY(Child);
  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill(int signal) const;
  /// The status of waitpid.
  int wait();

 private:
  pid_t pid_;
  bool reaped_ = false;
};

class EchoServer final : public Echo::Server {
 public:
  kj::Promise<void> ping(PingContext context) override;
  kj::Promise<void> never(NeverContext context) override;
  kj::Promise<void> fail(FailContext context) override;
  kj::Promise<void> give(GiveContext context) override;
  kj::Promise<void> take(TakeContext context) override;
  kj::Promise<void> big(BigContext context) override;
  kj::Promise<void> push(PushContext context) override;
  kj::Promise<void> pushed(PushedContext context) override;
  kj::Promise<void> callBack(CallBackContext context) override;
  kj::Promise<void> closeConnection(CloseConnectionContext context) override;

  /// Bytes that push() has received.
  [[nodiscard]] uint64_t pushed() const { return pushed_; }

  /// What closeConnection() closes.
  Connection* connection = nullptr;

 private:
  uint64_t pushed_ = 0;
};

/// Two connected ends on one loop, the second serving Echo.
struct EchoPair {
  explicit EchoPair(Loop& loop, ConnectionOptions client = {.role = Role::kClient},
                    ConnectionOptions server = {.role = Role::kServer});

  SocketPair sockets;
  Connection server;
  Connection client;
  Echo::Client echo;
};

kj::Promise<uint64_t> ping(Echo::Client echo, uint64_t value);

// ---- inline

template <typename T>
T TestIo::wait(kj::Promise<T> promise) {
  return timer().timeoutAfter(kLong, kj::mv(promise)).wait(waitScope());
}

template <typename T>
T waitFor(Loop& loop, kj::Promise<T> promise) {
  return loop.timer().timeoutAfter(kLong, kj::mv(promise)).wait(loop.waitScope());
}

/// The exception that `act` fails with; fails the test if it does not.
template <typename Act>
kj::Exception failureOf(Act&& act) {
  auto failure = kj::runCatchingExceptions([&act]() { act(); });
  FACTIONOS_IF_SOME(exception, failure) {
    return kj::mv(exception);
  }
  ADD_FAILURE() << "nothing was thrown";
  return kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__);
}

}  // namespace factionos::rpc::test
