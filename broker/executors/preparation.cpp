#include "broker/executors/preparation.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "broker/executors/denials.h"
#include "broker/state/action_table.h"
#include "protocol/json/canonical.h"
#include "protocol/rpc/deadline.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using actions::Refused;
using audit::Label;
using schema::ProblemCode;

// Hashing a few hundred megabytes of program and scripts is the slowest thing that happens in here.
constexpr auto kPrepareLimit = 30 * kj::SECONDS;
constexpr std::size_t kMaxCommandBytes = 128 * 1024;  // below the kernel's own limit for one argument

std::optional<audit::Digest> digestFrom(capnp::Data::Reader bytes) {
  audit::Digest digest;
  if (bytes.size() != digest.bytes.size()) return std::nullopt;
  std::copy_n(bytes.begin(), digest.bytes.size(), digest.bytes.begin());
  return digest;
}

// What the card calls the program. One of the workspace bears its place, so that nobody takes a file that
// somebody called "make" for the system's.
Label labelOf(schema::Prepared::Reader prepared) {
  const std::string_view name = view(prepared.getProgramLabel());
  if (view(prepared.getProgram()) == "workspace")
    return Label::parse("workspace:" + std::string(name)).value_or(Label::of("workspace"));
  return Label::parse(name).value_or(Label::of("program"));
}

}  // namespace

kj::Own<capnp::MallocMessageBuilder> Preparation::copyOf(schema::TerminalRun::Reader request) {
  auto message = kj::heap<capnp::MallocMessageBuilder>();
  message->setRoot(request);
  // The approval is no part of what runs.
  message->getRoot<schema::TerminalRun>().disownApproval();
  return message;
}

Preparation::Preparation(Core& core, Workers& workers, kj::Own<capnp::MallocMessageBuilder> request)
    : core_(core), workers_(workers), request_(kj::mv(request)) {}

std::optional<Refused> Preparation::validate() {
  const auto asked = request();
  const bool hasArgv = asked.hasCommand() && asked.getCommand().size() > 0;
  if (hasArgv == asked.hasShell())
    return Refused{.code = ProblemCode::INVALID_REQUEST,
                   .detail = "Exactly one of command and shell is wanted.",
                   .field = "command"};
  if (hasArgv && asked.getCommand()[0].size() == 0)
    return Refused{
        .code = ProblemCode::INVALID_REQUEST, .detail = "The program's name is empty.", .field = "command[]"};
  std::size_t bytes = asked.getShell().size();
  for (const auto argument : asked.getCommand()) bytes += argument.size() + 1;
  if (bytes > kMaxCommandBytes)
    return Refused{
        .code = ProblemCode::TOO_LARGE, .detail = "The command has more than 128 KiB.", .field = "command"};
  workspace_ = core_.config.findWorkspace(view(asked.getWorkspace()));
  if (workspace_ == nullptr)
    return Refused{.code = ProblemCode::NOT_FOUND,
                   .detail = "No workspace of this name is known.",
                   .field = "workspace"};
  if (asked.hasProfile() && view(asked.getProfile()) != "default")
    return Refused{.code = ProblemCode::NOT_FOUND,
                   .detail = "No session profile of this name is known.",
                   .field = "profile"};
  if (asked.getNetwork() == schema::NetworkProfile::EGRESS)
    return Refused{.code = ProblemCode::INVALID_REQUEST,
                   .detail = "The network profile egress is of containers alone.",
                   .field = "network"};
  const auto limit =
      std::chrono::duration_cast<std::chrono::milliseconds>(core_.config.limits.maxCommandTimeout).count();
  if (asked.getTimeoutMs() > limit)
    return Refused{.code = ProblemCode::INVALID_REQUEST,
                   .detail = "Above the longest timeout that config.toml allows.",
                   .field = "timeoutMs"};
  if (asked.getTimeoutMs() == 0) {
    request_->getRoot<schema::TerminalRun>().setTimeoutMs(
        static_cast<std::uint32_t>(std::chrono::milliseconds(core_.config.limits.commandTimeout).count()));
  }
  return std::nullopt;
}

schema::NetworkProfile Preparation::network() const {
  const auto asked = request().getNetwork();
  return asked == schema::NetworkProfile::UNSPECIFIED ? schema::NetworkProfile::NONE : asked;
}

