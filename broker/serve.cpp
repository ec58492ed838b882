#include "broker/serve.h"

#include <csignal>
#include <cstdio>

#include <unistd.h>

#include "broker/api/gate.h"
#include "broker/api/operator_door.h"
#include "broker/api/tokens.h"
#include "broker/audit/reader.h"
#include "broker/core/log.h"
#include "broker/recovery.h"
#include "broker/state/meta_table.h"
#include "protocol/rpc/loop.h"
#include "sandbox/events.h"

namespace factionos::broker {
namespace {

constexpr std::chrono::milliseconds kAdoptedLimit{5000};
// How often the clock of idempotency is made durable: what a crash may take from a key's life.
constexpr auto kLivedInterval = 60 * kj::SECONDS;

struct Opened {
  audit::AuditPaths paths;
  std::unique_ptr<state::Database> writerDatabase;
  std::unique_ptr<audit::AuditLog> log;
  std::unique_ptr<state::Database> reader;
  std::unique_ptr<state::Keys> keys;
};

Opened openState(const home::Home& home, audit::Anchor* anchor, const Seams& seams) {
  const std::filesystem::path folder = std::filesystem::path(home.path()) / "state";
  Opened opened;
  opened.paths = {.stateDirectory = folder};
  opened.keys = std::make_unique<state::Keys>(state::Keys::load(folder / "keys"));
  opened.writerDatabase = std::make_unique<state::Database>(folder / "state.db", state::Access::kReadWrite);
  opened.log = audit::AuditLog::open(opened.paths,
                                     {.faults = seams.writes,
                                      .anchor = anchor,
                                      .committedThrough = state::committedThrough(*opened.writerDatabase)});
  opened.reader = std::make_unique<state::Database>(folder / "state.db", state::Access::kReadOnly);
  return opened;
}

identity::PublicKey firstAuditKey(const audit::AuditPaths& paths) {
  const auto lines = audit::list(paths, 0, 1);
  if (lines.empty() || !std::holds_alternative<audit::Genesis>(lines.front().body))
    throw StartRefused("the audit does not begin as it should; run 'factionos audit verify'", 1);
  return std::get<audit::Genesis>(lines.front().body).key;
}

std::uint64_t raiseEpoch(state::Writer& writer, const Seams& seams) {
  std::uint64_t epoch = 0;
  reach(seams.steps, Step::kRaiseEpoch, Edge::kBefore);
  auto result = writer.runBatch({[&epoch](state::Transaction& transaction) {
    epoch = state::MetaTable(transaction.database()).raise(state::Counter::kBootEpoch);
  }});
  if (result.errors.front()) std::rethrow_exception(result.errors.front());
  reach(seams.steps, Step::kRaiseEpoch, Edge::kAfter);
  return epoch;
}

// The event records of the launcher itself: it has no other voice.
kj::Promise<void> watchEvents(rpc::Loop& loop, int fd) {
  return loop.waitReadable(fd).then([&loop, fd]() -> kj::Promise<void> {
    sandbox::EventBytes bytes{};
    const auto size = ::read(fd, bytes.data(), bytes.size());
    // The pipe ends with the launcher, which its line tells too.
    if (size == 0) return kj::Promise<void>(kj::NEVER_DONE);
    if (size == static_cast<ssize_t>(bytes.size())) {
      if (const auto event = sandbox::parseEvent(bytes); event && event->code != sandbox::EventCode::kEntered)
        log(Level::kError, "launcher_event",
            {{"code", static_cast<std::uint64_t>(event->code)}, {"first", event->numbers[0]}});
    }
    return watchEvents(loop, fd);
  });
}

kj::Promise<void> keepLived(Core& core, const audit::AuditLog& audit) {
  return core.timer.afterDelay(kLivedInterval).then([&core, &audit]() {
    if (!audit.anchored()) log(Level::kError, "audit_anchor_failed");
    const auto now = core.lived.now();
    return commit<bool>(core, Step::kLived,
                        [&core, now](state::Transaction& transaction) {
                          state::MetaTable(transaction.database())
                              .set(state::Counter::kLivedMs, static_cast<std::uint64_t>(now.ms));
                          core.idempotency.purge(transaction, now, 1000);
                          return true;
                        })
        .then([&core, &audit](Outcome<bool>&&) { return keepLived(core, audit); });
  });
}

kj::Promise<void> reloadOnHangup(rpc::Loop& loop, Core& core, RuleBook& rules) {
  return loop.onSignal(SIGHUP).then([&loop, &core, &rules](int) {
    return rules.reload(core).then([&loop, &core, &rules](home::Result<std::uint64_t>&& result) {
      if (result) {
        log(Level::kInfo, "policy_reloaded", {{"revision", *result}});
      } else {
        log(Level::kError, "policy_refused");
      }
      return reloadOnHangup(loop, core, rules);
    });
  });
}

struct LogErrors final : public kj::TaskSet::ErrorHandler {
  void taskFailed(kj::Exception&&) override { log(Level::kError, "background_task_failed"); }
};

std::optional<Unready> noSandbox(const Readiness& readiness) {
  const redaction::Literal reason = readiness.whyNoSandbox();
  if (reason.empty()) return std::nullopt;
  return Unready{.reason = reason, .refused = {.code = schema::ProblemCode::SANDBOX_UNAVAILABLE}};
}

std::optional<Unready> notMasked(const MaskRules& masks) {
  if (masks.coverage().refused == 0) return std::nullopt;
  return Unready{.reason = "secrets_not_masked",
                 .refused = {.code = schema::ProblemCode::SANDBOX_UNAVAILABLE,
                             .detail = "A file in tokens/ of the home can't be masked in output, so nothing "
                                       "that could show it is started."}};
}

std::optional<Unready> noEngine(const home::Config& config) {
  if (!config.engines.docker.empty() || !config.engines.podman.empty()) return std::nullopt;
  return Unready{.reason = "no_engine_configured",
                 .refused = {.code = schema::ProblemCode::ENGINE_UNAVAILABLE,
                             .detail = "config.toml names no container engine: install one, best a rootless "
                                       "one, and name its socket in [engines]; see docs/container-runs.md."}};
}

// The families that this build has. All three outlive the table.
ExecutorTable executorTable(const Readiness& readiness, const MaskRules& masks, const home::Config& config) {
  ExecutorTable table;
  table.add(policy::Family::kTerminal, [&readiness, &masks]() -> std::optional<Unready> {
    if (auto unready = noSandbox(readiness)) return unready;
    if (!readiness.pty())
      return Unready{.reason = "pty_unavailable", .refused = {.code = schema::ProblemCode::PTY_UNAVAILABLE}};
    return notMasked(masks);
  });
  table.add(policy::Family::kFile, [&readiness, &masks]() -> std::optional<Unready> {
    if (auto unready = noSandbox(readiness)) return unready;
    return notMasked(masks);
  });
  table.add(policy::Family::kGit, [&readiness, &masks]() -> std::optional<Unready> {
    if (auto unready = noSandbox(readiness)) return unready;
    return notMasked(masks);
  });
  table.add(policy::Family::kContainer, [&readiness, &masks, &config]() -> std::optional<Unready> {
    if (auto unready = noSandbox(readiness)) return unready;
    if (auto unready = noEngine(config)) return unready;
    return notMasked(masks);
  });
  return table;
}

redaction::Literal wordOf(sandbox::AuditReading reading) {
  switch (reading) {
    case sandbox::AuditReading::kRead:
      return "read";
    case sandbox::AuditReading::kNoCapability:
      return "no_capability";
    case sandbox::AuditReading::kNotEnabled:
      return "not_enabled";
    case sandbox::AuditReading::kNoRecords:
      break;
  }
  return "kernel_without";
}

enum class End { kSignal, kLauncherLost, kFrontRefused };

}  // namespace

int serve(Gathered gathered) {
  auto opened = openState(gathered.home, gathered.anchor, gathered.seams);
  const auto identity = firstAuditKey(opened.paths);
  state::Writer writer(*opened.writerDatabase, *opened.log, audit::systemNow, gathered.seams.writes);
  const auto epoch = raiseEpoch(writer, gathered.seams);
  const idempotency::Idempotency idempotency(
      *opened.keys, epoch, std::chrono::milliseconds(gathered.config.limits.idempotencyTtl).count());
  const idempotency::LivedClock lived(state::MetaTable(*opened.reader).get(state::Counter::kLivedMs));
  RuleBook rules(gathered.home, *opened.keys, std::move(gathered.rules),
                 gathered.operatorKey ? policy::Approver::kPresent : policy::Approver::kAbsent);
  Recovered recovered;
  reach(gathered.seams.steps, Step::kRecover, Edge::kBefore);
  auto restored = writer.runBatch({[&](state::Transaction& transaction) {
    rules.restore(transaction);
    recovered = recover(transaction, idempotency, lived.now());
  }});
  if (restored.errors.front()) std::rethrow_exception(restored.errors.front());
  reach(gathered.seams.steps, Step::kRecover, Edge::kAfter);
  if (recovered.actions != 0)
    log(Level::kWarning, "recovered", {{"actions", recovered.actions}, {"keys", recovered.keys}});

  rpc::Loop loop;
  // Signals are taken by descriptor, before the pool's threads exist.
  auto terminate = loop.onSignal(SIGTERM);
  auto interrupt = loop.onSignal(SIGINT);
  state::IdGenerator ids(audit::systemNow,
                         std::max(state::ActionTable(*opened.reader).newest().value_or(state::Time{}),
                                  state::TaskTable(*opened.reader).newest().value_or(state::Time{})));
  state::AsyncWriter asyncWriter(
      writer, [&loop](kj::Function<void()> job) { return loop.blocking(kj::mv(job)); }, loop.timer());
  Pulse changes;
  Health health;
  const std::string scratch = gathered.home.path() + "/run/scratch";
  Core core{.loop = loop,
            .timer = loop.timer(),
            .reader = *opened.reader,
            .writer = asyncWriter,
            .keys = *opened.keys,
            .ids = ids,
            .idempotency = idempotency,
            .lived = lived,
            .auditPaths = opened.paths,
            .home = gathered.home,
            .config = gathered.config,
            .scratch = scratch,
            .apiPort = gathered.listeners.port,
            .changes = changes,
            .health = health,
            .steps = gathered.seams.steps};
  LogErrors errors;
  kj::TaskSet background(errors);
  background.add(reloadOnHangup(loop, core, rules));
  loop.startBlockingPool();
  background.add(keepLived(core, *opened.log));
  background.add(watchEvents(loop, gathered.launcher.events.get()));

  Workers workers(loop, rpc::OwnFd(gathered.launcher.line.release()), gathered.seams.steps);
  End end = End::kSignal;
  // From here on a launcher that is lost ends the broker, whatever it was doing.
  auto lost = workers.lost().then([]() { return End::kLauncherLost; });
  Readiness readiness;
  try {
    workers.setEngines(gathered.config.engines).wait(loop.waitScope());
    readiness = Readiness::from(workers.support().wait(loop.waitScope()).getSupport());
  } catch (const kj::Exception&) {
    log(Level::kError, "launcher_does_not_answer");
    gathered.adopted.endAll(kAdoptedLimit);
    return 1;
  }

  identity::TokenIndex tokens(std::move(gathered.tokenKey));
  loadTokens(*opened.reader, tokens);
  auto uids = identity::UidTable::fromConfig(gathered.config, ::geteuid());
  ActionBook actions(core);
  SessionBook sessions;
  const auto executors = executorTable(readiness, gathered.masks, gathered.config);
  ActionRunner runner(core, actions, rules, executors);
  TerminalExecutor terminal(core, actions, runner, sessions, workers, gathered.masks);
  FileExecutor files(core, runner, workers, gathered.masks);
  ContainerExecutor containers(core, actions, runner, workers, gathered.masks, gathered.process,
                               gathered.seams.settleAgain.value_or(ContainerExecutor::kSettleAgain));
  TaskQueue tasks(core, rules, containers);
  GitExecutor git(core, runner, workers, gathered.masks);
  KJ_DEFER(runner.abandon());
  // Before anything is served, so that nobody changes what is still being asked about.
  runner.reconcile(policy::Family::kFile, files).wait(loop.waitScope());
  runner.reconcile(policy::Family::kGit, git).wait(loop.waitScope());
  // In the background: an engine may be slow, and nobody else works on these containers.
  containers.settleThePast();
  Events events(core);
  Services services{
      .core = core,
      .home = gathered.home,
      .actions = actions,
      .rules = rules,
      .sessions = sessions,
      .executors = executors,
      .terminal = terminal,
      .files = files,
      .containers = containers,
      .tasks = tasks,
      .git = git,
      .events = events,
      .tokens = tokens,
      .uids = uids,
      .readiness = readiness,
      .masks = gathered.masks,
      .operatorKey = gathered.operatorKey,
      .separation = identity::approvalSeparation(gathered.config.mode, gathered.operatorKeyState),
      .brokerIdentity = identity,
      .startedAt = audit::systemNow()};
  std::vector<FrontListener> listeners;
  for (auto& each : gathered.listeners.front)
    listeners.push_back({rpc::OwnFd(each.socket.release()), each.kind});
  FrontLink front(services, workers, listeners);
  const auto ownUid = gathered.config.mode == home::Mode::kUser ? std::optional(::geteuid()) : std::nullopt;
  background.add(serveOperator(services, gathered.listeners.operatorSocket.get(), ownUid));
  auto frontEnded =
      front.run().then([]() { return End::kSignal; }, [](kj::Exception&&) { return End::kFrontRefused; });

  if (gathered.printAddress) {
    std::printf("%s:%u\n", gathered.config.listen.host.c_str(),
                static_cast<unsigned>(gathered.listeners.port));
    std::fflush(stdout);
  }
  const auto landlock = static_cast<std::uint64_t>(readiness.kernel.landlockAbi);
  log(Level::kInfo, "serving",
      {{"port", std::uint64_t{gathered.listeners.port}},
       {"landlock", landlock},
       {"landlock_audit", wordOf(gathered.auditReading)}});

  end = terminate.exclusiveJoin(kj::mv(interrupt))
            .then([](int) { return End::kSignal; })
            .exclusiveJoin(kj::mv(lost))
            .exclusiveJoin(kj::mv(frontEnded))
            .wait(loop.waitScope());
  if (end == End::kSignal) {
    log(Level::kInfo, "stopping");
    front.shutdown().exclusiveJoin(loop.timer().afterDelay(1 * kj::SECONDS)).wait(loop.waitScope());
    runner.close();
    kj::joinPromises(kj::arr(terminal.shutdown(), containers.shutdown()))
        .then([&runner]() { return runner.idle(); })
        .exclusiveJoin(loop.timer().afterDelay(10 * kj::SECONDS))
        .wait(loop.waitScope());
  } else {
    if (end == End::kLauncherLost) {
      log(Level::kError, "launcher_lost");
    } else {
      log(Level::kError, "front_refused");
    }
    if (!gathered.adopted.endAll(kAdoptedLimit)) log(Level::kError, "adopted_children_live");
  }
  // No mutation may outlive what it captured.
  while (asyncWriter.pending() != 0) loop.timer().afterDelay(10 * kj::MILLISECONDS).wait(loop.waitScope());
  // Nor may a call what it refers to.
  loop.waitScope().cancelAllDetached();
  log(Level::kInfo, "stopped");
  return end == End::kSignal ? 0 : 1;
}

}  // namespace factionos::broker
