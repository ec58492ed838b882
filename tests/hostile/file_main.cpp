// A file worker that was taken over: the real one's way into the real profile, the real service for ordinary
// paths; a path that begins with "bad." makes it turn bad, and the rest of it says how.
#include <cerrno>
#include <string>
#include <string_view>

#include <sodium.h>
#include <unistd.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "protocol/schemas/file.capnp.h"
#include "sandbox/enter.h"
#include "tests/hostile/acts.h"
#include "tests/hostile/wire.h"
#include "workers/common/lifetime.h"
#include "workers/common/start.h"
#include "workers/file/policy.h"
#include "workers/file/service.h"

namespace {

using namespace factionos;

constexpr std::string_view kBad = "bad.";
constexpr unsigned kShaBytes = 32;

std::string_view viewOf(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

// "bad.NAME": the name, or nothing.
std::string scenarioOf(capnp::Data::Reader path) {
  const auto text = viewOf(path);
  return text.starts_with(kBad) ? std::string(text.substr(kBad.size())) : std::string();
}

// As of a plain file, of which a scenario then spoils one member.
void describe(schema::FileState::Builder state) {
  state.setKind(schema::NodeKind::FILE);
  state.setMode(0644);
}

class Service final : public schema::FileWorker::Server {
 public:
  Service() : honest_(file::makeService(worker::kScope)) {}

  kj::Promise<void> stat(StatContext context) override {
    const auto scenario = scenarioOf(context.getParams().getPath());
    if (scenario.empty()) return pass(context, honest_.statRequest());
    auto state = context.getResults().initState();
    describe(state);
    if (scenario == "kind") state.setKind(static_cast<schema::NodeKind>(99));
    if (scenario == "sha") state.initSha(5);
    if (scenario == "mode") state.setMode(04755);
    return kj::READY_NOW;
  }
  kj::Promise<void> list(ListContext context) override {
    const auto scenario = scenarioOf(context.getParams().getPath());
    if (scenario.empty()) return pass(context, honest_.listRequest());
    auto entries = context.getResults().initEntries(scenario == "many" ? 5000 : 1);
    const std::string_view name = scenario == "names" ? "../../etc/passwd" : "x";
    for (auto entry : entries) {
      entry.setKind(schema::NodeKind::FILE);
      entry.setName({reinterpret_cast<const kj::byte*>(name.data()), name.size()});
    }
    return kj::READY_NOW;
  }
  kj::Promise<void> read(ReadContext context) override {
    const auto scenario = scenarioOf(context.getParams().getPath());
    if (scenario.empty()) return pass(context, honest_.readRequest());
    context.getResults().initContent(scenario == "more" ? context.getParams().getLength() + 1 : 1);
    describe(context.getResults().initState());
    return kj::READY_NOW;
  }
  kj::Promise<void> preview(PreviewContext context) override {
    const auto scenario = scenarioOf(context.getParams().getChange().getPath());
    if (scenario.empty()) return pass(context, honest_.previewRequest());
    auto preview = context.getResults().initPreview();
    preview.initBefore().setKind(schema::NodeKind::ABSENT);
    preview.initAfter().setKind(schema::NodeKind::FILE);
    return kj::READY_NOW;
  }
  kj::Promise<void> apply(ApplyContext context) override {
    const auto change = context.getParams().getChange();
    const auto scenario = scenarioOf(change.getPath());
    if (scenario.empty()) return pass(context, honest_.applyRequest());
    if (const auto* act = hostile::findAct(scenario)) {
      const std::string file(viewOf(change.getWrite().getContent()));
      const long result = act->run({.process = getppid(), .path = file});
      const bool refused = hostile::isRefusedByLandlock(*act, result, errno);
      context.getResults().initDenial().setCode(refused ? "no_access" : "not_kept");
      return kj::READY_NOW;
    }
    if (const auto* breach = hostile::findBreach(scenario)) {
      breach->commit();
      return kj::NEVER_DONE;
    }
    if (scenario == "parting_noise") hostile::findBreach("noise")->commit();
    if (scenario == "parting_noise" || scenario == "exit") _exit(0);
    auto after = context.getResults().initAfter();
    describe(after);
    after.initSha(scenario == "after" ? 3 : kShaBytes);
    return kj::READY_NOW;
  }
  kj::Promise<void> settle(SettleContext context) override { return pass(context, honest_.settleRequest()); }
  kj::Promise<void> kept(KeptContext context) override { return pass(context, honest_.keptRequest()); }

 private:
  template <typename Context, typename Request>
  static kj::Promise<void> pass(Context& context, Request&& request) {
    copy(context.getParams(), request);
    return context.tailCall(kj::mv(request));
  }
  template <typename Params, typename Request>
  static void copy(Params params, Request& request) {
    if constexpr (requires { request.setPath(params.getPath()); }) request.setPath(params.getPath());
    if constexpr (requires { request.setChange(params.getChange()); }) request.setChange(params.getChange());
    if constexpr (requires { request.setAction(params.getAction()); }) request.setAction(params.getAction());
    if constexpr (requires { request.setAfter(params.getAfter()); }) request.setAfter(params.getAfter());
    if constexpr (requires { request.setLimit(params.getLimit()); }) request.setLimit(params.getLimit());
    if constexpr (requires { request.setOffset(params.getOffset()); }) request.setOffset(params.getOffset());
    if constexpr (requires { request.setLength(params.getLength()); }) request.setLength(params.getLength());
    if constexpr (requires { request.setBefore(params.getBefore()); }) request.setBefore(params.getBefore());
    if constexpr (requires { request.setOperation(params.getOperation()); })
      request.setOperation(params.getOperation());
    if constexpr (requires { request.setTextBytes(params.getTextBytes()); })
      request.setTextBytes(params.getTextBytes());
  }

  schema::FileWorker::Client honest_;
};

}  // namespace

int main() {
  worker::mustBeStarted("file", {worker::kScope});
  return worker::guarded([]() {
    if (sodium_init() < 0) return;
    const sandbox::Policy policy = file::policy(worker::kScope);
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);
    rpc::Loop loop;
    rpc::Connection connection(loop, rpc::OwnFd(worker::kLine),
                               {.role = rpc::Role::kServer, .maxFdsPerMessage = 0},
                               capnp::Capability::Client(kj::heap<Service>()));
    // It lives on without its line, for as long as it is let.
    worker::whenLauncherGone(loop).wait(loop.waitScope());
  });
}
