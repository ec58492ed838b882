#include "broker/executors/container_executor.h"

#include <algorithm>
#include <utility>

#include "broker/core/log.h"
#include "broker/core/request_digest.h"
#include "broker/executors/clean_containers.h"
#include "broker/executors/denials.h"
#include "broker/executors/run_container.h"
#include "broker/state/task_attempts.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using audit::Code;
using schema::ProblemCode;

// With their output, for readers that come late; older ones are rows of the state alone.
constexpr std::size_t kMaxEnded = 64;

Refused mountRefused(schema::MountRole role, const LaunchDenied& denied) {
  log(Level::kInfo, "mount_refused",
      {{"rule", audit::Label::parse(denied.rule).value_or(audit::Label::of("unknown"))}});
  if (role == schema::MountRole::AUTH)
    return {.code = ProblemCode::SCOPE_VIOLATION,
            .detail = "The template's auth directory is not there, or is none that may be mounted.",
            .field = "template"};
  return {.code = ProblemCode::SCOPE_VIOLATION,
          .detail = "The workspace is not there any more, or is none that may be mounted.",
          .field = "workspace"};
}

// Who ran it went away; not one that broke a rule, or that was told to end.
bool isLost(const RunEnding& ending) {
  return ending.failure &&
         (ending.failure->text() == "worker_lost" || ending.failure->text() == "engine_lost");
}

// The task as it was at this attempt, also once it has gone on to another.
std::optional<state::TaskStanding> taskAt(state::Database& reader, const std::string& actionId) {
  const auto attempt = state::TaskAttempts(reader).find(actionId);
  auto task = attempt ? state::TaskTable(reader).find(attempt->taskId) : std::nullopt;
  if (task) task->row.attempt = attempt->attempt;
  return task;
}

Outcome<RunRequest> requestOf(Core& core, schema::RunContainer::Reader request) {
  auto target = containerTarget(core.config, view(request.getWorkspace()), view(request.getTemplate()),
                                request.getNetworkProfile(), request.getTimeoutMs());
  if (auto* refused = std::get_if<Refused>(&target)) return std::move(*refused);
  return RunRequest{.target = std::get<ContainerTarget>(target),
                    .digest = requestDigest(core.keys, "container.run", request)};
}

}  // namespace

ContainerExecutor::ContainerExecutor(Core& core, ActionBook& actions, ActionRunner& runner, Workers& workers,
                                     const MaskRules& masks, OwnProcess process, kj::Duration settleAgain)
    : core_(core),
      actions_(actions),
      runner_(runner),
      workers_(workers),
      masks_(masks),
      settleAgain_(settleAgain),
      owners_(core.keys, process),
      engines_(core, workers, owners_.instance()),
      tasks_(*this) {}

// A call of a client that is under way holds its run longer than this does, up to the loop's own end.
ContainerExecutor::~ContainerExecutor() noexcept(false) {
  for (auto& [id, kept] : runs_) kept.run->abandon();
}

kj::Promise<Outcome<ContainerExecutor::Previewed>> ContainerExecutor::preview(
    const Caller& caller, schema::RunContainer::Reader request) {
  auto asked = requestOf(core_, request);
  if (auto* refused = std::get_if<Refused>(&asked)) return Outcome<Previewed>(std::move(*refused));
  auto missing = std::make_shared<std::optional<MissingGate>>();
  return runner_
      .preview(caller, kj::heap<RunContainer>(*this, std::get<RunRequest>(std::move(asked)), missing),
               "preview")
      .then([missing](Outcome<Preview>&& outcome) -> Outcome<Previewed> {
        if (auto* refused = std::get_if<Refused>(&outcome)) return std::move(*refused);
        return Previewed{.preview = std::get<Preview>(std::move(outcome)), .missing = *missing};
      });
}

kj::Promise<ActionReply> ContainerExecutor::run(const Caller& caller, std::string key,
                                                schema::RunContainer::Reader request) {
  auto asked = requestOf(core_, request);
  if (auto* refused = std::get_if<Refused>(&asked)) return ActionReply(std::move(*refused));
  auto approval = request.hasApproval() ? Approved::from(request.getApproval()) : std::nullopt;
  return carryOut(caller, std::move(key), std::move(approval), std::get<RunRequest>(std::move(asked)));
}

