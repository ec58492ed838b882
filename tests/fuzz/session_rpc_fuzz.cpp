// The session's interface: all but start, which would execute what the fuzzer wrote.
#include <fcntl.h>

#include "protocol/schemas/session.capnp.h"
#include "sandbox/namespaces.h"
#include "tests/fuzz/broker_core.h"
#include "tests/fuzz/rpc_peer.h"
#include "workers/session/service.h"

namespace {

using namespace factionos;

class AllButStart final : public schema::Session::Server {
 public:
  explicit AllButStart(int workspace) : service_(fuzz::loop(), workspace, support_, lastResort_) {}

  kj::Promise<void> prepare(PrepareContext context) override {
    auto request = service_.capability().prepareRequest();
    request.setCommand(context.getParams().getCommand());
    return context.tailCall(kj::mv(request));
  }
  kj::Promise<void> start(StartContext) override { return kj::READY_NOW; }
  kj::Promise<void> exited(ExitedContext) override { return kj::READY_NOW; }
  kj::Promise<void> signal(SignalContext context) override {
    auto request = service_.capability().signalRequest();
    request.setNumber(context.getParams().getNumber());
    return context.tailCall(kj::mv(request));
  }
  kj::Promise<void> kill(KillContext context) override {
    return context.tailCall(service_.capability().killRequest());
  }

 private:
  sandbox::NamespaceSupport support_;
  session::LastResort lastResort_{std::nullopt};
  session::Service service_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const rpc::QuietKj quiet;
  static auto& folder = *new fuzz::ScratchFolder;
  static const int workspace = open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  static auto& plan = *new fuzz::Peer::Plan{.interfaces = {capnp::Schema::from<schema::Session>()},
                                            .texts = {"true", "/bin/sh", "-c", "env", "../x", "LANG=C",
                                                      "/usr/bin", "/etc", folder.path(), "./script"}};
  fuzz::run(plan, data, size, {.role = rpc::Role::kServer},
            []() -> capnp::Capability::Client { return kj::heap<AllButStart>(workspace); });
  return 0;
}
