#include "workers/session/service.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kj/common.h>
#include <kj/debug.h>
#include <kj/timer.h>

#include "protocol/rpc/descriptor.h"
#include "sandbox/landlock.h"
#include "sandbox/setup_error.h"
#include "workers/session/audited_denials.h"
#include "workers/session/command_environment.h"
#include "workers/session/enter_second_stage.h"
#include "workers/session/hold.h"
#include "workers/session/observer.h"
#include "workers/session/places.h"
#include "workers/session/prepare.h"
#include "workers/session/pty_pair.h"
#include "workers/session/request.h"

namespace factionos::session {
namespace {

// How long a script stays under its read lease, and a change of it ends the command, once its interpreter
// runs: it has read a file of usual size by then, and who saves the file in an editor waits no longer than
// this.
constexpr auto kScriptLease = 2 * kj::SECONDS;

constexpr auto kDenialsApart = 250 * kj::MILLISECONDS;

// The kernel's records come by way of its audit thread and two processes of ours: what a command was denied
// last may be told after its end. A later record is lost.
constexpr auto kRecordsLate = 50 * kj::MILLISECONDS;
constexpr int kRecordsAtOnce = 256;

void fill(schema::Denial::Builder denial, const Denied& denied) {
  denial.setCode(kj::StringPtr(std::string(denied.code).c_str()));
  if (!denied.rule.empty()) denial.setRule(kj::StringPtr(std::string(denied.rule).c_str()));
  if (!denied.target.empty()) denial.setTarget(kj::StringPtr(denied.target.c_str()));
}

TreeLimits limitsOf(schema::Limits::Reader limits) {
  TreeLimits result;
  if (limits.getProcesses() != 0) result.processes = limits.getProcesses();
  if (limits.getMemoryBytes() != 0) result.memoryBytes = limits.getMemoryBytes();
  if (limits.getOpenFiles() != 0) result.openFiles = limits.getOpenFiles();
  if (limits.getCpuSeconds() != 0) result.cpuSeconds = limits.getCpuSeconds();
  if (limits.getFileBytes() != 0) result.fileBytes = limits.getFileBytes();
  return result;
}

schema::EndReason reasonOf(End reason) {
  switch (reason) {
    case End::kExited:
      return schema::EndReason::EXITED;
    case End::kKilled:
      return schema::EndReason::KILLED;
    case End::kProcesses:
      return schema::EndReason::LIMIT_PROCESSES;
    case End::kMemory:
      return schema::EndReason::LIMIT_MEMORY;
    case End::kCpu:
      return schema::EndReason::LIMIT_CPU;
    case End::kLost:
      return schema::EndReason::LOST;
  }
  return schema::EndReason::LOST;
}

enum class Drifted { kNo, kYes };

void fill(schema::Session::ExitedResults::Builder results, const TreeEnded& ended, Drifted drifted) {
  auto exit = results.initExit();
  if (ended.reason == End::kLost) {
    exit.setLost();
  } else if (WIFSIGNALED(ended.waitStatus)) {
    exit.setSignal(static_cast<std::uint8_t>(WTERMSIG(ended.waitStatus)));
  } else {
    exit.setCode(static_cast<std::uint8_t>(WEXITSTATUS(ended.waitStatus)));
  }
  results.setReason(drifted == Drifted::kYes ? schema::EndReason::APPROVAL_DRIFT : reasonOf(ended.reason));
  auto usage = results.initUsage();
  usage.setCpuMs(ended.cpuMs);
  usage.setMaxRssBytes(ended.maxRssBytes);
  usage.setPeakProcesses(ended.peakProcesses);
}

void fill(capnp::List<schema::DenialCount>::Builder rows, const std::vector<DenialCount>& counts) {
  for (unsigned i = 0; i < rows.size(); ++i) {
    auto row = rows[i];
    const DenialCount& count = counts[i];
    row.setSource(sourceLabel(count.denial).c_str());
    row.setOperation(operationLabel(count.denial).c_str());
    row.setTarget(placeLabel(count.denial).c_str());
    row.setCount(count.count);
    row.setFirstAt(count.firstMs);
    row.setLastAt(count.lastMs);
  }
}

// What may be sent to a command: what common.capnp's Signal lists.
bool isSendable(std::uint8_t number) {
  constexpr int kSendable[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGSTOP};
  return std::ranges::find(kSendable, static_cast<int>(number)) != std::end(kSendable);
}

}  // namespace

struct Service::State {
  State(rpc::Loop& theLoop, Found theFound, const LastResort& theLastResort)
      : loop(theLoop), found(std::move(theFound)), lastResort(theLastResort) {}

