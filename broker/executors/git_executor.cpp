#include "broker/executors/git_executor.h"

#include <utility>

#include "broker/executors/git_change.h"
#include "broker/executors/git_checks.h"
#include "protocol/json/canonical.h"
#include "protocol/rpc/deadline.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using schema::ProblemCode;

// The worker gives up after 20 s by itself.
constexpr auto kReadLimit = 30 * kj::SECONDS;

policy::Subject subjectOf(const char* operation, std::string workspace) {
  return {.family = policy::Family::kGit,
          .operation = operation,
          .workspace = std::move(workspace),
          .principal = {},
          .program = policy::Program::none(),
          .network = "none",
          .profile = "default"};
}

// Every workspace is a root: a linked worktree's repository, alternates and a local remote may lie in
// another.
ScopedWorkers::FillScope scopeWith(const home::Config& config, schema::RepositoryAccess access) {
  return [&config, access](const home::WorkspaceEntry& workspace, schema::WorkerScope::Builder scope) {
    constexpr std::size_t kMostRoots = 32;
    auto repository = scope.initRepository();
    repository.setWorkspace(workspace.path.c_str());
    repository.setAccess(access);
    std::vector<const home::WorkspaceEntry*> others;
    for (const auto& each : config.workspaces)
      if (each.name != workspace.name && others.size() < kMostRoots) others.push_back(&each);
    auto roots = repository.initRoots(static_cast<unsigned>(others.size()));
    for (unsigned i = 0; i < roots.size(); ++i) roots.set(i, others[i]->path.c_str());
  };
}

using Verdict = std::optional<schema::GitVerdict>;

Refused noWorkspace() {
  return {
      .code = ProblemCode::NOT_FOUND, .detail = "No workspace of this name is known.", .field = "workspace"};
}

// The request outlives its call only as a copy.
template <typename Request>
std::shared_ptr<capnp::MallocMessageBuilder> copied(typename Request::Reader request) {
  auto copy = std::make_shared<capnp::MallocMessageBuilder>();
  copy->setRoot(request);
  return copy;
}

}  // namespace

GitExecutor::GitExecutor(Core& core, ActionRunner& runner, Workers& workers, const MaskRules& masks)
    : core_(core),
      runner_(runner),
      masks_(masks),
      view_(masks),
      readers_(core, workers, schema::Role::GIT, "git",
               scopeWith(core.config, schema::RepositoryAccess::READ)),
      writers_(core, workers, schema::Role::GIT, "git",
               scopeWith(core.config, schema::RepositoryAccess::WRITE)),
      pushers_(core, workers, schema::Role::GIT, "git",
               scopeWith(core.config, schema::RepositoryAccess::PUSH)) {}

GitExecutor::~GitExecutor() noexcept(false) = default;

ScopedWorkers& GitExecutor::writersFor(std::string_view operation) {
  return operation == "push" ? pushers_ : writers_;
}

kj::Promise<Outcome<GitExecutor::Repository>> GitExecutor::open(ScopedWorkers& workers,
                                                                const home::WorkspaceEntry& workspace,
                                                                Try which) {
  using Results = schema::Git::OpenResults;
  using Reply = Outcome<Repository>;
  return workers.take(workspace).then(
      [this, &workers, &workspace,
       which](Outcome<std::shared_ptr<ScopedWorker>>&& taken) -> kj::Promise<Reply> {
        if (auto* refused = std::get_if<Refused>(&taken)) return Reply(std::move(*refused));
        auto worker = std::get<std::shared_ptr<ScopedWorker>>(std::move(taken));
        auto call = kj::Promise<capnp::Response<Results>>(worker->as<schema::Git>().openRequest().send());
        return rpc::withDeadline(core_.timer, kReadLimit, kj::mv(call))
            .then(
                [this, &workers, &workspace, which,
                 worker](capnp::Response<Results>&& response) -> kj::Promise<Reply> {
                  if (!response.hasDenial()) return Reply(Repository{worker, response.getRepository()});
                  // What it was refused for may be mended by the next request.
                  workers.replace(worker);
                  if (isStale(response.getDenial()) && which == Try::kFirst)
                    return open(workers, workspace, Try::kLast);
                  return Reply(gitDenied(response.getDenial()));
                },
                [&workers, worker](kj::Exception&& exception) {
                  return workers.whyLost(worker, exception).then([](Refused&& refused) {
                    return Reply(std::move(refused));
                  });
                });
      });
}

