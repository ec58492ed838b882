// The container worker's interface, with a connector that gives sockets which nobody answers on.
#include <string>

#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/rpc_peer.h"
#include "workers/container/service.h"

namespace {

using namespace factionos;

rpc::OwnFd deadSocket() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return nullptr;
  close(ends[1]);
  return rpc::OwnFd(ends[0]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const rpc::QuietKj quiet;
  static auto& plan = *new fuzz::Peer::Plan{
      .interfaces = {capnp::Schema::from<schema::Container>(), capnp::Schema::from<schema::Containers>(),
                     capnp::Schema::from<schema::ContainerRun>()},
      .named = {{"image", {"factionos-isolated:latest"}},
                {"instance", {"i"}},
                {"run", {"r"}},
                {"action", {"a"}},
                {"proof", {"p"}},
                {"template", {"t"}},
                {"source", {"/srv/x"}}},
      .descriptor = deadSocket,
      .handsBack = false};
  fuzz::run(plan, data, size, {.role = rpc::Role::kServer, .maxFdsPerMessage = 1},
            []() -> capnp::Capability::Client { return container::makeService(fuzz::loop()); });
  return 0;
}