  [[nodiscard]] bool scriptChanged() const { return script && !isUnchanged(workspace.get(), *script); }

  [[nodiscard]] std::vector<DenialCount> readDenials() { return audited.with(denials.read()); }

  // The kernel's records of what this session's command was denied, until their line ends.
  kj::Promise<void> hearAudit() {
    return loop.waitReadable(found.audited.get()).then([this]() -> kj::Promise<void> {
      const Surroundings around{workspacePath, stateAround(request.scratch), userHome};
      std::array<std::byte, worker::kMostAuditedBytes> datagram;
      for (int i = 0; i < kRecordsAtOnce; ++i) {
        const ssize_t size = ::read(found.audited.get(), datagram.data(), datagram.size());
        if (size == 0) return kj::READY_NOW;
        if (size < 0) break;
        const auto denial = worker::decodeAudited({datagram.data(), static_cast<std::size_t>(size)});
        if (denial) audited.add(*denial, around, request.apiPort);
      }
      denials.wake();
      return hearAudit();
    });
  }

  kj::Promise<void> recordsHaveCome() {
    if (!found.audited) return kj::READY_NOW;
    return loop.timer().afterDelay(kRecordsLate);
  }

  // Once: when the time is over or the tree has ended before.
  void endWatch() {
    if (scriptChanged()) {
      drifted = Drifted::kYes;
      tree->kill();
    }
    script.reset();
    prepared->covered.clear();
  }

  rpc::Loop& loop;
  const Found found;
  const std::string userHome = homeOfUser();
  sandbox::Fd workspace;
  std::string workspacePath;
  const LastResort& lastResort;
  Request request;
  std::optional<Prepared> prepared;
  bool asked = false;   // for denials
  DenialTable denials;  // outlives the tree, whose gofer writes it
  AuditedDenials audited;
  std::unique_ptr<Tree> tree;
  // Held until the tree has ended. A program that closes its standard descriptors before it exits (cat, sort
  // and whatever else uses gnulib's close_stdout) would else be the terminal's last user for a moment: the
  // master's reader would see the end, close, and the hang-up would kill the program on its way out.
  sandbox::Fd slave;
  kj::Promise<void> slaveHeld = nullptr;
  kj::Promise<void> watch = nullptr;
  std::optional<NamedFile> script;  // that an interpreter opens by its path; while it is watched
  Drifted drifted = Drifted::kNo;
  kj::Promise<void> hearing = nullptr;
};

class Service::Server final : public schema::Session::Server {
 public:
  explicit Server(std::shared_ptr<State> state) : state_(std::move(state)) {}

  kj::Promise<void> prepare(PrepareContext context) override {
    if (const std::optional<Denied> denied = prepareCommand(context))
      fill(context.getResults().initDenial(), *denied);
    return kj::READY_NOW;
  }

  kj::Promise<void> start(StartContext context) override {
    std::variant<PtyPair, Denied> opened = launch(context.getParams());
    if (const Denied* denied = std::get_if<Denied>(&opened)) {
      fill(context.getResults().initDenial(), *denied);
      return kj::READY_NOW;
    }
    sandbox::Fd master = std::move(std::get<PtyPair>(opened).master);
    return state_->tree->whenStarted().then(
        [this, context, master = std::move(master)](std::variant<Posture, Denied> started) mutable {
          return answerStart(context, std::move(master), started);
        });
  }

  kj::Promise<void> exited(ExitedContext context) override {
    rpc::allowCancellation(context);
    if (!state_->tree) {
      fill(context.getResults(), TreeEnded{}, Drifted::kNo);
      return kj::READY_NOW;
    }
    return state_->tree->whenEnded().then([this, context](const TreeEnded& ended) mutable {
      state_->endWatch();
      return state_->recordsHaveCome().then([this, context, ended]() mutable {
        fill(context.getResults(), ended, state_->drifted);
        const std::vector<DenialCount> counts = state_->readDenials();
        fill(context.getResults().initDenials(static_cast<unsigned>(counts.size())), counts);
      });
    });
  }

  kj::Promise<void> denials(DenialsContext context) override {
    rpc::allowCancellation(context);
    KJ_REQUIRE(!std::exchange(state_->asked, true), "one call at a time");
    return state_->loop.waitReadable(state_->denials.event())
        .then([this]() { return state_->loop.timer().afterDelay(kDenialsApart); })
        .then([this, context]() mutable {
          const std::vector<DenialCount> counts = state_->readDenials();
          fill(context.getResults().initDenials(static_cast<unsigned>(counts.size())), counts);
        })
        .attach(kj::defer([state = state_]() { state->asked = false; }));
  }

