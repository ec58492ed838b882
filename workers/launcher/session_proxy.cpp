#include "workers/launcher/session_proxy.h"

#include "protocol/rpc/descriptor.h"

namespace factionos::launcher {
namespace {

// From closing the line to SIGKILL: a session needs a few milliseconds, its keeper ends the tree either way.
constexpr auto kEndGrace = 5 * kj::SECONDS;

class Proxy final : public schema::Session::Server {
 public:
  Proxy(kj::Own<SessionProcess> process, schema::Session::Client session)
      : process_(kj::mv(process)), session_(kj::mv(session)) {}
  ~Proxy() noexcept(false) { process_->end(); }
  KJ_DISALLOW_COPY(Proxy);

  kj::Promise<void> prepare(PrepareContext context) override {
    auto request = session_.prepareRequest(context.getParams().totalSize());
    request.setCommand(context.getParams().getCommand());
    return context.tailCall(kj::mv(request));
  }

  kj::Promise<void> start(StartContext context) override {
    auto request = session_.startRequest(context.getParams().totalSize());
    request.setWindow(context.getParams().getWindow());
    request.setLimits(context.getParams().getLimits());
    return context.tailCall(kj::mv(request));
  }

  kj::Promise<void> exited(ExitedContext context) override {
    rpc::allowCancellation(context);
    return context.tailCall(session_.exitedRequest(capnp::MessageSize{4, 0}));
  }

  kj::Promise<void> signal(SignalContext context) override {
    auto request = session_.signalRequest(capnp::MessageSize{4, 0});
    request.setNumber(context.getParams().getNumber());
    return context.tailCall(kj::mv(request));
  }

  kj::Promise<void> kill(KillContext context) override {
    return context.tailCall(session_.killRequest(capnp::MessageSize{4, 0}));
  }

  kj::Promise<void> denials(DenialsContext context) override {
    rpc::allowCancellation(context);
    return context.tailCall(session_.denialsRequest(capnp::MessageSize{4, 0}));
  }

 private:
  kj::Own<SessionProcess> process_;
  schema::Session::Client session_;
};

}  // namespace

SessionProcess::SessionProcess(rpc::Loop& loop, kj::Own<Child> child, rpc::OwnFd line)
    : loop_(loop),
      child_(kj::mv(child)),
      connection_(loop, kj::mv(line), {.role = rpc::Role::kClient}),
      killing_(nullptr) {}

kj::Promise<schema::Session::Client> SessionProcess::open(rpc::OwnFd workspace) {
  auto request = connection_.bootstrapAs<schema::Supervisor>().openRequest(capnp::MessageSize{4, 1});
  request.setWorkspace(rpc::carryDescriptor<schema::Descriptor>(kj::mv(workspace)));
  return request.send().then([](auto&& results) { return results.getSession(); });
}

void SessionProcess::end() {
  if (state_ == State::kEnding) return;
  state_ = State::kEnding;
  connection_.close();
  killing_ = loop_.timer().afterDelay(kEndGrace).then([this]() { child_->kill(); }).eagerlyEvaluate(nullptr);
}

kj::Promise<void> SessionProcess::ended() {
  return child_->exited().then([this](const ChildExit&) { killing_ = kj::READY_NOW; });
}

schema::Session::Client makeProxy(kj::Own<SessionProcess> process, schema::Session::Client session) {
  return kj::heap<Proxy>(kj::mv(process), kj::mv(session));
}

}  // namespace factionos::launcher
