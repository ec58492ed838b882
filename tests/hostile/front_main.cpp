// A front that was taken over: the real one's way into the real profile, then a server of its own on the
// broker's listeners. Who asks for /bad/NAME with a token makes it carry out the scenario NAME with what it
// holds: the gate, that token, its line.
#include <string>

#include <kj/async-io.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/descriptor.h"
#include "protocol/rpc/loop.h"
#include "sandbox/enter.h"
#include "tests/hostile/front_scenarios.h"
#include "workers/common/lifetime.h"
#include "workers/common/start.h"
#include "workers/front/policy.h"

namespace {

using namespace factionos;

constexpr rpc::ConnectionOptions kLine{.role = rpc::Role::kClient,
                                       .maxFdsPerMessage = 4,
                                       .traversalLimitInWords = 2U << 20U,
                                       .nestingLimit = 64,
                                       .flowLimitInWords = 4U << 20U};

std::string between(const std::string& text, const std::string& before, char after) {
  const auto at = text.find(before);
  if (at == std::string::npos) return {};
  const auto from = at + before.size();
  return text.substr(from, text.find(after, from) - from);
}

// Just enough HTTP for the tests that ask.
class Server final : private kj::TaskSet::ErrorHandler {
 public:
  Server(rpc::Loop& loop, hostile::BadFront& front) : loop_(loop), front_(front), tasks_(*this) {}

  void listen(schema::Listener::Reader listener) {
    auto socket = rpc::takeDescriptor(listener.getSocket()).wait(loop_.waitScope());
    front_.hold(listener.getKind(), socket.get());
    receivers_.add(
        loop_.lowLevel().wrapListenSocketFd(socket.release(), kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP));
    tasks_.add(accept(*receivers_.back()));
  }

 private:
  kj::Promise<void> accept(kj::ConnectionReceiver& receiver) {
    return receiver.accept().then([this, &receiver](kj::Own<kj::AsyncIoStream>&& stream) {
      tasks_.add(serve(kj::mv(stream)));
      return accept(receiver);
    });
  }

  kj::Promise<void> serve(kj::Own<kj::AsyncIoStream> stream) {
    auto buffer = kj::heapArray<char>(16384);
    auto reading = stream->tryRead(buffer.begin(), 1, buffer.size());
    return reading
        .then([this, buffer = kj::mv(buffer)](std::size_t size) {
          const std::string head(buffer.begin(), size);
          const auto scenario = between(head, " /bad/", ' ');
          if (scenario.empty()) return kj::Promise<std::string>(std::string("ok"));
          return front_.carryOut(scenario, between(head, "Bearer ", '\r'));
        })
        .then([stream = kj::mv(stream)](std::string body) mutable {
          auto text = kj::heapString(
              ("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body)
                  .c_str());
          auto sent = stream->write(text.begin(), text.size());
          return sent.attach(kj::mv(text), kj::mv(stream));
        });
  }

  void taskFailed(kj::Exception&&) override {}

  rpc::Loop& loop_;
  hostile::BadFront& front_;
  kj::Vector<kj::Own<kj::ConnectionReceiver>> receivers_;
  kj::TaskSet tasks_;
};

// Takes what it is told, until it is told not to.
class Sink final : public schema::SnapshotSink::Server {
 public:
  explicit Sink(const hostile::BadFront& front) : front_(front) {}
  kj::Promise<void> publish(PublishContext) override {
    return front_.silent() ? kj::Promise<void>(kj::NEVER_DONE) : kj::Promise<void>(kj::READY_NOW);
  }
  kj::Promise<void> shutdown(ShutdownContext) override { _exit(0); }

 private:
  const hostile::BadFront& front_;
};

}  // namespace

int main() {
  worker::mustBeStarted("front");
  return worker::guarded([]() {
    const sandbox::Policy policy = front::frontPolicy();
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);
    rpc::Loop loop;
    rpc::Connection connection(loop, rpc::OwnFd(worker::kLine), kLine);
    auto gate = connection.bootstrapAs<schema::Gate>();
    hostile::BadFront front(loop, gate);
    auto request = gate.startRequest();
    request.setSink(kj::heap<Sink>(front));
    const auto started = request.send().wait(loop.waitScope());
    Server server(loop, front);
    for (const auto listener : started.getListeners()) server.listen(listener);
    // It lives on without its line, for as long as it is let.
    worker::whenLauncherGone(loop).wait(loop.waitScope());
  });
}
