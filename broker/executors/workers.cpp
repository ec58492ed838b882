#include "broker/executors/workers.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "broker/core/log.h"
#include "protocol/rpc/deadline.h"
#include "protocol/rpc/descriptor.h"

namespace factionos::broker {
namespace {

// A worker enters its sandbox and answers within milliseconds; one that takes longer hangs.
constexpr auto kStartLimit = 10 * kj::SECONDS;

// A worker that has died is mostly reaped within milliseconds. After this the launcher finds out whether the
// machine is slow or the worker has given up its line and lives on.
constexpr auto kExitPatience = 1 * kj::SECONDS;
// A process that neither ends nor stops sits in the kernel; that is nobody's fault.
constexpr auto kEndLimit = 10 * kj::SECONDS;

WorkerEnd judge(schema::WorkerExit::Reader exit) {
  if (exit.getBrokeEvents()) return {WorkerEnd::Kind::kMisbehaved, "events"};
  // A call that its filter refused ends a worker by SIGSYS, or by the handler that names the call.
  if (exit.getSyscall() >= 0 || (exit.isSignal() && exit.getSignal() == SIGSYS))
    return {WorkerEnd::Kind::kMisbehaved, "refused_call", exit.getSyscall()};
  return {};
}

kj::Promise<WorkerEnd> endAndJudge(kj::Timer& timer, schema::Worker::Client process) {
  auto ended = kj::Promise<capnp::Response<schema::Worker::EndResults>>(process.endRequest().send());
  return rpc::withDeadline(timer, kEndLimit, kj::mv(ended))
      .then(
          [](capnp::Response<schema::Worker::EndResults>&& response) {
            const auto end = judge(response.getExit());
            const bool honest = end.kind == WorkerEnd::Kind::kLost;
            return honest && response.getLived() ? WorkerEnd{WorkerEnd::Kind::kMisbehaved, "line_given_up"}
                                                 : end;
          },
          [](kj::Exception&&) { return WorkerEnd{}; });
}

// The roles whose line is the broker's own.
struct RoleLine {
  schema::Role role;
  Peer peer;
  Step step;
};
constexpr std::array kRoleLines{
    RoleLine{schema::Role::FRONT, Peer::kFront, Step::kLaunchFront},
    RoleLine{schema::Role::PTY, Peer::kPty, Step::kLaunchPty},
    RoleLine{schema::Role::FILE, Peer::kFile, Step::kLaunchScoped},
    RoleLine{schema::Role::CONTAINER, Peer::kContainer, Step::kLaunchScoped},
    RoleLine{schema::Role::GIT, Peer::kGit, Step::kLaunchScoped},
    RoleLine{schema::Role::PROBE, Peer::kProbe, Step::kLaunchScoped},
};

const RoleLine& rowOf(schema::Role role) {
  const auto* row = std::ranges::find(kRoleLines, role, &RoleLine::role);
  KJ_REQUIRE(row != kRoleLines.end(), "no line leads to this role");
  return *row;
}

LaunchDenied deniedBy(schema::Denial::Reader denial) {
  return {.code = denial.getCode().cStr(), .rule = denial.getRule().cStr()};
}

}  // namespace

kj::Promise<WorkerEnd> judgeEnd(kj::Timer& timer, schema::Worker::Client process,
                                rpc::DisconnectCause cause) {
  using Kind = WorkerEnd::Kind;
  if (cause == rpc::DisconnectCause::kProtocolViolation) return WorkerEnd{Kind::kMisbehaved, "protocol"};
  if (cause == rpc::DisconnectCause::kClosedHere) return WorkerEnd{Kind::kMisbehaved, "no_answer"};
  if (cause == rpc::DisconnectCause::kStalled) return WorkerEnd{Kind::kMisbehaved, "does_not_read"};
  auto exited = kj::Promise<capnp::Response<schema::Worker::ExitedResults>>(process.exitedRequest().send());
  return rpc::withDeadline(timer, kExitPatience, kj::mv(exited))
      .then(
          [](capnp::Response<schema::Worker::ExitedResults>&& response) -> kj::Promise<WorkerEnd> {
            return judge(response.getExit());
          },
          [&timer, process](kj::Exception&& exception) mutable -> kj::Promise<WorkerEnd> {
            if (!rpc::isDeadlineExceeded(exception)) return WorkerEnd{};
            return endAndJudge(timer, kj::mv(process));
          })
      .attach(kj::mv(process));
}

void logMisbehaved(redaction::Literal worker, const redaction::Label& session, const WorkerEnd& end) {
  const Field call = end.syscall < 0 ? Field("syscall", redaction::Literal("none"))
                                     : Field("syscall", static_cast<std::uint64_t>(end.syscall));
  log(Level::kWarning, "worker_misbehaved",
      {{"worker", worker}, {"session", session}, {"breach", end.breach}, call});
}

Workers::Workers(rpc::Loop& loop, rpc::OwnFd line, StepPoints* steps)
    : loop_(loop),
      steps_(steps),
      line_(kj::heap<rpc::Connection>(loop, kj::mv(line), optionsOf(linkOf(Peer::kLauncher)))),
      launcher_(line_->bootstrapAs<schema::Launcher>()),
      tasks_(*this) {}

Workers::~Workers() noexcept(false) = default;

kj::Promise<void> Workers::lost() {
  return line_->onDisconnect().then([](rpc::DisconnectCause) {});
}

kj::Promise<kj::OneOf<StartedWorker, LaunchDenied>> Workers::start(
    schema::Role role, const FillScope& fillScope, kj::Maybe<capnp::Capability::Client> bootstrap) {
  auto pair = rpc::socketPair();
  auto request = launcher_.startRequest();
  request.setRole(role);
  if (fillScope) fillScope(request.initScope());
  request.setLine(rpc::carryDescriptor<schema::Descriptor>(kj::mv(pair.second)));
  const auto& row = rowOf(role);
  auto line =
      kj::heap<rpc::Connection>(loop_, kj::mv(pair.first), optionsOf(linkOf(row.peer)), kj::mv(bootstrap));
  const auto step = row.step;
  reach(steps_, step, Edge::kBefore);
  return rpc::withDeadline(loop_.timer(), kStartLimit,
                           kj::Promise<capnp::Response<schema::Launcher::StartResults>>(request.send()))
      .then([this, step,
             line = kj::mv(line)](capnp::Response<schema::Launcher::StartResults>&& response) mutable
            -> kj::OneOf<StartedWorker, LaunchDenied> {
        reach(steps_, step, Edge::kAfter);
        if (!response.hasWorker()) return deniedBy(response.getDenial());
        return StartedWorker{kj::mv(line), response.getWorker()};
      });
}

kj::Promise<kj::OneOf<StartedPty, LaunchDenied>> Workers::startPty() {
  return start(schema::Role::PTY, nullptr, rpc::kNone)
      .then([](kj::OneOf<StartedWorker, LaunchDenied>&& started) -> kj::OneOf<StartedPty, LaunchDenied> {
        if (started.is<LaunchDenied>()) return kj::mv(started.get<LaunchDenied>());
        auto worker = kj::mv(started.get<StartedWorker>());
        auto pty = worker.line->bootstrapAs<schema::Pty>();
        return StartedPty{kj::mv(worker), kj::mv(pty)};
      });
}

void Workers::prepareSpare() {
  if (preparing_) return;
  preparing_ = true;
  tasks_.add(startPty().then(
      [this](kj::OneOf<StartedPty, LaunchDenied>&& started) {
        preparing_ = false;
        if (!started.is<StartedPty>()) return;
        // A spare that dies while it waits must not be handed out.
        tasks_.add(started.get<StartedPty>().worker.line->onDisconnect().then(
            [this, id = ++spareId_](rpc::DisconnectCause) {
              if (spareId_ != id) return;
              spare_ = rpc::kNone;
              log(Level::kWarning, "spare_worker_lost");
            },
            [](kj::Exception&&) {
              // Its session has ended and dropped the line.
            }));
        spare_ = kj::mv(started.get<StartedPty>());
      },
      [this](kj::Exception&&) { preparing_ = false; }));
}

kj::Promise<kj::OneOf<StartedPty, LaunchDenied>> Workers::takePty() {
  FACTIONOS_IF_SOME(spare, spare_) {
    kj::OneOf<StartedPty, LaunchDenied> taken = kj::mv(spare);
    spare_ = rpc::kNone;
    ++spareId_;
    prepareSpare();
    return kj::mv(taken);
  }
  prepareSpare();
  return startPty();
}

kj::Promise<kj::OneOf<StartedSession, LaunchDenied>> Workers::startSession(const std::string& workspacePath) {
  auto request = launcher_.startSessionRequest();
  request.initScope().setWorkspace(workspacePath.c_str());
  reach(steps_, Step::kLaunchSession, Edge::kBefore);
  return rpc::withDeadline(
             loop_.timer(), kStartLimit,
             kj::Promise<capnp::Response<schema::Launcher::StartSessionResults>>(request.send()))
      .then([this](capnp::Response<schema::Launcher::StartSessionResults>&& response)
                -> kj::OneOf<StartedSession, LaunchDenied> {
        reach(steps_, Step::kLaunchSession, Edge::kAfter);
        if (!response.hasSession()) return deniedBy(response.getDenial());
        return StartedSession{response.getSession(), response.getWorker()};
      });
}

kj::Promise<capnp::Response<schema::Launcher::SupportResults>> Workers::support() {
  return rpc::withDeadline(
      loop_.timer(), kStartLimit,
      kj::Promise<capnp::Response<schema::Launcher::SupportResults>>(launcher_.supportRequest().send()));
}

kj::Promise<void> Workers::setEngines(const home::EngineSockets& engines) {
  auto request = launcher_.setEnginesRequest();
  std::vector<std::pair<schema::EngineKind, const std::string*>> told;
  if (!engines.docker.empty()) told.emplace_back(schema::EngineKind::DOCKER, &engines.docker);
  if (!engines.podman.empty()) told.emplace_back(schema::EngineKind::PODMAN, &engines.podman);
  auto list = request.initEngines(static_cast<unsigned>(told.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setEngine(told[i].first);
    list[i].setPath(told[i].second->c_str());
  }
  if (!engines.apple.empty()) request.setAppleProgram(engines.apple.c_str());
  using Answer = capnp::Response<schema::Launcher::SetEnginesResults>;
  return rpc::withDeadline(loop_.timer(), kStartLimit, kj::Promise<Answer>(request.send()))
      .then([](Answer&& answer) { KJ_REQUIRE(!answer.hasDenial(), "the launcher takes no engines"); });
}

kj::Promise<kj::OneOf<schema::EngineConnector::Client, LaunchDenied>> Workers::engine(
    schema::EngineKind engine) {
  using Taken = kj::OneOf<schema::EngineConnector::Client, LaunchDenied>;
  using Answer = capnp::Response<schema::Launcher::EngineResults>;
  auto request = launcher_.engineRequest();
  request.setEngine(engine);
  return rpc::withDeadline(loop_.timer(), kStartLimit, kj::Promise<Answer>(request.send()))
      .then([](Answer&& answer) -> Taken {
        if (answer.hasDenial()) return deniedBy(answer.getDenial());
        return answer.getConnector();
      });
}

kj::Promise<kj::OneOf<LookedAt, LaunchDenied>> Workers::look(schema::MountRole role,
                                                             const std::string& path) {
  using Looked = kj::OneOf<LookedAt, LaunchDenied>;
  using Answer = capnp::Response<schema::Launcher::LookResults>;
  auto request = launcher_.lookRequest();
  request.setRole(role);
  request.setPath(path.c_str());
  return rpc::withDeadline(loop_.timer(), kStartLimit, kj::Promise<Answer>(request.send()))
      .then([](Answer&& answer) -> Looked {
        if (!answer.hasFound()) return deniedBy(answer.getDenial());
        return LookedAt{.uid = answer.getFound().getUid(), .gid = answer.getFound().getGid()};
      });
}

void Workers::taskFailed(kj::Exception&&) {
  log(Level::kError, "background_task_failed");
}

}  // namespace factionos::broker