template <typename Results, typename Sound>
GitExecutor::Answer<Results> GitExecutor::answered(ScopedWorkers& workers,
                                                   std::shared_ptr<ScopedWorker> worker,
                                                   kj::Promise<capnp::Response<Results>> call, Sound sound) {
  using Reply = Outcome<capnp::Response<Results>>;
  return rpc::withDeadline(core_.timer, kReadLimit, kj::mv(call))
      .then(
          [&workers, worker, sound](capnp::Response<Results>&& response) -> kj::Promise<Reply> {
            if (response.hasDenial()) {
              if (isStuck(response.getDenial())) workers.replace(worker);
              return Reply(gitDenied(response.getDenial()));
            }
            if (!sound(response)) return Reply(workers.misbehaved(worker, "reply"));
            return Reply(kj::mv(response));
          },
          [&workers, worker](kj::Exception&& exception) {
            return workers.whyLost(worker, exception).then([](Refused&& refused) {
              return Reply(std::move(refused));
            });
          });
}

Reading GitExecutor::readingOf(const char* operation, const home::WorkspaceEntry& workspace) const {
  return {.operation = *policy::findOperation(policy::Family::kGit, operation),
          .subject = subjectOf(operation, workspace.name),
          .target = audit::Label::of("repository")};
}

template <typename Results, typename Make, typename Sound>
GitExecutor::Answer<Results> GitExecutor::ask(const Caller& caller, const char* operation,
                                              capnp::Text::Reader name, Make make, Sound sound) {
  using Reply = Outcome<capnp::Response<Results>>;
  const auto* workspace = core_.config.findWorkspace(::factionos::view(name));
  if (workspace == nullptr) return Reply(noWorkspace());
  return runner_.mayRead(caller, readingOf(operation, *workspace))
      .then([this, workspace, make = kj::mv(make),
             sound](std::optional<Refused>&& blocked) mutable -> kj::Promise<Reply> {
        if (blocked) return Reply(std::move(*blocked));
        return readAgainIfLost([this, workspace, make = kj::mv(make), sound]() mutable {
          return open(readers_, *workspace)
              .then([this, &make, sound](Outcome<Repository>&& opened) -> kj::Promise<Reply> {
                if (auto* refused = std::get_if<Refused>(&opened)) return Reply(std::move(*refused));
                auto& repository = std::get<Repository>(opened);
                auto call = kj::Promise<capnp::Response<Results>>(make(repository.client).send());
                return answered<Results>(readers_, repository.worker, kj::mv(call), sound);
              });
        });
      });
}

// The one selected difference is on record before it is handed out.
template <typename Results, typename Bytes>
GitExecutor::Answer<Results> GitExecutor::recorded(const Caller& caller, const char* operation,
                                                   capnp::Text::Reader name, Answer<Results> answer,
                                                   Bytes bytesOf) {
  using Reply = Outcome<capnp::Response<Results>>;
  const auto* workspace = core_.config.findWorkspace(::factionos::view(name));
  return answer.then([this, caller, operation, workspace, bytesOf](Reply&& reply) -> kj::Promise<Reply> {
    if (std::holds_alternative<Refused>(reply)) return kj::mv(reply);
    const std::uint64_t bytes = bytesOf(std::get<capnp::Response<Results>>(reply));
    if (bytes == 0) return kj::mv(reply);
    return runner_.recordRead(caller, readingOf(operation, *workspace), bytes)
        .then([reply = kj::mv(reply)](std::optional<Refused>&& refused) mutable -> Reply {
          if (refused) return std::move(*refused);
          return kj::mv(reply);
        });
  });
}