audit::Digest Preparation::digest(std::string_view operation, std::string_view replaces) const {
  const auto bytes = json::canonicalBytes(request());
  std::string content = "terminal.";
  content.append(operation).append(1, '\0').append(replaces).append(1, '\0');
  content.append(bytes.asChars().begin(), bytes.size());
  return core_.keys.digest(state::Purpose::kRequest, audit::asBytes(content));
}

kj::Promise<std::optional<Refused>> Preparation::run() {
  return workers_.startSession(workspace_->path)
      .then([this](kj::OneOf<StartedSession, LaunchDenied>&& started) -> kj::Promise<std::optional<Refused>> {
        if (started.is<LaunchDenied>())
          return std::optional<Refused>(refusedFor(started.get<LaunchDenied>()));
        auto supervisor = kj::mv(started.get<StartedSession>());
        process_ = supervisor.process;
        auto call = supervisor.session.prepareRequest();
        describe(call.initCommand());
        reach(core_.steps, Step::kPrepare, Edge::kBefore);
        return rpc::withDeadline(core_.timer, kPrepareLimit,
                                 kj::Promise<capnp::Response<schema::Session::PrepareResults>>(call.send()))
            .then([this, supervisor = kj::mv(supervisor)](
                      capnp::Response<schema::Session::PrepareResults>&& response) mutable
                  -> std::optional<Refused> {
              reach(core_.steps, Step::kPrepare, Edge::kAfter);
              if (!response.hasPrepared())
                return refusedFor(view(response.getDenial().getCode()), view(response.getDenial().getRule()));
              return take(kj::mv(supervisor), response.getPrepared());
            });
      })
      .catch_([this](kj::Exception&& exception) {
        return whyLost(exception).then([](Refused&& refused) { return std::optional(std::move(refused)); });
      });
}

kj::Promise<Refused> Preparation::whyLost(const kj::Exception& exception) {
  // One that does not answer in time lives: there is no end to ask for.
  if (rpc::isDeadlineExceeded(exception)) return lost();
  FACTIONOS_IF_SOME(process, process_) {
    return judgeEnd(core_.timer, process, rpc::DisconnectCause::kPeerClosed).then([](WorkerEnd end) {
      if (end.kind != WorkerEnd::Kind::kMisbehaved) return lost();
      logMisbehaved("session", Label::of("none"), end);
      return Refused{.code = ProblemCode::WORKER_MISBEHAVED};
    });
  }
  return lost();
}

void Preparation::describe(schema::CommandSpec::Builder spec) const {
  const auto asked = request();
  if (asked.hasShell()) {
    spec.setShell(asked.getShell());
  } else {
    spec.setArgv(asked.getCommand());
  }
  spec.setNetwork(asked.getNetwork());
  const auto& extras = core_.config.profile;
  auto programs = spec.initProgramPaths(static_cast<unsigned>(extras.programDirs.size()));
  for (unsigned i = 0; i < programs.size(); ++i) programs.set(i, extras.programDirs[i].c_str());
  auto readable = spec.initReadPaths(static_cast<unsigned>(extras.readableDirs.size()));
  for (unsigned i = 0; i < readable.size(); ++i) readable.set(i, extras.readableDirs[i].c_str());
  spec.setScratch(core_.scratch.c_str());
  spec.setApiPort(core_.apiPort);
}

std::optional<Refused> Preparation::take(StartedSession supervisor, schema::Prepared::Reader prepared) {
  std::optional<audit::Digest> program;
  std::vector<audit::Digest> operands;
  std::string rest;
  for (const auto digest : prepared.getDigests()) {
    const auto value = digestFrom(digest.getSha());
    if (!value) return lost();
    if (view(digest.getLabel()) == "program") {
      program = value;
    } else if (operands.size() + 1 < state::ActionTable::kMaxOperands) {
      operands.push_back(*value);
    } else {
      // More operands than a row has room for: the last place holds a digest over all the others.
      rest.append(value->bytes.begin(), value->bytes.end());
    }
  }
  if (!program) return lost();
  if (!rest.empty()) operands.push_back(audit::hash(audit::asBytes(rest)));
  found_.emplace(Found{.supervisor = kj::mv(supervisor),
                       .program = request().hasShell() ? policy::Program::shellLine()
                                  : view(prepared.getProgram()) == "workspace"
                                      ? policy::Program::workspace()
                                      : policy::Program::system(prepared.getProgram().cStr()),
                       .label = labelOf(prepared),
                       .programDigest = *program,
                       .operandDigests = std::move(operands)});
  return std::nullopt;
}

}  // namespace factionos::broker