kj::Promise<ActionReply> ContainerExecutor::carryOut(const Caller& caller, std::string key,
                                                     std::optional<Approved> approval, RunRequest request) {
  return runner_.carryOut(caller, std::move(key), std::move(approval),
                          kj::heap<RunContainer>(*this, std::move(request)));
}

kj::Promise<ActionReply> ContainerExecutor::cleanup(const Caller& caller, std::string key,
                                                    schema::ContainerCleanup::Reader request) {
  auto approval = request.hasApproval() ? Approved::from(request.getApproval()) : std::nullopt;
  return runner_.carryOut(
      caller, std::move(key), std::move(approval),
      kj::heap<CleanContainers>(*this, requestDigest(core_.keys, "container.cleanup", request)));
}

kj::Promise<Outcome<std::vector<MountedDirectory>>> ContainerExecutor::lookAt(const ContainerTarget& target,
                                                                              schema::MountAccess worktree) {
  using Looked = Outcome<MountedDirectory>;
  const auto look = [this](schema::MountRole role, schema::MountAccess access, const std::string& path) {
    return workers_.look(role, path)
        .then(
            [role, access, path](kj::OneOf<LookedAt, LaunchDenied>&& looked) -> Looked {
              if (looked.is<LaunchDenied>()) return mountRefused(role, looked.get<LaunchDenied>());
              const auto& found = looked.get<LookedAt>();
              return MountedDirectory{
                  .role = role, .access = access, .path = path, .uid = found.uid, .gid = found.gid};
            },
            [](kj::Exception&&) -> Looked { return lost(); });
  };
  auto all = kj::Vector<kj::Promise<Looked>>();
  all.add(look(schema::MountRole::WORKSPACE, worktree, target.workspace->path));
  if (!target.made->auth.empty())
    all.add(look(schema::MountRole::AUTH, schema::MountAccess::READ, target.made->auth));
  return kj::joinPromises(all.releaseAsArray())
      .then([](kj::Array<Looked>&& looked) -> Outcome<std::vector<MountedDirectory>> {
        std::vector<MountedDirectory> mounts;
        for (auto& each : looked) {
          if (auto* refused = std::get_if<Refused>(&each)) return std::move(*refused);
          mounts.push_back(std::get<MountedDirectory>(std::move(each)));
        }
        // Root in a container is one fault of the engine away from root outside of it.
        if (mounts.front().uid == 0 || mounts.front().gid == 0)
          return Refused{.code = ProblemCode::SCOPE_VIOLATION,
                         .detail = "The workspace belongs to root, and no container is run as root."};
        return mounts;
      });
}

LiveRun* ContainerExecutor::find(std::string_view actionId) {
  const auto found = runs_.find(actionId);
  return found == runs_.end() ? nullptr : found->second.run.get();
}

void ContainerExecutor::kill(std::string_view actionId, const char* reason) {
  if (auto* run = find(actionId)) {
    run->kill(reason);
  } else if (holds(actionId)) {
    doomed_.insert_or_assign(std::string(actionId), reason);
  }
}

RunRows ContainerExecutor::rowsOf(const state::ActionRow& action) {
  RunRows rows{.action = action,
               .run = state::RunTable(core_.reader).find(action.id),
               .task = taskAt(core_.reader, action.id)};
  const auto found = runs_.find(action.id);
  if (found == runs_.end()) return rows;
  if (!rows.run) rows.run = found->second.row;
  const auto& run = *found->second.run;
  rows.lines = run.lines();
  if (!run.ended())
    rows.counts = state::ActionCounts{.bytesOut = run.totalBytes(), .droppedBytes = run.droppedBytes()};
  return rows;
}

void ContainerExecutor::started(kj::Own<LiveRun> run, state::RunRow row) {
  auto held = kj::addRef(*run);
  runs_.insert_or_assign(row.actionId, Kept{.run = kj::mv(run), .row = row});
  trim();
  core_.changes.touch();
  if (closing_) held->kill("shutdown");
  if (const auto doomed = doomed_.find(row.actionId); doomed != doomed_.end()) {
    held->kill(doomed->second);
    doomed_.erase(doomed);
  }
  tasks_.add(watch(kj::mv(held)));
}

