#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <kj/async.h>

#include "broker/core/action_book.h"
#include "broker/executors/action_runner.h"
#include "broker/executors/container_engines.h"
#include "broker/executors/container_owner.h"
#include "broker/executors/container_target.h"
#include "broker/executors/live_run.h"
#include "broker/executors/run_view.h"

namespace factionos::broker {

// What a run was asked for, whoever asked.
struct RunRequest {
  ContainerTarget target;
  audit::Digest digest;            // of the request, Purpose::kRequest
  std::vector<std::string> locks;  // of a task: its own
  Effect::Also onProposal;         // as Effect has them; empty: nothing
  Effect::Also onIntent;
};

// A directory that the launcher has looked at, and whose it is.
struct MountedDirectory {
  schema::MountRole role = schema::MountRole::UNSPECIFIED;
  schema::MountAccess access = schema::MountAccess::READ;
  std::string path;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

// The family `container`. Runs go on when their request has been answered; what became of them is in the
// state, their output in memory.
class ContainerExecutor final : public Reconciler, private kj::TaskSet::ErrorHandler {
 public:
  ContainerExecutor(Core& core, ActionBook& actions, ActionRunner& runner, Workers& workers,
                    const MaskRules& masks, OwnProcess process, kj::Duration settleAgain = kSettleAgain);
  // Until the engines are asked once more: an engine goes on with what somebody asked of it who is gone, for
  // no longer than it takes to make a container.
  static constexpr auto kSettleAgain = 15 * kj::SECONDS;
  ~ContainerExecutor() noexcept(false) override;

  struct Previewed {
    Preview preview;
    std::optional<MissingGate> missing;
  };
  kj::Promise<Outcome<Previewed>> preview(const Caller& caller, schema::RunContainer::Reader request);
  kj::Promise<ActionReply> run(const Caller& caller, std::string key, schema::RunContainer::Reader request);
  // The same for what a task or a campaign asks: there is no other way to an engine.
  kj::Promise<ActionReply> carryOut(const Caller& caller, std::string key, std::optional<Approved> approval,
                                    RunRequest request);
  kj::Promise<ActionReply> cleanup(const Caller& caller, std::string key,
                                   schema::ContainerCleanup::Reader request);

  // Null: no such run lives, or is remembered with its output.
  LiveRun* find(std::string_view actionId);
  // Ends a run of this broker; one that is not there has ended. `reason`: static storage.
  void kill(std::string_view actionId, const char* reason);
  RunRows rowsOf(const state::ActionRow& action);

  ContainerEngines& engines() { return engines_; }
  // Whether anything can be run at all, as far as it is known without asking.
  bool configured() const { return !engines_.configured().empty(); }

  // Looks up, in the background and again until nothing is left to ask, how runs of an earlier broker ended,
  // and removes what they left.
  void settleThePast();
  kj::Promise<Reconciled> reconcile(const state::ActionRow& action) override;

  // Ends every run and resolves when each outcome is recorded. The runner is closed before.
  kj::Promise<void> shutdown();

 private:
  friend class RunContainer;
  friend class CleanContainers;
  void taskFailed(kj::Exception&& exception) override;
  void started(kj::Own<LiveRun> run, state::RunRow row);
  // What a run would mount, judged by the launcher now; the workspace first, also where it is not mounted.
  kj::Promise<Outcome<std::vector<MountedDirectory>>> lookAt(const ContainerTarget& target,
                                                             schema::MountAccess worktree);
  kj::Promise<void> watch(kj::Own<LiveRun> run);
  // What became of the container behind a run whose worker was lost.
  kj::Promise<RunEnding> settled(const std::string& actionId, RunEnding ending);
  kj::Promise<void> record(LiveRun& run, std::shared_ptr<RunEnding> ending);
  void trim();

  struct Settled {
    bool gone = false;  // nothing of it is there, for sure
    bool left = false;  // something is, or nobody can tell
    std::optional<std::int32_t> exitCode;
    bool outOfMemory = false;
  };
  kj::Promise<Settled> settle(schema::EngineKind kind, const std::string& actionId);
  kj::Promise<Settled> settleAnywhere(const std::string& actionId);
  struct Swept {
    std::uint32_t removed = 0;
    std::uint32_t left = 0;
    bool unreachable = false;
    bool ours = false;  // of those left, some are: they are to be asked about again
  };
  kj::Promise<Swept> sweep();
  kj::Promise<Swept> sweep(schema::EngineKind kind);
  kj::Promise<Swept> sweepFrom(schema::EngineKind kind, std::vector<std::string> actions, std::size_t index,
                               Swept swept);
  kj::Promise<void> settleAgain();
  void settleLater();  // in a while: what can't be told or removed now may be then
  kj::Promise<void> markRemoved(std::string actionId);
  bool holds(std::string_view actionId) const { return live_.contains(std::string(actionId)); }

  Core& core_;
  ActionBook& actions_;
  ActionRunner& runner_;
  Workers& workers_;
  const MaskRules& masks_;
  const kj::Duration settleAgain_;
  ContainerOwners owners_;
  ContainerEngines engines_;
  struct Kept {
    kj::Own<LiveRun> run;
    state::RunRow row;
  };
  std::map<std::string, Kept, std::less<>> runs_;  // by action: live ones and the last that ended
  std::set<std::string> live_;                     // actions whose container is being made or runs
  std::map<std::string, const char*, std::less<>>
      doomed_;  // asked to end while they were being made, and why
  bool closing_ = false;
  kj::Maybe<kj::Promise<void>> past_;  // what settleThePast() began
  kj::TaskSet tasks_;
};

}  // namespace factionos::broker
