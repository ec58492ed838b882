#include "harness.h"

#include <cstring>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kj/debug.h>

#include "protocol/rpc/descriptor.h"

#ifdef __SANITIZE_THREAD__
// libkj is not instrumented and its mutex is a bare futex, so what one thread hands to another through a
// kj::Executor looks unordered.
extern "C" const char* __tsan_default_suppressions() {
  return "race:executeSync\n";
}
#endif

namespace factionos::rpc::test {
namespace {

class UvIo final : public TestIo {
 public:
  kj::WaitScope& waitScope() override { return loop_.waitScope(); }
  kj::LowLevelAsyncIoProvider& lowLevel() override { return loop_.lowLevel(); }
  kj::AsyncIoProvider& io() override { return loop_.io(); }

 private:
  Loop loop_{Diagnostics::kKj};  // a fixture lives on the heap
};

class KjIo final : public TestIo {
 public:
  KjIo() : context_(kj::setupAsyncIo()) { signal(SIGPIPE, SIG_IGN); }
  kj::WaitScope& waitScope() override { return context_.waitScope; }
  kj::LowLevelAsyncIoProvider& lowLevel() override { return *context_.lowLevelProvider; }
  kj::AsyncIoProvider& io() override { return *context_.provider; }

 private:
  kj::AsyncIoContext context_;
};

}  // namespace

std::unique_ptr<TestIo> makeIo(Port port) {
  if (port == Port::kUv) return std::make_unique<UvIo>();
  return std::make_unique<KjIo>();
}

kj::Own<kj::AsyncCapabilityStream> TestIo::wrap(OwnFd fd) {
  return lowLevel().wrapUnixSocketFd(kj::mv(fd));
}

size_t openFds() {
  DIR* const directory = opendir("/proc/self/fd");
  KJ_REQUIRE(directory != nullptr);
  size_t count = 0;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(directory);
  return count - 1;  // the directory itself
}

void sendRaw(int socket, kj::ArrayPtr<const kj::byte> bytes, kj::ArrayPtr<const int> fds) {
  iovec piece{const_cast<kj::byte*>(bytes.begin()), bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
  if (fds.size() > 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.begin(), fds.size() * sizeof(int));
  }
  ASSERT_EQ(sendmsg(socket, &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size())) << strerror(errno);
}

Pipe makePipe() {
  int ends[2];
  KJ_SYSCALL(pipe2(ends, O_CLOEXEC));
  return {OwnFd(ends[0]), OwnFd(ends[1])};
}

bool sameFile(int a, int b) {
  struct stat first {};
  struct stat second {};
  KJ_SYSCALL(fstat(a, &first));
  KJ_SYSCALL(fstat(b, &second));
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

Child::Child(const std::function<int()>& body) : pid_(fork()) {
  KJ_REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    int status = 97;
    kj::runCatchingExceptions([&status, &body]() { status = body(); });
    _exit(status);
  }
}

Child::~Child() {
  if (reaped_) return;
  ::kill(pid_, SIGKILL);
  wait();
}

void Child::kill(int signal) const {
  KJ_SYSCALL(::kill(pid_, signal));
}

int Child::wait() {
  int status = 0;
  KJ_SYSCALL(waitpid(pid_, &status, 0));
  reaped_ = true;
  return status;
}

kj::Promise<void> EchoServer::ping(PingContext context) {
  context.getResults().setValue(context.getParams().getValue());
  return kj::READY_NOW;
}

kj::Promise<void> EchoServer::never(NeverContext) {
  return kj::NEVER_DONE;
}

kj::Promise<void> EchoServer::fail(FailContext) {
  return KJ_EXCEPTION(FAILED, "as asked");
}

kj::Promise<void> EchoServer::give(GiveContext context) {
  context.getResults().setCarrier(carryDescriptor<Carrier>(makePipe().in));
  return kj::READY_NOW;
}

kj::Promise<void> EchoServer::take(TakeContext context) {
  auto taking = kj::heapArrayBuilder<kj::Promise<uint32_t>>(context.getParams().getCarriers().size());
  for (auto carrier : context.getParams().getCarriers()) {
    taking.add(takeDescriptor(carrier).then([](const OwnFd&) -> uint32_t { return 1; },
                                            [](kj::Exception&&) -> uint32_t { return 0; }));
  }
  return kj::joinPromises(taking.finish()).then([context](kj::Array<uint32_t> taken) mutable {
    uint32_t sum = 0;
    for (const uint32_t one : taken) sum += one;
    context.getResults().setReceived(sum);
  });
}

kj::Promise<void> EchoServer::big(BigContext context) {
  context.getResults().initData(context.getParams().getBytes());
  return kj::READY_NOW;
}

kj::Promise<void> EchoServer::push(PushContext context) {
  pushed_ += context.getParams().getData().size();
  return kj::READY_NOW;
}

kj::Promise<void> EchoServer::pushed(PushedContext context) {
  context.getResults().setBytes(pushed_);
  return kj::READY_NOW;
}

kj::Promise<void> EchoServer::callBack(CallBackContext context) {
  auto request = context.getParams().getPeer().pingRequest();
  request.setValue(context.getParams().getValue());
  return request.send().then([context](capnp::Response<Echo::PingResults> response) mutable {
    context.getResults().setValue(response.getValue());
  });
}

kj::Promise<void> EchoServer::closeConnection(CloseConnectionContext) {
  KJ_REQUIRE(connection != nullptr);
  connection->close();
  return kj::NEVER_DONE;
}

EchoPair::EchoPair(Loop& loop, ConnectionOptions clientOptions, ConnectionOptions serverOptions)
    : sockets(socketPair()),
      server(loop, kj::mv(sockets.first), serverOptions, capnp::Capability::Client(kj::heap<EchoServer>())),
      client(loop, kj::mv(sockets.second), clientOptions),
      echo(client.bootstrapAs<Echo>()) {}

kj::Promise<uint64_t> ping(Echo::Client echo, uint64_t value) {
  auto request = echo.pingRequest();
  request.setValue(value);
  return request.send().then([](capnp::Response<Echo::PingResults> response) { return response.getValue(); });
}

}  // namespace factionos::rpc::test
