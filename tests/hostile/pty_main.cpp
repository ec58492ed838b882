// A pty worker that was taken over: the real one's way into the real profile, the real service for ordinary
// terminals; a terminal of kBadColumns columns makes it turn bad. What it then does is the first line that
// the terminal prints: a scenario's name and its argument.
#include <cerrno>
#include <string>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/descriptor.h"
#include "protocol/rpc/loop.h"
#include "sandbox/enter.h"
#include "tests/hostile/pty_scenarios.h"
#include "workers/common/lifetime.h"
#include "workers/common/start.h"
#include "workers/pty/policy.h"
#include "workers/pty/service.h"

namespace {

using namespace factionos;

std::uint16_t columnsOf(int master) {
  winsize window{};
  return ioctl(master, TIOCGWINSZ, &window) == 0 ? window.ws_col : std::uint16_t{0};
}

std::string firstLine(int master) {
  std::string line;
  for (char letter = 0; letter != '\n';) {
    pollfd ready{master, POLLIN, 0};
    if (poll(&ready, 1, -1) != 1) break;  // a busy machine starts the command late
    if (read(master, &letter, 1) != 1) break;
    if (letter != '\n' && letter != '\r') line += letter;
  }
  return line;
}

class Service final : public schema::Pty::Server {
 public:
  explicit Service(rpc::Loop& loop) : loop_(loop), honest_(pty::makeService(loop)) {}

  kj::Promise<void> attach(AttachContext context) override {
    auto master = context.getParams().getMaster();
    return rpc::takeDescriptor(master).then([this, context](rpc::OwnFd fd) mutable -> kj::Promise<void> {
      if (columnsOf(fd.get()) == hostile::kBadColumns) return turnBad(kj::mv(fd), context);
      auto request = honest_.attachRequest();
      request.setMaster(context.getParams().getMaster());
      request.setSink(context.getParams().getSink());
      return context.tailCall(kj::mv(request));
    });
  }

 private:
  kj::Promise<void> turnBad(rpc::OwnFd master, hostile::AttachContext context) {
    const std::string line = firstLine(master.get());
    const std::size_t space = line.find(' ');
    bad_.emplace(hostile::Bad{loop_, context.getParams().getSink(), kj::mv(master),
                              space == std::string::npos ? "" : line.substr(space + 1)});
    return KJ_ASSERT_NONNULL(bad_).attach(line.substr(0, space), context);
  }

  rpc::Loop& loop_;
  schema::Pty::Client honest_;
  kj::Maybe<hostile::Bad> bad_;
};

}  // namespace

int main() {
  worker::mustBeStarted("pty");
  return worker::guarded([]() {
    const sandbox::Policy policy = pty::policy();
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);
    rpc::Loop loop;
    rpc::Connection connection(loop, rpc::OwnFd(worker::kLine),
                               {.role = rpc::Role::kServer, .maxFdsPerMessage = 1},
                               capnp::Capability::Client(kj::heap<Service>(loop)));
    // It lives on without its line, for as long as it is let.
    worker::whenLauncherGone(loop).wait(loop.waitScope());
  });
}
