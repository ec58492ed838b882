#pragma once

#include <memory>
#include <string>

#include <capnp/dynamic.h>
#include <kj/async.h>

#include "broker/executors/action_runner.h"
#include "broker/executors/git_denials.h"
#include "broker/executors/git_view.h"
#include "broker/executors/scoped_workers.h"
#include "protocol/schemas/api.capnp.h"
#include "protocol/schemas/git.capnp.h"

namespace factionos::broker {

// The family `git`: one worker for each repository that reads, and one that can write as long as something is
// to be changed. Reads are allowed or denied by policy; changes are guarded actions, whose dry run is the
// worker's.
class GitExecutor final : public Reconciler {
 public:
  GitExecutor(Core& core, ActionRunner& runner, Workers& workers, const MaskRules& masks);
  ~GitExecutor() noexcept(false) override;

  template <typename Results>
  using Answer = kj::Promise<Outcome<capnp::Response<Results>>>;
  Answer<schema::Repository::StatusResults> status(const Caller& caller,
                                                   schema::GitStatusRequest::Reader request);
  Answer<schema::Repository::DiffResults> diff(const Caller& caller, schema::GitDiffRequest::Reader request);
  Answer<schema::Repository::LogResults> log(const Caller& caller, schema::GitLogRequest::Reader request);
  Answer<schema::Repository::ShowResults> show(const Caller& caller, schema::GitShowRequest::Reader request);
  Answer<schema::Repository::BranchesResults> branches(const Caller& caller,
                                                       schema::GitBranchesRequest::Reader request);
  Answer<schema::Repository::WorktreesResults> worktrees(const Caller& caller,
                                                         schema::GitWorktreesRequest::Reader request);

  // `change`: the request as the worker is asked; its own fields workspace and approval are the broker's.
  struct Asked {
    const char* operation = "";
    std::string workspace;
    kj::Own<capnp::MallocMessageBuilder> change;
    audit::Digest digest{};
    std::optional<Approved> approval;
    std::optional<Refused> wrong;
  };
  // The stored reply is a GitStageResults, which those of the others equal field by field.
  kj::Promise<ActionReply> change(const Caller& caller, std::string key, Asked asked);
  // The keyed digest of a request without its approval.
  audit::Digest digestOf(const char* operation, capnp::DynamicStruct::Reader request) const;

  kj::Promise<Reconciled> reconcile(const state::ActionRow& action) override;

  const GitView& view() const { return view_; }

 private:
  friend class GitChangeEffect;

  struct Repository {
    std::shared_ptr<ScopedWorker> worker;
    schema::Repository::Client client = nullptr;
  };
  // Opened and judged by the worker. One that was started on another configuration is replaced, once.
  enum class Try { kFirst, kLast };
  kj::Promise<Outcome<Repository>> open(ScopedWorkers& workers, const home::WorkspaceEntry& workspace,
                                        Try which = Try::kFirst);
  // Asks the workspace's worker, once policy has said yes. `make`: repository → request to send; `sound`:
  // whether its answer is one.
  template <typename Results, typename Make, typename Sound>
  Answer<Results> ask(const Caller& caller, const char* operation, capnp::Text::Reader workspace, Make make,
                      Sound sound);
  template <typename Results, typename Sound>
  Answer<Results> answered(ScopedWorkers& workers, std::shared_ptr<ScopedWorker> worker,
                           kj::Promise<capnp::Response<Results>> call, Sound sound);
  template <typename Results, typename Bytes>
  Answer<Results> recorded(const Caller& caller, const char* operation, capnp::Text::Reader workspace,
                           Answer<Results> answer, Bytes bytesOf);
  Reading readingOf(const char* operation, const home::WorkspaceEntry& workspace) const;
  // The worker's dry run. `change` outlives the answer.
  Answer<schema::Repository::PrepareResults> plan(const home::WorkspaceEntry& workspace,
                                                  schema::GitChange::Reader change);
  // What the repository itself says of an action of this operation; nothing: it can't be asked.
  kj::Promise<std::optional<schema::GitVerdict>> verdictOn(const home::WorkspaceEntry& workspace,
                                                           const std::string& actionId,
                                                           std::string_view operation);
  ScopedWorkers& writersFor(std::string_view operation);

  Core& core_;
  ActionRunner& runner_;
  const MaskRules& masks_;
  GitView view_;
  ScopedWorkers readers_;
  ScopedWorkers writers_;
  ScopedWorkers pushers_;
};

}  // namespace factionos::broker
