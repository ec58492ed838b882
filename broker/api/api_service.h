#pragma once

#include <cstdint>
#include <vector>

#include "broker/actions/view.h"
#include "broker/api/answers.h"
#include "broker/api/request_table.h"
#include "broker/api/services.h"

namespace factionos::broker {

// The REST surface for one principal on one front. What a caller may ask is the request table's word, checked
// before any method runs; the methods translate between schema and services and decide nothing.
class ApiService final : public schema::Api::Server {
 public:
  ApiService(Services& services, const RequestTable& table, Caller caller);

  DispatchCallResult dispatchCall(std::uint64_t interfaceId, std::uint16_t methodId,
                                  capnp::CallContext<capnp::AnyPointer, capnp::AnyPointer> context) override;

 protected:
  kj::Promise<void> eventPost(EventPostContext context) override;
  kj::Promise<void> actionList(ActionListContext context) override;
  kj::Promise<void> actionGet(ActionGetContext context) override;
  kj::Promise<void> actionApprove(ActionApproveContext context) override;
  kj::Promise<void> actionReject(ActionRejectContext context) override;
  kj::Promise<void> terminalPreview(TerminalPreviewContext context) override;
  kj::Promise<void> terminalRun(TerminalRunContext context) override;
  kj::Promise<void> sessionGet(SessionGetContext context) override;
  kj::Promise<void> sessionInput(SessionInputContext context) override;
  kj::Promise<void> sessionResize(SessionResizeContext context) override;
  kj::Promise<void> sessionKill(SessionKillContext context) override;
  kj::Promise<void> sessionRestart(SessionRestartContext context) override;
  kj::Promise<void> fileList(FileListContext context) override;
  kj::Promise<void> fileStat(FileStatContext context) override;
  kj::Promise<void> fileRead(FileReadContext context) override;
  kj::Promise<void> fileWrite(FileWriteContext context) override;
  kj::Promise<void> fileEdit(FileEditContext context) override;
  kj::Promise<void> fileDiff(FileDiffContext context) override;
  kj::Promise<void> fileDelete(FileDeleteContext context) override;
  kj::Promise<void> fileRestore(FileRestoreContext context) override;
  kj::Promise<void> containerReadiness(ContainerReadinessContext context) override;
  kj::Promise<void> containerPreview(ContainerPreviewContext context) override;
  kj::Promise<void> containerRun(ContainerRunContext context) override;
  kj::Promise<void> runList(RunListContext context) override;
  kj::Promise<void> runGet(RunGetContext context) override;
  kj::Promise<void> runKill(RunKillContext context) override;
  kj::Promise<void> containerCleanup(ContainerCleanupContext context) override;
  kj::Promise<void> taskCreate(TaskCreateContext context) override;
  kj::Promise<void> taskList(TaskListContext context) override;
  kj::Promise<void> taskGet(TaskGetContext context) override;
  kj::Promise<void> taskDispatch(TaskDispatchContext context) override;
  kj::Promise<void> taskCancel(TaskCancelContext context) override;
  kj::Promise<void> taskRetry(TaskRetryContext context) override;
  kj::Promise<void> campaignCreate(CampaignCreateContext context) override;
  kj::Promise<void> campaignList(CampaignListContext context) override;
  kj::Promise<void> campaignGet(CampaignGetContext context) override;
  kj::Promise<void> campaignDispatch(CampaignDispatchContext context) override;
  kj::Promise<void> campaignCancel(CampaignCancelContext context) override;
  kj::Promise<void> auditList(AuditListContext context) override;
  kj::Promise<void> auditVerify(AuditVerifyContext context) override;

  // git_methods.cpp
  kj::Promise<void> gitStatus(GitStatusContext context) override;
  kj::Promise<void> gitDiff(GitDiffContext context) override;
  kj::Promise<void> gitLog(GitLogContext context) override;
  kj::Promise<void> gitShow(GitShowContext context) override;
  kj::Promise<void> gitBranches(GitBranchesContext context) override;
  kj::Promise<void> gitWorktreeList(GitWorktreeListContext context) override;
  kj::Promise<void> gitStage(GitStageContext context) override;
  kj::Promise<void> gitUnstage(GitUnstageContext context) override;
  kj::Promise<void> gitCommit(GitCommitContext context) override;
  kj::Promise<void> gitBranchCreate(GitBranchCreateContext context) override;
  kj::Promise<void> gitCheckout(GitCheckoutContext context) override;
  kj::Promise<void> gitWorktreeAdd(GitWorktreeAddContext context) override;
  kj::Promise<void> gitWorktreeRemove(GitWorktreeRemoveContext context) override;
  kj::Promise<void> gitFetch(GitFetchContext context) override;
  kj::Promise<void> gitPush(GitPushContext context) override;
  kj::Promise<void> gitRollback(GitRollbackContext context) override;

 private:
  std::optional<redaction::PublicBytes> nonceFor(const state::ActionRow& row);
  bool mayRead(const LiveSession& session) const;
  // `operation`: of the family terminal.
  policy::Subject subjectOf(const LiveSession& session, const char* operation) const;
  template <typename Context>
  void answerAction(Context& context, ActionReply&& outcome);
  template <typename Context>
  void answerStored(Context& context, Outcome<StoredReply>&& outcome);
  template <typename Context, typename Give>
  kj::Promise<void> give(Context context, Give method);
  // `action`: a run; null: of no workspace. `operation`: of the family container.
  policy::Subject containerSubject(const state::ActionRow* action, const char* operation) const;
  std::optional<state::ActionRow> findRun(std::string_view id) const;
  bool maySee(const state::TaskRow& task) const;
  bool maySee(const CampaignRows& campaign) const;
  template <typename Context, typename Fill>
  kj::Promise<void> gitChange(Context context, const char* operation, Fill fill);
  template <typename Results, typename Context>
  kj::Promise<void> decide(Context context, schema::Verdict verdict);
  // An operation on a live session of the caller's own, once for each key. `operate` runs at most once.
  template <typename Context, typename Operate>
  kj::Promise<void> onSession(Context context, const char* operation, Operate operate);

  Services& services_;
  const RequestTable& table_;
  Caller caller_;
  std::vector<std::uint32_t> inFlight_;
};

template <typename Context>
void ApiService::answerAction(Context& context, ActionReply&& outcome) {
  if (const auto* refused = std::get_if<Refused>(&outcome)) return refuse(context, *refused);
  if (const auto* waits = std::get_if<ActionWaits>(&outcome)) {
    using R = ResultsOf<Context>;
    // What asks nobody has no action in its results, and never waits.
    if constexpr (requires { &R::initAction; }) {
      auto results = actions::reply<redaction::Boundary::kApiResponse>(context);
      results.init(&R::initMeta).set(&schema::ReplyMeta::Builder::setStatus, 202);
      actions::fillAction(waits->row, nonceFor(waits->row), results.init(&R::initAction));
    }
    return;
  }
  answerStored(context, Outcome<StoredReply>(std::get<StoredReply>(std::move(outcome))));
}

template <typename Context>
void ApiService::answerStored(Context& context, Outcome<StoredReply>&& outcome) {
  if (const auto* refused = refusedIn(outcome)) return refuse(context, *refused);
  const auto& stored = std::get<StoredReply>(outcome);
  using Results = typename std::decay_t<decltype(context.getResults())>::Builds;
  answerWith<Results>(context, stored.bytes, stored.status, stored.replay);
}

}  // namespace factionos::broker