GitExecutor::Answer<schema::Repository::StatusResults> GitExecutor::status(
    const Caller& caller, schema::GitStatusRequest::Reader request) {
  return ask<schema::Repository::StatusResults>(
      caller, "status", request.getWorkspace(),
      [copy = copied<schema::GitStatusRequest>(request)](schema::Repository::Client& repository) {
        auto call = repository.statusRequest();
        call.setRequest(copy->getRoot<schema::GitStatusRequest>().asReader());
        return call;
      },
      [most = request.getLimit()](const auto& response) { return isSound(response.getStatus(), most); });
}

GitExecutor::Answer<schema::Repository::DiffResults> GitExecutor::diff(
    const Caller& caller, schema::GitDiffRequest::Reader request) {
  using Results = schema::Repository::DiffResults;
  auto asked = ask<Results>(
      caller, "diff", request.getWorkspace(),
      [copy = copied<schema::GitDiffRequest>(request)](schema::Repository::Client& repository) {
        auto call = repository.diffRequest();
        call.setRequest(copy->getRoot<schema::GitDiffRequest>().asReader());
        return call;
      },
      [most = request.getLimit(), content = request.hasFile()](const auto& response) {
        return isSound(response.getDiff(), most) && (content || !response.getDiff().hasPatch());
      });
  return recorded<Results>(caller, "diff", request.getWorkspace(), kj::mv(asked),
                           [](const auto& response) { return response.getDiff().getPatch().size(); });
}

GitExecutor::Answer<schema::Repository::LogResults> GitExecutor::log(const Caller& caller,
                                                                     schema::GitLogRequest::Reader request) {
  return ask<schema::Repository::LogResults>(
      caller, "log", request.getWorkspace(),
      [copy = copied<schema::GitLogRequest>(request)](schema::Repository::Client& repository) {
        auto call = repository.logRequest();
        call.setRequest(copy->getRoot<schema::GitLogRequest>().asReader());
        return call;
      },
      [most = request.getLimit()](const auto& response) { return isSound(response.getLog(), most); });
}

GitExecutor::Answer<schema::Repository::ShowResults> GitExecutor::show(
    const Caller& caller, schema::GitShowRequest::Reader request) {
  using Results = schema::Repository::ShowResults;
  auto asked = ask<Results>(
      caller, "show", request.getWorkspace(),
      [copy = copied<schema::GitShowRequest>(request)](schema::Repository::Client& repository) {
        auto call = repository.showRequest();
        call.setRequest(copy->getRoot<schema::GitShowRequest>().asReader());
        return call;
      },
      [most = request.getLimit(), content = request.hasFile()](const auto& response) {
        return isSound(response.getShow(), most) && (content || !response.getShow().getDiff().hasPatch());
      });
  return recorded<Results>(caller, "show", request.getWorkspace(), kj::mv(asked), [](const auto& response) {
    return response.getShow().getDiff().getPatch().size();
  });
}

GitExecutor::Answer<schema::Repository::BranchesResults> GitExecutor::branches(
    const Caller& caller, schema::GitBranchesRequest::Reader request) {
  return ask<schema::Repository::BranchesResults>(
      caller, "branches", request.getWorkspace(),
      [copy = copied<schema::GitBranchesRequest>(request)](schema::Repository::Client& repository) {
        auto call = repository.branchesRequest();
        call.setRequest(copy->getRoot<schema::GitBranchesRequest>().asReader());
        return call;
      },
      [most = request.getLimit()](const auto& response) { return isSound(response.getBranches(), most); });
}

GitExecutor::Answer<schema::Repository::WorktreesResults> GitExecutor::worktrees(
    const Caller& caller, schema::GitWorktreesRequest::Reader request) {
  return ask<schema::Repository::WorktreesResults>(
      caller, "worktree-list", request.getWorkspace(),
      [](schema::Repository::Client& repository) { return repository.worktreesRequest(); },
      [](const auto& response) { return isSound(response.getWorktrees()); });
}

