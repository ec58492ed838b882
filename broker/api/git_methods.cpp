// The methods of the family git: between schema and executor.
#include <sodium.h>

#include "broker/api/answers.h"
#include "broker/api/api_service.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using actions::reply;
using redaction::Boundary;
using schema::ProblemCode;

template <typename Results>
using Found = Outcome<capnp::Response<Results>>;

// What every change has in common; `fill` makes of the request what the worker is asked.
template <typename Request, typename Fill>
GitExecutor::Asked askedFor(const GitExecutor& git, const char* operation, Request request, Fill fill) {
  GitExecutor::Asked asked{
      .operation = operation,
      .workspace = std::string(view(request.getWorkspace())),
      .change = kj::heap<capnp::MallocMessageBuilder>(),
      .digest = git.digestOf(operation, request),
      .approval = request.hasApproval() ? Approved::from(request.getApproval()) : std::nullopt,
      .wrong = std::nullopt};
  fill(asked.change->template initRoot<schema::GitChange>(), asked.wrong);
  return asked;
}

using Change = schema::GitChange::Builder;
using Wrong = std::optional<Refused>;

// Names that are no UTF-8 come as base64; the worker takes bytes.
void decode(capnp::List<capnp::Text>::Reader texts, capnp::List<capnp::Data>::Builder files, Wrong& wrong) {
  for (unsigned i = 0; i < texts.size(); ++i) {
    const auto text = texts[i];
    auto bytes = kj::heapArray<kj::byte>(text.size());
    std::size_t size = 0;
    if (sodium_base642bin(bytes.begin(), bytes.size(), text.begin(), text.size(), nullptr, &size, nullptr,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
      wrong = Refused{
          .code = ProblemCode::INVALID_REQUEST, .detail = "This is no base64.", .field = "filesBase64[]"};
    files.set(i, bytes.slice(0, size));
  }
}

void copyStage(schema::GitStage::Reader request, schema::GitStage::Builder stage, Wrong& wrong) {
  stage.setAll(request.getAll());
  stage.setFiles(request.getFiles());
  decode(request.getFilesBase64(), stage.initFileBytes(request.getFilesBase64().size()), wrong);
}

}  // namespace

kj::Promise<void> ApiService::gitStatus(GitStatusContext context) {
  using Results = schema::Repository::StatusResults;
  return services_.git.status(caller_, context.getParams().getRequest())
      .then([this, context](Found<Results>&& found) mutable {
        if (const auto* refused = refusedIn(found)) return refuse(context, *refused);
        services_.git.view().fillStatus(
            std::get<capnp::Response<Results>>(found).getStatus(),
            reply<Boundary::kApiResponse>(context).init(&ResultsOf<GitStatusContext>::initStatus));
      });
}

kj::Promise<void> ApiService::gitDiff(GitDiffContext context) {
  using Results = schema::Repository::DiffResults;
  return services_.git.diff(caller_, context.getParams().getRequest())
      .then([this, context](Found<Results>&& found) mutable {
        if (const auto* refused = refusedIn(found)) return refuse(context, *refused);
        services_.git.view().fillDiff(
            std::get<capnp::Response<Results>>(found).getDiff(),
            reply<Boundary::kApiResponse>(context).init(&ResultsOf<GitDiffContext>::initDiff));
      });
}

kj::Promise<void> ApiService::gitLog(GitLogContext context) {
  using Results = schema::Repository::LogResults;
  return services_.git.log(caller_, context.getParams().getRequest())
      .then([this, context](Found<Results>&& found) mutable {
        if (const auto* refused = refusedIn(found)) return refuse(context, *refused);
        services_.git.view().fillLog(
            std::get<capnp::Response<Results>>(found).getLog(),
            reply<Boundary::kApiResponse>(context).init(&ResultsOf<GitLogContext>::initLog));
      });
}

kj::Promise<void> ApiService::gitShow(GitShowContext context) {
  using Results = schema::Repository::ShowResults;
  return services_.git.show(caller_, context.getParams().getRequest())
      .then([this, context](Found<Results>&& found) mutable {
        if (const auto* refused = refusedIn(found)) return refuse(context, *refused);
        services_.git.view().fillShow(
            std::get<capnp::Response<Results>>(found).getShow(),
            reply<Boundary::kApiResponse>(context).init(&ResultsOf<GitShowContext>::initShow));
      });
}

kj::Promise<void> ApiService::gitBranches(GitBranchesContext context) {
  using Results = schema::Repository::BranchesResults;
  return services_.git.branches(caller_, context.getParams().getRequest())
      .then([this, context](Found<Results>&& found) mutable {
        if (const auto* refused = refusedIn(found)) return refuse(context, *refused);
        services_.git.view().fillBranches(
            std::get<capnp::Response<Results>>(found).getBranches(),
            reply<Boundary::kApiResponse>(context).init(&ResultsOf<GitBranchesContext>::initBranches));
      });
}

kj::Promise<void> ApiService::gitWorktreeList(GitWorktreeListContext context) {
  using Results = schema::Repository::WorktreesResults;
  return services_.git.worktrees(caller_, context.getParams().getRequest())
      .then([this, context](Found<Results>&& found) mutable {
        if (const auto* refused = refusedIn(found)) return refuse(context, *refused);
        const auto rows = std::get<capnp::Response<Results>>(found).getWorktrees();
        auto list = reply<Boundary::kApiResponse>(context).init(
            &ResultsOf<GitWorktreeListContext>::initWorktrees, rows.size());
        for (unsigned i = 0; i < rows.size(); ++i) services_.git.view().fillWorktree(rows[i], list[i]);
      });
}

template <typename Context, typename Fill>
kj::Promise<void> ApiService::gitChange(Context context, const char* operation, Fill fill) {
  const auto params = context.getParams();
  const auto request = params.getRequest();
  auto asked = askedFor(services_.git, operation, request,
                        [&](Change change, Wrong& wrong) { fill(request, change, wrong); });
  return services_.git.change(caller_, params.getCall().getIdempotencyKey().cStr(), kj::mv(asked))
      .then([this, context](ActionReply&& outcome) mutable { answerAction(context, kj::mv(outcome)); });
}

kj::Promise<void> ApiService::gitStage(GitStageContext context) {
  return gitChange(context, "stage", [](schema::GitStage::Reader request, Change change, Wrong& wrong) {
    copyStage(request, change.initStage(), wrong);
  });
}

kj::Promise<void> ApiService::gitUnstage(GitUnstageContext context) {
  return gitChange(context, "unstage", [](schema::GitStage::Reader request, Change change, Wrong& wrong) {
    copyStage(request, change.initUnstage(), wrong);
  });
}

kj::Promise<void> ApiService::gitCommit(GitCommitContext context) {
  return gitChange(context, "commit", [](auto request, Change change, Wrong&) { change.setCommit(request); });
}

kj::Promise<void> ApiService::gitBranchCreate(GitBranchCreateContext context) {
  return gitChange(context, "branch-create",
                   [](auto request, Change change, Wrong&) { change.setBranchCreate(request); });
}

kj::Promise<void> ApiService::gitCheckout(GitCheckoutContext context) {
  return gitChange(context, "checkout",
                   [](auto request, Change change, Wrong&) { change.setCheckout(request); });
}

kj::Promise<void> ApiService::gitWorktreeAdd(GitWorktreeAddContext context) {
  return gitChange(context, "worktree-add",
                   [](auto request, Change change, Wrong&) { change.setWorktreeAdd(request); });
}

kj::Promise<void> ApiService::gitWorktreeRemove(GitWorktreeRemoveContext context) {
  return gitChange(context, "worktree-remove",
                   [](auto request, Change change, Wrong&) { change.setWorktreeRemove(request); });
}

kj::Promise<void> ApiService::gitFetch(GitFetchContext context) {
  return gitChange(context, "fetch", [](auto request, Change change, Wrong&) { change.setFetch(request); });
}

kj::Promise<void> ApiService::gitPush(GitPushContext context) {
  return gitChange(context, "push", [](auto request, Change change, Wrong&) { change.setPush(request); });
}

kj::Promise<void> ApiService::gitRollback(GitRollbackContext context) {
  return gitChange(context, "rollback",
                   [](auto request, Change change, Wrong&) { change.setRollback(request); });
}

}  // namespace factionos::broker