kj::Promise<void> ContainerExecutor::watch(kj::Own<LiveRun> run) {
  auto& live = *run;
  return live.watch()
      .then([this, &live](RunEnding&& ending) {
        return ending.unsettled ? settled(live.actionId(), std::move(ending))
                                : kj::Promise<RunEnding>(std::move(ending));
      })
      .then([this, &live](RunEnding&& ending) {
        return record(live, std::make_shared<RunEnding>(std::move(ending)));
      })
      .attach(kj::mv(run));
}

kj::Promise<RunEnding> ContainerExecutor::settled(const std::string& actionId, RunEnding ending) {
  return settleAnywhere(actionId).then([this, ending = std::move(ending)](Settled&& found) mutable {
    if (found.left) {
      ending.cleanup = Code::of("left");
      ending.event = actions::Event::kLose;
      return std::move(ending);
    }
    // The engine may still be making what a lost worker asked of it.
    settleLater();
    if (found.exitCode) ending.exitCode = found.exitCode;
    if (found.outOfMemory) {
      ending.failure = Code::of("out_of_memory");
    } else if (found.exitCode && isLost(ending)) {
      // It went on to its own end, whoever was lost meanwhile.
      ending.event = found.exitCode == 0 ? actions::Event::kSucceed : actions::Event::kFail;
      ending.failure = found.exitCode == 0 ? std::nullopt : std::optional(Code::of("exit_status"));
    }
    return std::move(ending);
  });
}

kj::Promise<void> ContainerExecutor::record(LiveRun& run, std::shared_ptr<RunEnding> ending) {
  return commit<state::ActionRow>(core_, Step::kOutcome,
                                  [ending, id = run.actionId(), lines = run.lines(),
                                   kept = runs_.at(run.actionId()).row](state::Transaction& transaction) {
                                    state::RunTable table(transaction.database());
                                    auto row = table.find(id);
                                    if (!row) {
                                      row = kept;
                                      table.insert(*row);
                                    }
                                    row->cleanup = ending->cleanup;
                                    row->lines = lines;
                                    row->ended = transaction.now();
                                    table.update(*row);
                                    return actions::apply(transaction, id,
                                                          {.event = ending->event,
                                                           .failure = ending->failure,
                                                           .exitCode = ending->exitCode,
                                                           .counts = ending->counts,
                                                           .note = actions::KeyNote::kDone});
                                  })
      .then([this, &run, ending](Outcome<state::ActionRow>&& outcome) -> kj::Promise<void> {
        if (const auto* refused = refusedIn(outcome)) {
          log(Level::kError, "outcome_not_recorded", {{"action", audit::Label::of(run.actionId())}});
          if (refused->retryAfterMs != 0)
            return core_.timer.afterDelay(kRecordRetry).then([this, &run, ending]() {
              return record(run, ending);
            });
        }
        live_.erase(run.actionId());
        run.close();
        trim();
        if (const auto* row = std::get_if<state::ActionRow>(&outcome)) actions_.changed(*row);
        if (ending->event == actions::Event::kLose || ending->cleanup.text() == "left") settleLater();
        core_.changes.touch();
        return kj::READY_NOW;
      });
}

// The oldest ended ones beyond the bound go; ids are time-ordered.
void ContainerExecutor::trim() {
  auto ended = static_cast<std::size_t>(
      std::ranges::count_if(runs_, [](const auto& each) { return each.second.run->ended(); }));
  for (auto each = runs_.begin(); each != runs_.end() && ended > kMaxEnded;) {
    if (!each->second.run->ended()) {
      ++each;
      continue;
    }
    each = runs_.erase(each);
    --ended;
  }
}

kj::Promise<void> ContainerExecutor::shutdown() {
  closing_ = true;
  past_ = rpc::kNone;
  for (auto& [id, kept] : runs_) kept.run->kill("shutdown");
  return tasks_.onEmpty();
}

void ContainerExecutor::taskFailed(kj::Exception&&) {
  log(Level::kError, "run_watch_failed");
}

}  // namespace factionos::broker