audit::Digest GitExecutor::digestOf(const char* operation, capnp::DynamicStruct::Reader request) const {
  constexpr std::array<std::string_view, 1> kNotPart = {"approval"};
  const auto bytes = json::canonicalBytes(request, kNotPart);
  std::string content = "git." + std::string(operation);
  content.append(1, '\0').append(bytes.asChars().begin(), bytes.size());
  return core_.keys.digest(state::Purpose::kRequest, audit::asBytes(content));
}

kj::Promise<ActionReply> GitExecutor::change(const Caller& caller, std::string key, Asked asked) {
  const auto* workspace = core_.config.findWorkspace(asked.workspace);
  if (workspace == nullptr) return ActionReply(noWorkspace());
  auto approval = std::move(asked.approval);
  return runner_.carryOut(caller, std::move(key), std::move(approval),
                          kj::heap<GitChangeEffect>(*this, *workspace, kj::mv(asked)));
}

GitExecutor::Answer<schema::Repository::PrepareResults> GitExecutor::plan(
    const home::WorkspaceEntry& workspace, schema::GitChange::Reader change) {
  using Results = schema::Repository::PrepareResults;
  using Reply = Outcome<capnp::Response<Results>>;
  return readAgainIfLost([this, &workspace, change]() {
           return open(readers_, workspace)
               .then([this, change](Outcome<Repository>&& opened) -> kj::Promise<Reply> {
                 if (auto* refused = std::get_if<Refused>(&opened)) return Reply(std::move(*refused));
                 auto& repository = std::get<Repository>(opened);
                 auto call = repository.client.prepareRequest();
                 call.setChange(change);
                 reach(core_.steps, Step::kPrepare, Edge::kBefore);
                 return answered<Results>(
                     readers_, repository.worker, kj::Promise<capnp::Response<Results>>(call.send()),
                     [](const auto& response) { return isSound(response.getPreview()); });
               });
         })
      .then([this](Reply&& reply) {
        reach(core_.steps, Step::kPrepare, Edge::kAfter);
        return kj::mv(reply);
      });
}

kj::Promise<std::optional<schema::GitVerdict>> GitExecutor::verdictOn(const home::WorkspaceEntry& workspace,
                                                                      const std::string& actionId,
                                                                      std::string_view operation) {
  using Results = schema::Repository::ReconcileResults;
  auto& workers = writersFor(operation);
  return askedUpTo(kVerdictAttempts, core_.timer, [this, &workers, &workspace, actionId]() {
    return open(workers, workspace)
        .then([this, &workers, actionId](Outcome<Repository>&& opened) -> kj::Promise<Verdict> {
          if (std::holds_alternative<Refused>(opened)) return Verdict();
          auto& repository = std::get<Repository>(opened);
          auto call = repository.client.reconcileRequest();
          call.setActionId(actionId.c_str());
          return rpc::withDeadline(core_.timer, kReadLimit,
                                   kj::Promise<capnp::Response<Results>>(call.send()))
              .then(
                  [](capnp::Response<Results>&& response) -> kj::Promise<Verdict> {
                    return response.hasDenial() ? Verdict() : Verdict(response.getVerdict());
                  },
                  [&workers, worker = repository.worker](kj::Exception&& exception) {
                    return workers.whyLost(worker, exception).then([](Refused&&) { return Verdict(); });
                  })
              .attach(kj::mv(repository.worker));
        })
        .catch_([](kj::Exception&&) { return Verdict(); });
  });
}

kj::Promise<Reconciler::Reconciled> GitExecutor::reconcile(const state::ActionRow& action) {
  const auto* workspace = action.workspace ? core_.config.findWorkspace(action.workspace->text()) : nullptr;
  if (workspace == nullptr) return Reconciled(Found::kCantTell);
  return verdictOn(*workspace, action.id, action.operation.text())
      .then([](std::optional<schema::GitVerdict> verdict) -> Reconciled {
        if (!verdict) return Found::kCantTell;
        return *verdict == schema::GitVerdict::SUCCEEDED ? Found::kHappened : Found::kDidNotHappen;
      });
}

}  // namespace factionos::broker
