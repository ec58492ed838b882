// What a pty worker that was taken over may say to the broker: answers to attach, and the output of its
// session.
#include <fcntl.h>

#include "protocol/rpc/descriptor.h"
#include "tests/fuzz/broker_core.h"
#include "tests/fuzz/ended_worker.h"
#include "tests/fuzz/rpc_peer.h"

namespace {

using namespace factionos;

class Session final : public schema::Session::Server {
  kj::Promise<void> exited(ExitedContext context) override {
    context.getResults().initExit().setCode(0);
    return kj::READY_NOW;
  }
  kj::Promise<void> signal(SignalContext) override { return kj::READY_NOW; }
  kj::Promise<void> kill(KillContext) override { return kj::READY_NOW; }
};

kj::Own<broker::LiveSession> makeSession(fuzz::BrokerCore& core) {
  auto request = kj::heap<capnp::MallocMessageBuilder>();
  request->initRoot<schema::TerminalRun>().setShell("true");
  broker::StartedSession supervisor{kj::heap<Session>(), kj::heap<fuzz::EndedWorker>()};
  return kj::refcounted<broker::LiveSession>(core.core,
                                             broker::SessionFacts{.id = audit::Label::of("ses_0"),
                                                                  .actionId = audit::Label::of("act_0"),
                                                                  .workspace = audit::Label::of("demo"),
                                                                  .program = audit::Label::of("sh"),
                                                                  .owner = audit::Label::of("token:all"),
                                                                  .timeoutMs = 60'000},
                                             kj::mv(supervisor), core.masks, kj::mv(request));
}

// The owner types and resizes meanwhile.
void useTerminal(broker::LiveSession& session, kj::TaskSet& tasks) {
  tasks.add(session.input("x\n").ignoreResult());
  tasks.add(session.resize(100, 30).ignoreResult());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::loop();
  const rpc::QuietKj quiet;
  // A session takes nothing of a broker that another leaves changed.
  static auto& core = *new fuzz::BrokerCore;
  static auto& plan = *new fuzz::Peer::Plan{
      .interfaces = {capnp::Schema::from<schema::OutputSink>(), capnp::Schema::from<schema::OutputSink>(),
                     capnp::Schema::from<schema::Terminal>(), capnp::Schema::from<schema::Pty>()},
      .texts = {"ended", "line_too_long", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "\x1b[2J"},
      .numbers = {{"totalBytes", {0, 4, 40, 44, 80}}}};
  FuzzedDataProvider bytes(data, size);
  const bool answers = bytes.ConsumeBool();
  auto pair = rpc::socketPair();
  auto session = makeSession(core);
  auto line = kj::heap<rpc::Connection>(fuzz::loop(), kj::mv(pair.first),
                                        broker::optionsOf(broker::linkOf(broker::Peer::kPty)));
  auto pty = line->bootstrapAs<schema::Pty>();
  fuzz::Peer peer(plan, bytes, kj::mv(pair.second));
  {
    fuzz::Ignore ignore;
    kj::TaskSet tasks(ignore);
    tasks.add(session
                  ->attach({{kj::mv(line), kj::heap<fuzz::EndedWorker>()}, kj::mv(pty)},
                           rpc::carryDescriptor<schema::Descriptor>(
                               rpc::OwnFd(open("/dev/null", O_RDWR | O_CLOEXEC))))
                  .ignoreResult());
    if (answers) {
      peer.give(0, nullptr);
      const std::array<capnp::StructSchema, 1> attached{capnp::Schema::from<schema::Pty::AttachResults>()};
      peer.give(1, kj::arrayPtr(attached.data(), attached.size()));
      useTerminal(*session, tasks);
    }
    peer.speak();
    auto ended = session->watch().ignoreResult();
    peer.speak();
    capnp::MallocMessageBuilder message;
    using Reply = actions::Outgoing<redaction::Boundary::kApiResponse, schema::TerminalSession>;
    session->fillOutput(-1, Reply(message.initRoot<schema::TerminalSession>()));
    session->fillSummary(Reply(message.initRoot<schema::TerminalSession>()));
  }
  session = nullptr;
  fuzz::loop().waitScope().poll();
  return 0;
}
