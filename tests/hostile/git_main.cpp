// A git worker that was taken over by its repository: the real one's way into the real profile, the real
// service for ordinary requests; a name that begins with "bad." makes it turn bad, and the rest of it says
// how.
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include <unistd.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "protocol/schemas/git.capnp.h"
#include "protocol/text.h"
#include "sandbox/enter.h"
#include "tests/hostile/acts.h"
#include "tests/hostile/wire.h"
#include "workers/common/lifetime.h"
#include "workers/common/repository_scope.h"
#include "workers/common/start.h"
#include "workers/git/handles.h"
#include "workers/git/locate.h"
#include "workers/git/policy.h"
#include "workers/git/programs.h"
#include "workers/git/service.h"

namespace {

using namespace factionos;

// "bad.NAME": the name, or nothing.
std::string scenarioOf(capnp::Text::Reader name) {
  constexpr std::string_view kBad = "bad.";
  const auto text = view(name);
  return text.starts_with(kBad) ? std::string(text.substr(kBad.size())) : std::string();
}

template <typename Results>
void tryAct(const hostile::Act& act, capnp::Text::Reader path, Results results) {
  const long result = act.run({.process = getppid(), .path = std::string(view(path))});
  const bool refused = hostile::isRefusedByLandlock(act, result, errno);
  auto denial = results.initDenial();
  denial.setCode(refused ? "repository_refused" : "exists");
  denial.setRule(refused ? "owner" : "");
}

class BadRepository final : public schema::Repository::Server {
 public:
  explicit BadRepository(schema::Repository::Client honest) : honest_(kj::mv(honest)) {}

  kj::Promise<void> status(StatusContext context) override { return pass(context, honest_.statusRequest()); }
  kj::Promise<void> branches(BranchesContext context) override {
    return pass(context, honest_.branchesRequest());
  }
  kj::Promise<void> worktrees(WorktreesContext context) override {
    return context.tailCall(honest_.worktreesRequest());
  }

  kj::Promise<void> log(LogContext context) override {
    const auto request = context.getParams().getRequest();
    const auto scenario = scenarioOf(request.getFrom());
    if (scenario.empty()) return pass(context, honest_.logRequest());
    auto commits =
        context.getResults().initLog().initCommits(scenario == "many" ? request.getLimit() + 1 : 1);
    if (scenario == "object") commits[0].setCommit("../../etc/passwd");
    if (scenario == "time") commits[0].initAuthor().setTime(std::int64_t{1} << 62);
    return kj::READY_NOW;
  }

  // In the profile that reads.
  kj::Promise<void> diff(DiffContext context) override {
    const auto request = context.getParams().getRequest();
    const auto scenario = scenarioOf(request.getFrom());
    if (scenario.empty()) return pass(context, honest_.diffRequest());
    if (const auto* act = hostile::findAct(scenario)) {
      tryAct(*act, request.getTo(), context.getResults());
      return kj::READY_NOW;
    }
    auto diff = context.getResults().initDiff();
    if (scenario == "unasked") diff.initPatch(5);
    if (scenario == "long") diff.initPatch(300 << 10);
    if (scenario == "edit") diff.initFiles(1)[0].setEdit(static_cast<schema::GitEdit>(99));
    return kj::READY_NOW;
  }

  kj::Promise<void> show(ShowContext context) override {
    const auto scenario = scenarioOf(context.getParams().getRequest().getCommit());
    if (scenario.empty()) return pass(context, honest_.showRequest());
    context.getResults().initShow().initMessage(scenario == "message" ? 1 << 20 : 1);
    return kj::READY_NOW;
  }

  kj::Promise<void> prepare(PrepareContext context) override {
    const auto change = context.getParams().getChange();
    const auto scenario = scenarioOf(branchOf(change));
    if (scenario.empty()) {
      auto request = honest_.prepareRequest();
      request.setChange(change);
      return context.tailCall(kj::mv(request));
    }
    auto preview = context.getResults().initPreview();
    preview.setTarget("branch:\x1b[2J");
    preview.setState(std::string(scenario == "preview" ? 3 : 64, 'a').c_str());
    return kj::READY_NOW;
  }

