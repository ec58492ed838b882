// The launcher's interface, with no programs to start: every start ends at its exec.
#include <fcntl.h>

#include "protocol/rpc/descriptor.h"
#include "tests/fuzz/broker_core.h"
#include "tests/fuzz/rpc_peer.h"
#include "workers/launcher/service.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace factionos;
  const rpc::QuietKj quiet;
  static auto& folder = *new fuzz::ScratchFolder;
  static auto& reaper = *new launcher::Reaper(fuzz::loop());
  static const launcher::Setup setup{
      .programs = open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC),
      .environment = {"PATH=/usr/bin"},
      .workspaces = sandbox::WorkspaceRules::gather(-1),
      .support = {}};
  static auto& plan = *new fuzz::Peer::Plan{
      .interfaces = {capnp::Schema::from<schema::Launcher>(), capnp::Schema::from<schema::Worker>(),
                     capnp::Schema::from<schema::Session>()},
      .texts = {folder.path(), "/", "/tmp/../etc", "/proc/self/cwd", "relative"},
      .descriptor = []() { return kj::mv(rpc::socketPair().first); }};
  fuzz::run(plan, data, size, {.role = rpc::Role::kServer},
            []() -> capnp::Capability::Client { return launcher::makeService(fuzz::loop(), reaper, setup); });
  return 0;
}
