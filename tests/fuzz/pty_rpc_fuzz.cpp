// The pty worker's interface, with real terminals and with what is none.
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "tests/fuzz/rpc_peer.h"
#include "workers/pty/service.h"

namespace {

using namespace factionos;

rpc::OwnFd terminal() {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || unlockpt(master) != 0) return rpc::OwnFd(open("/dev/null", O_RDWR | O_CLOEXEC));
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave >= 0) {
    static_cast<void>(!write(slave, "output\r\n", 8));
    close(slave);
  }
  return rpc::OwnFd(master);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const rpc::QuietKj quiet;
  static auto& plan = *new fuzz::Peer::Plan{
      .interfaces = {capnp::Schema::from<schema::Pty>(), capnp::Schema::from<schema::Terminal>()},
      .named = {{"data", {"x\n", "\x03", "\x04"}}},
      .descriptor = terminal,
      .handsBack = false};
  fuzz::run(plan, data, size, {.role = rpc::Role::kServer, .maxFdsPerMessage = 1},
            []() -> capnp::Capability::Client { return pty::makeService(fuzz::loop()); });
  return 0;
}
