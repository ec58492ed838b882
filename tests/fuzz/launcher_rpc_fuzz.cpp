// The launcher's interface, with no programs to start: every start ends at its exec.
#include <string>

#include <fcntl.h>

#include "protocol/rpc/descriptor.h"
#include "tests/fuzz/rpc_peer.h"
#include "tests/fuzz/scratch_folder.h"
#include "workers/launcher/service.h"

namespace {

int openDirectory(const std::string& path) {
  return open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace factionos;
  const rpc::QuietKj quiet;
  static const fuzz::ScratchFolder folder;
  static const fuzz::ScratchFolder home;
  static auto& reaper = *new launcher::Reaper(fuzz::loop());
  static const launcher::Setup setup{
      .programs = openDirectory(home.path()),
      .environment = {"PATH=/usr/bin"},
      .workspaces = sandbox::WorkspaceRules::gather(openDirectory(home.path())),
      .support = {}};
  static auto& plan = *new fuzz::Peer::Plan{
      .interfaces = {capnp::Schema::from<schema::Launcher>(), capnp::Schema::from<schema::Worker>(),
                     capnp::Schema::from<schema::Session>()},
      .texts = {"true"},
      .named = {{"workspace", {folder.path(), "/", "/tmp/../etc", "/proc/self/cwd", "relative"}}},
      .descriptor = []() {
        auto pair = rpc::socketPair();
        return kj::mv(pair.first);
      }};
  fuzz::run(plan, data, size, {.role = rpc::Role::kServer},
            []() -> capnp::Capability::Client { return launcher::makeService(fuzz::loop(), reaper, setup); });
  return 0;
}
