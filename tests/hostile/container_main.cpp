// A container worker that was taken over: the real one's way into the real profile; then the name of an image
// that it is asked about says which act it tries. "engine": what it can do, with the one kind of socket that
// it is given.
#include <string>

#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/descriptor.h"
#include "protocol/rpc/loop.h"
#include "protocol/schemas/container.capnp.h"
#include "sandbox/enter.h"
#include "tests/hostile/acts.h"
#include "workers/common/lifetime.h"
#include "workers/common/start.h"
#include "workers/container/policy.h"

namespace {

using namespace factionos;

class Containers final : public schema::Containers::Server {
 public:
  explicit Containers(schema::EngineConnector::Client connector) : connector_(kj::mv(connector)) {}

  kj::Promise<void> probe(ProbeContext context) override {
    const std::string wanted(context.getParams().getImage().cStr());
    if (wanted == "engine") {
      return connector_.connectRequest()
          .send()
          .then([](auto&& answer) { return rpc::takeDescriptor(answer.getSocket()); })
          .then([context](rpc::OwnFd socket) mutable {
            // A body of its own making: nothing on this side of the engine stops it.
            const std::string evil = "POST /v1.41/containers/create?name=evil HTTP/1.1\r\n\r\n";
            const bool sent = send(socket.get(), evil.data(), evil.size(), MSG_NOSIGNAL) > 0;
            context.getResults().initProbe().setApiVersion(sent ? "sent" : "refused");
          });
    }
    const auto* act = hostile::findAct(wanted);
    if (act == nullptr) return kj::READY_NOW;
    const long result = act->run({.process = getppid(), .path = context.getParams().getInstance().cStr()});
    context.getResults().initProbe().setApiVersion(result < 0 ? "refused" : "done");
    return kj::READY_NOW;
  }

 private:
  schema::EngineConnector::Client connector_;
};

class Service final : public schema::Container::Server {
  kj::Promise<void> open(OpenContext context) override {
    context.getResults().setContainers(kj::heap<Containers>(context.getParams().getConnector()));
    return kj::READY_NOW;
  }
};

}  // namespace

int main() {
  worker::mustBeStarted("container");
  return worker::guarded([]() {
    if (sodium_init() < 0) return;
    const sandbox::Policy policy = container::policy();
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);
    rpc::Loop loop;
    rpc::Connection connection(loop, rpc::OwnFd(worker::kLine),
                               {.role = rpc::Role::kServer, .maxFdsPerMessage = 1},
                               capnp::Capability::Client(kj::heap<Service>()));
    worker::serveUntilGone(loop, connection);
  });
}