  kj::Promise<void> signal(SignalContext context) override {
    const std::uint8_t number = context.getParams().getNumber();
    if (!isSendable(number)) {
      fill(context.getResults().initDenial(), Denied{"signal_refused", "listed_signals"});
    } else if (!state_->tree || state_->tree->isOver()) {
      fill(context.getResults().initDenial(), Denied{"ended", "session"});
    } else {
      state_->tree->signal(number);
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> kill(KillContext) override {
    if (!state_->tree) return kj::READY_NOW;
    state_->tree->kill();
    return state_->tree->whenEnded().ignoreResult();
  }

 private:
  std::optional<Denied> prepareCommand(PrepareContext& context) {
    if (state_->prepared || state_->tree) return Denied{"already_prepared", "one_command"};
    if (sandbox::landlockAbi() == 0) return Denied{"sandbox_unavailable", "landlock_missing"};
    if (state_->workspacePath.empty()) return Denied{"workspace_gone", "workspace"};
    std::variant<Request, Denied> read = readRequest(context.getParams().getCommand());
    if (const Denied* denied = std::get_if<Denied>(&read)) return *denied;
    state_->request = std::move(std::get<Request>(read));

    const Resolver resolver(state_->workspace.get(), state_->workspacePath, state_->request.programPaths);
    std::variant<Prepared, Denied> prepared = session::prepare(state_->request, resolver);
    if (const Denied* denied = std::get_if<Denied>(&prepared)) return *denied;
    state_->prepared = std::move(std::get<Prepared>(prepared));
    describe(*state_->prepared, context.getResults().initPrepared());
    return std::nullopt;
  }

  std::variant<PtyPair, Denied> launch(StartParams::Reader params) {
    if (!state_->prepared || state_->tree) return Denied{"not_prepared", "prepare_first"};
    std::variant<PtyPair, Denied> opened =
        openPtyPair({params.getWindow().getCols(), params.getWindow().getRows()});
    if (std::holds_alternative<Denied>(opened)) return opened;
    if (const std::optional<Denied> drift = hold(*state_->prepared)) {
      state_->prepared.reset();  // and lets go of the leases
      return *drift;
    }
    std::vector<NamedFile> operands = namedFiles(state_->workspace.get(), *state_->prepared);
    rememberScript(operands);
    PtyPair& pty = std::get<PtyPair>(opened);
    try {
      state_->tree = std::make_unique<Tree>(
          state_->loop, plan(pty, limitsOf(params.getLimits()), std::move(operands)), state_->lastResort);
    } catch (const sandbox::SetupError& error) {
      return Denied{"sandbox_unavailable", "setup", std::string(error.reason())};
    }
    state_->slave = std::move(pty.slave);
    // The master's end of file is the end of the whole tree.
    state_->slaveHeld = state_->tree->whenEnded()
                            .then([state = state_.get()](const TreeEnded&) { state->slave.reset(); })
                            .eagerlyEvaluate(nullptr);
    return opened;
  }

  void rememberScript(const std::vector<NamedFile>& operands) {
    const std::optional<std::size_t> index = state_->prepared->scriptOperand;
    if (!index) return;
    const std::string& path = state_->prepared->covered[*index].operand;
    const auto found = std::ranges::find(operands, path, &NamedFile::path);
    if (found != operands.end()) state_->script = *found;
  }

  KeeperPlan plan(const PtyPair& pty, const TreeLimits& limits, std::vector<NamedFile> operands) const {
    const Prepared& prepared = *state_->prepared;
    const Request& request = state_->request;
    KeeperPlan plan;
    plan.command.workspace = state_->workspace.get();
    plan.command.executable = prepared.covered[prepared.executed].file.get();
    plan.command.executableState = prepared.covered[prepared.executed].state;
    plan.command.operands = std::move(operands);
    plan.command.script = prepared.scriptDescriptor;
    plan.command.terminal = pty.slave.get();
    plan.command.argv = prepared.argv;
    plan.command.scope.workspace = state_->workspacePath;
    plan.command.scope.terminal = pty.slavePath;
    plan.command.scope.programPaths = request.programPaths;
    plan.command.scope.readPaths = request.readPaths;
    plan.command.scope.network = request.network;
    plan.command.scope.apiPort = request.apiPort;
    plan.command.scope.limits = limits;
    if (state_->found.audited) plan.command.scope.denialLog = sandbox::DenialLog::kPrograms;
    plan.namespaces = commandNamespaces(request.network, request.namespaces);
    plan.support = state_->found.support;
    plan.command.unheardOpens = state_->found.unheardOpens;
    plan.denials = &state_->denials;
    plan.userHome = state_->userHome;
    plan.scratchParent = request.scratch;
    plan.environment = standardVariables();
    const Variables added = profileVariables(request.environment).value();  // checked when it was read
    plan.environment.insert(plan.environment.end(), added.begin(), added.end());
    return plan;
  }

  kj::Promise<void> answerStart(StartContext& context, sandbox::Fd master,
                                const std::variant<Posture, Denied>& started) {
    if (const Denied* denied = std::get_if<Denied>(&started)) {
      fill(context.getResults().initDenial(), *denied);
      return kj::READY_NOW;
    }
    releaseLeases();
    enterSecondStage(treeEnds());
    if (state_->scriptChanged()) return denyChanged(context);
    watchScript();
    auto results = context.getResults();
    results.setMaster(rpc::carryDescriptor<schema::Descriptor>(rpc::OwnFd(master.release())));
    const Posture& posture = std::get<Posture>(started);
    auto labels = results.initPosture(static_cast<unsigned>(posture.size()));
    for (unsigned i = 0; i < labels.size(); ++i) labels.set(i, posture[i].c_str());
    return kj::READY_NOW;
  }

  [[nodiscard]] TreeEnds treeEnds() const {
    const bool wanted =
        sandbox::anyWanted(commandNamespaces(state_->request.network, state_->request.namespaces));
    const sandbox::NamespaceSupport& support = state_->found.support;
    const bool own = wanted && support.user == 0 && support.pid == 0;
    return own ? TreeEnds::kWithKeeper : TreeEnds::kBySession;
  }

  // Only what an interpreter reads as its script outlives the start under its lease.
  void releaseLeases() {
    const Prepared& prepared = *state_->prepared;
    for (std::size_t i = 0; i < prepared.covered.size(); ++i) {
      CoveredFile& covered = state_->prepared->covered[i];
      if (i == prepared.scriptOperand || covered.file.get() == prepared.scriptDescriptor) continue;
      covered.lease.release();
      covered.file.reset();
    }
  }

  kj::Promise<void> denyChanged(StartContext& context) {
    state_->tree->kill();
    return state_->tree->whenEnded().then([context](const TreeEnded&) mutable {
      fill(context.getResults().initDenial(), Denied{"approval_drift", "changed_at_exec", "operand_changed"});
    });
  }

  void watchScript() {
    if (!state_->script && state_->prepared->scriptDescriptor < 0) return;
    state_->watch = state_->loop.timer()
                        .afterDelay(kScriptLease)
                        .then([state = state_.get()]() { state->endWatch(); })
                        .eagerlyEvaluate(nullptr);
  }

  std::shared_ptr<State> state_;
};

class Service::Opener final : public schema::Supervisor::Server {
 public:
  explicit Opener(std::shared_ptr<State> state) : state_(std::move(state)) {}

  kj::Promise<void> open(OpenContext context) override {
    KJ_REQUIRE(!opened_, "a supervisor has one session");
    opened_ = true;
    return rpc::takeDescriptor(context.getParams().getWorkspace())
        .then([this, context](rpc::OwnFd workspace) mutable {
          prctl(PR_SET_NAME, "session", 0, 0, 0);
          state_->workspace = sandbox::Fd(workspace.release());
          state_->workspacePath = realPath(state_->workspace.get());
          context.getResults().setSession(kj::heap<Service::Server>(state_));
        });
  }

 private:
  std::shared_ptr<State> state_;
  bool opened_ = false;
};

Service::Service(rpc::Loop& loop, Found found, const LastResort& lastResort)
    : state_(std::make_shared<State>(loop, std::move(found), lastResort)) {
  prctl(PR_SET_NAME, "spare", 0, 0, 0);  // for who lists processes
  if (state_->found.audited) state_->hearing = state_->hearAudit().eagerlyEvaluate([](kj::Exception&&) {});
}

Service::~Service() noexcept(false) = default;

schema::Supervisor::Client Service::capability() {
  return kj::heap<Opener>(state_);
}

kj::Promise<void> Service::end() {
  if (!state_->tree) return kj::READY_NOW;
  state_->tree->kill();
  return state_->tree->whenEnded().ignoreResult();
}

}  // namespace factionos::session