  // In the profile that writes.
  kj::Promise<void> run(RunContext context) override {
    const auto change = context.getParams().getChange();
    const auto scenario = scenarioOf(branchOf(change));
    if (scenario.empty()) {
      auto request = honest_.runRequest();
      request.setActionId(context.getParams().getActionId());
      request.setState(context.getParams().getState());
      request.setChange(change);
      return context.tailCall(kj::mv(request));
    }
    if (const auto* act = hostile::findAct(scenario)) {
      tryAct(*act, change.getBranchCreate().getFrom(), context.getResults());
      return kj::READY_NOW;
    }
    if (const auto* breach = hostile::findBreach(scenario)) {
      breach->commit();
      return kj::NEVER_DONE;
    }
    if (scenario == "exit") _exit(0);
    if (scenario != "snapshot") context.getResults().setSnapshot(std::string(40, 'a').c_str());
    context.getResults().initOutcome().setCommit(scenario == "outcome" ? "no name of an object" : "");
    return kj::READY_NOW;
  }

  kj::Promise<void> reconcile(ReconcileContext context) override {
    auto request = honest_.reconcileRequest();
    request.setActionId(context.getParams().getActionId());
    return context.tailCall(kj::mv(request));
  }

 private:
  static capnp::Text::Reader branchOf(schema::GitChange::Reader change) {
    return change.isBranchCreate() ? change.getBranchCreate().getBranch() : capnp::Text::Reader();
  }
  template <typename Context, typename Request>
  static kj::Promise<void> pass(Context& context, Request&& request) {
    request.setRequest(context.getParams().getRequest());
    return context.tailCall(kj::mv(request));
  }

  schema::Repository::Client honest_;
};

class BadGit final : public schema::Git::Server {
 public:
  explicit BadGit(schema::Git::Client honest) : honest_(kj::mv(honest)) {}

  kj::Promise<void> open(OpenContext context) override {
    return honest_.openRequest().send().then(
        [context](capnp::Response<schema::Git::OpenResults>&& opened) mutable {
          if (opened.hasDenial()) return context.getResults().setDenial(opened.getDenial());
          context.getResults().setRepository(kj::heap<BadRepository>(opened.getRepository()));
        });
  }

 private:
  schema::Git::Client honest_;
};

}  // namespace

int main(int count, char** arguments) {
  const auto scope = worker::parseRepositoryScope({arguments + 1, static_cast<std::size_t>(count - 1)});
  std::vector<int> directories;
  for (unsigned i = 0; i < (scope ? scope->directories : 1); ++i)
    directories.push_back(worker::kScope + static_cast<int>(i));
  worker::mustBeStarted("git", directories);
  return worker::guarded([&]() {
    const git::Access access = scope->access;
    setenv("UV_THREADPOOL_SIZE", "1", 1);
    git::startLibrary();
    const std::string workspace = git::pathOf(directories.front());
    sandbox::useBuiltPrograms(git::kPrograms);
    const sandbox::Policy policy = git::policy(access, directories);
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);
    git::Place place = git::locate(workspace, directories);
    sandbox::restrictByLandlock(git::repositoryFiles(access, place.own(access), place.readOnly(access)));
    rpc::Loop loop;
    loop.startBlockingPool();
    rpc::Connection connection(
        loop, rpc::OwnFd(worker::kLine), {.role = rpc::Role::kServer, .maxFdsPerMessage = 0},
        capnp::Capability::Client(kj::heap<BadGit>(git::makeService(loop, std::move(place)))));
    // It lives on without its line, for as long as it is let.
    worker::whenLauncherGone(loop).wait(loop.waitScope());
  });
}
