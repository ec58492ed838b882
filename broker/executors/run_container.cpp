#include "broker/executors/run_container.h"

#include <algorithm>
#include <utility>

#include "broker/actions/view.h"
#include "broker/executors/denials.h"

namespace factionos::broker {
namespace {

using audit::Code;
using schema::ProblemCode;

constexpr std::uint32_t kGraceMs = 3000;  // a shutdown waits for it
constexpr std::uint32_t kOpenFiles = 1024;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint32_t kMilliCpusPerPercent = 10;

// What decides what runs and is no part of the request: the operator's words and the image that they name.
std::string contentOf(const ContainerTarget& target, const EngineFacts& engine) {
  const auto& made = *target.made;
  std::string content;
  const auto add = [&content](std::string_view part) { content.append(part).append(1, '\0'); };
  for (const std::string_view part :
       {std::string_view(made.id), std::string_view(made.image), std::string_view(engine.imageId),
        nameOf(engine.kind).text(), std::string_view(made.auth), std::string_view(target.workspace->path)})
    add(part);
  for (const auto& word : made.command) add(word);
  for (const std::uint64_t number :
       {std::uint64_t{static_cast<unsigned>(made.worktree)}, std::uint64_t{made.memoryMiB},
        std::uint64_t{made.cpuPercent}, std::uint64_t{made.processes}, std::uint64_t{made.temporaryMiB},
        std::uint64_t{engine.rootless}, std::uint64_t{target.timeoutMs}})
    add(std::to_string(number));
  return content;
}

schema::ContainerNetwork networkOf(schema::NetworkProfile network) {
  return network == schema::NetworkProfile::EGRESS ? schema::ContainerNetwork::EGRESS
                                                   : schema::ContainerNetwork::NONE;
}

void fillSpec(const ContainerTarget& target, const EngineFacts& engine,
              const std::vector<MountedDirectory>& mounts, schema::ContainerSpec::Builder spec) {
  const auto& made = *target.made;
  spec.setTemplate(made.id.c_str());
  spec.setImage(made.image.c_str());
  spec.setImageId(engine.imageId.c_str());
  auto argv = spec.initArgv(static_cast<unsigned>(made.command.size()));
  for (unsigned i = 0; i < argv.size(); ++i) argv.set(i, made.command[i].c_str());
  // The workspace is always looked at: whose it is decides who the agent is, also where it is not mounted.
  spec.setUser(mounts.front().uid);
  spec.setGroup(mounts.front().gid);
  auto limits = spec.initLimits();
  limits.setMemoryBytes(made.memoryMiB * kMiB);
  limits.setMilliCpus(made.cpuPercent * kMilliCpusPerPercent);
  limits.setPids(made.processes);
  limits.setOpenFiles(kOpenFiles);
  limits.setTemporaryBytes(made.temporaryMiB * kMiB);
  limits.setTimeoutMs(target.timeoutMs);
  limits.setGraceMs(kGraceMs);
  std::vector<const MountedDirectory*> mounted;
  for (const auto& each : mounts) {
    if (each.access != schema::MountAccess::UNSPECIFIED) mounted.push_back(&each);
  }
  auto list = spec.initMounts(static_cast<unsigned>(mounted.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setRole(mounted[i]->role);
    list[i].setSource(mounted[i]->path.c_str());
    list[i].setAccess(mounted[i]->access);
  }
  spec.setNetwork(networkOf(target.network));
}

schema::MountAccess accessOf(home::AgentTemplate::Worktree worktree) {
  switch (worktree) {
    case home::AgentTemplate::Worktree::kReadWrite:
      return schema::MountAccess::WRITE;
    case home::AgentTemplate::Worktree::kReadOnly:
      return schema::MountAccess::READ;
    case home::AgentTemplate::Worktree::kNone:
      break;
  }
  return schema::MountAccess::UNSPECIFIED;
}

}  // namespace

RunContainer::RunContainer(ContainerExecutor& executor, RunRequest request, Told told)
    : executor_(executor),
      core_(executor.core_),
      operation_(*policy::findOperation(policy::Family::kContainer, "run")),
      request_(std::move(request)),
      told_(std::move(told)) {}

std::optional<Refused> RunContainer::validate() {
  return std::nullopt;  // a target is whole, or there is none
}

policy::Subject RunContainer::subject() const {
  return {.family = policy::Family::kContainer,
          .operation = "run",
          .workspace = workspace(),
          .principal = {},
          .program = policy::Program::none(),
          .network = std::string(actions::nameOf(request_.target.network)),
          .profile = request_.target.made->id};
}

kj::Promise<std::optional<Refused>> RunContainer::prepare() {
  reach(core_.steps, Step::kPrepare, Edge::kBefore);
  return executor_.engines_.facts(request_.target.made->image)
      .then([this](std::vector<EngineFacts>&& engines) -> kj::Promise<std::optional<Refused>> {
        reach(core_.steps, Step::kPrepare, Edge::kAfter);
        if (auto refused = take(engines)) return kj::mv(refused);
        return executor_.lookAt(request_.target, accessOf(request_.target.made->worktree))
            .then([this](Outcome<std::vector<MountedDirectory>>&& looked) -> std::optional<Refused> {
              if (auto* refused = std::get_if<Refused>(&looked))
                return closed({.gate = "worktree", .refused = std::move(*refused)});
              mounts_ = std::get<std::vector<MountedDirectory>>(std::move(looked));
              return std::nullopt;
            });
      });
}

std::optional<Refused> RunContainer::closed(MissingGate missing) const {
  if (!told_) return std::move(missing.refused);
  if (!*told_) *told_ = std::move(missing);
  return std::nullopt;
}

std::optional<Refused> RunContainer::take(const std::vector<EngineFacts>& engines) {
  const auto* engine = chosen(engines);
  if (auto missing = missingGate(request_.target, engine)) {
    if (auto refused = closed(std::move(*missing))) return refused;
  }
  engine_ = engine == nullptr ? EngineFacts{} : *engine;
  const auto& made = *request_.target.made;
  prepared_ = {.basis = {core_.keys.digest(state::Purpose::kContainer,
                                           audit::asBytes(contentOf(request_.target, *engine_)))},
               .risk = std::nullopt,
               .changes = {{.name = Code::of("memory_mib"), .count = made.memoryMiB},
                           {.name = Code::of("cpu_percent"), .count = made.cpuPercent},
                           {.name = Code::of("processes"), .count = made.processes},
                           {.name = Code::of("timeout_seconds"), .count = request_.target.timeoutMs / 1000}},
               .revealed = revealed()};
  // Of the engine that is there; a preview does without.
  if (engine != nullptr)
    prepared_.changes.push_back({.name = Code::of("engine_is_root"), .count = engine->rootless ? 0U : 1U});
  return std::nullopt;
}

// For the operator alone, while the action waits.
std::string RunContainer::revealed() const {
  const auto& made = *request_.target.made;
  std::string text = "template " + made.id + "\nimage " + made.image + "\nworkspace " +
                     request_.target.workspace->path + "\ncommand";
  for (const auto& word : made.command) text += " " + word;
  text += "\n";
  if (!made.auth.empty()) text += "auth " + made.auth + " (read-only)\n";
  return text;
}

// What the approval saw may be gone meanwhile: the directories are looked at once more, as late as it can be.
kj::Promise<EffectEnd> RunContainer::run(const state::ActionRow& action) {
  action_ = action;
  executor_.live_.insert(action.id);
  return executor_.lookAt(request_.target, accessOf(request_.target.made->worktree))
      .then([this](Outcome<std::vector<MountedDirectory>>&& looked) -> kj::Promise<EffectEnd> {
        if (auto* refused = std::get_if<Refused>(&looked)) {
          executor_.live_.erase(action_->id);
          return EffectEnd(Failed{.refused = std::move(*refused), .failure = "mount_refused"});
        }
        mounts_ = std::get<std::vector<MountedDirectory>>(std::move(looked));
        return executor_.engines_.take(engine_->kind)
            .then([this](ContainerEngines::Taken&& taken) -> kj::Promise<EffectEnd> {
              if (auto* refused = std::get_if<Refused>(&taken)) {
                executor_.live_.erase(action_->id);
                return EffectEnd(Failed{.refused = std::move(*refused), .failure = "worker_lost"});
              }
              return start(std::get<std::shared_ptr<EngineWorker>>(std::move(taken)));
            });
      });
}

kj::Promise<EffectEnd> RunContainer::start(std::shared_ptr<EngineWorker> worker) {
  run_ = kj::refcounted<LiveRun>(core_, executor_.engines_, action_->id, action_->principal,
                                 request_.target.timeoutMs, kGraceMs, executor_.masks_);
  capnp::MallocMessageBuilder message;
  auto spec = message.initRoot<schema::ContainerSpec>();
  fillSpec(request_.target, *engine_, mounts_, spec);
  executor_.owners_.fill(action_->id, spec.initOwner());
  return run_->start(std::move(worker), spec.asReader())
      .then([this](std::optional<Refused>&& refused) -> kj::Promise<EffectEnd> {
        if (!refused) return EffectEnd(runs(nullptr));
        return ended(std::move(*refused));
      });
}

// Nobody told that it runs: what of it is there is removed before anybody hears. It may have run all the
// same.
kj::Promise<EffectEnd> RunContainer::ended(Refused refused) {
  return run_->watch()
      .then([this](RunEnding&& ending) {
        return ending.unsettled ? executor_.settled(action_->id, std::move(ending))
                                : kj::Promise<RunEnding>(std::move(ending));
      })
      .then([this, refused = std::move(refused)](RunEnding&& ending) mutable -> EffectEnd {
        if (ending.exitCode && ending.event != actions::Event::kLose) {
          return runs(std::make_shared<RunEnding>(std::move(ending)));
        }
        executor_.live_.erase(action_->id);
        run_->close();
        // Nobody follows it any more: whatever is there is removed in a while.
        if (ending.event == actions::Event::kLose || ending.cleanup.text() == "left") executor_.settleLater();
        if (ending.refused) refused = std::move(*ending.refused);
        if (ending.event == actions::Event::kLose)
          return Failed{.refused = {.code = ProblemCode::TIMED_OUT,
                                    .detail = "Nobody can tell yet whether it ran; it is not run again.",
                                    .state = schema::ActionState::UNKNOWN},
                        .failure = "engine_lost",
                        .event = actions::Event::kLose};
        failure_ = ending.failure ? ending.failure->text() : std::string("engine_refused");
        return Failed{.refused = std::move(refused), .failure = failure_.c_str()};
      });
}

Done RunContainer::runs(std::shared_ptr<RunEnding> ending) {
  const auto runtime = Code::of(nameOf(engine_->kind).text());
  const state::RunRow row{.actionId = action_->id,
                          .runtime = runtime,
                          .cleanup = Code::of("pending"),
                          .started = audit::systemNow()};
  RunRows rows{.action = *action_, .run = row};
  const auto bytes = encodeReply<schema::Api::ContainerRunResults>([&rows](auto results) {
    using R = schema::Api::ContainerRunResults::Builder;
    actions::fillAction(rows.action, {}, results.init(&R::initAction));
    fillRun(rows, results.init(&R::initRun));
  });
  if (ending) {
    auto held = kj::addRef(*run_);
    auto& live = *held;
    executor_.runs_.insert_or_assign(row.actionId, ContainerExecutor::Kept{.run = kj::mv(run_), .row = row});
    executor_.tasks_.add(executor_.record(live, std::move(ending)).attach(kj::mv(held)));
  } else {
    executor_.started(kj::mv(run_), row);
  }
  // Its end writes the row where it comes first.
  const auto also = [row](state::Transaction& transaction) {
    state::RunTable table(transaction.database());
    if (!table.find(row.actionId)) table.insert(row);
  };
  return Done{.life = Done::Life::kGoesOn,
              .status = 201,
              .reply = [bytes](const state::ActionRow&) { return bytes; },
              .also = also};
}

}  // namespace factionos::broker
