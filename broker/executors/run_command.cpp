#include "broker/executors/run_command.h"

#include <utility>

#include "broker/actions/view.h"
#include "broker/executors/command_text.h"
#include "broker/executors/denials.h"
#include "broker/state/session_table.h"
#include "protocol/rpc/deadline.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using audit::Code;
using audit::Label;
using schema::ProblemCode;

constexpr auto kStartLimit = 15 * kj::SECONDS;

}  // namespace

RunCommand::RunCommand(TerminalExecutor& executor, const char* operation,
                       kj::Own<capnp::MallocMessageBuilder> request)
    : executor_(executor),
      core_(executor.core_),
      operation_(*policy::findOperation(policy::Family::kTerminal, operation)),
      preparation_(core_, executor.workers_, kj::mv(request)) {}

RunCommand::~RunCommand() noexcept(false) {
  if (counted_) --executor_.starting_;
}

std::vector<std::string> RunCommand::locks() const {
  if (replaces_.empty()) return {};
  return {"session:" + replaces_};
}

kj::Promise<std::optional<Refused>> RunCommand::prepare() {
  if (!counted_) {
    const auto* old = replaces_.empty() ? nullptr : executor_.sessions_.find(replaces_);
    const auto replaced = old == nullptr || old->ended() ? 0U : 1U;  // it ends before the new one starts
    if (executor_.sessions_.live() + executor_.starting_ >= core_.config.limits.maxSessions + replaced)
      return std::optional<Refused>(Refused{.code = ProblemCode::TOO_MANY_SESSIONS, .retryAfterMs = 1000});
    counted_ = true;
    ++executor_.starting_;
  }
  return preparation_.run().then([this](std::optional<Refused>&& refused) {
    if (!refused) {
      const bool full = preparation_.network() == schema::NetworkProfile::FULL;
      prepared_ = {.programDigest = preparation_.programDigest(),
                   .basis = preparation_.operandDigests(),
                   .risk = full ? std::optional(policy::Risk::kHigh) : std::nullopt,
                   .changes = {},
                   .revealed = commandText(preparation_.request())};
    }
    return kj::mv(refused);
  });
}

policy::Subject RunCommand::subject() const {
  return {.family = policy::Family::kTerminal,
          .operation = std::string(operation_.name),
          .workspace = preparation_.workspace().name,
          .principal = {},
          .program = preparation_.program(),
          .network = std::string(actions::nameOf(preparation_.network())),
          .profile = "default"};
}

redaction::Sentence RunCommand::driftDetail() const {
  return "The program or a script of it is not what was approved.";
}

std::optional<std::string> RunCommand::beginSession() {
  sessionId_ = core_.ids.next(state::IdKind::kSession);
  return sessionId_;
}

kj::Promise<void> RunCommand::endReplaced() {
  auto* session = replaces_.empty() ? nullptr : executor_.sessions_.find(replaces_);
  if (session == nullptr || session->ended()) return kj::READY_NOW;
  return session->kill("restarted");
}

kj::Promise<EffectEnd> RunCommand::run(const state::ActionRow& action) {
  action_ = action;
  return endReplaced().then([this]() { return start(); });
}

kj::Promise<EffectEnd> RunCommand::start() {
  auto call = preparation_.session().startRequest();
  auto window = call.initWindow();
  window.setCols(preparation_.request().getCols());
  window.setRows(preparation_.request().getRows());
  call.initLimits();
  reach(core_.steps, Step::kStart, Edge::kBefore);
  return rpc::withDeadline(core_.timer, kStartLimit,
                           kj::Promise<capnp::Response<schema::Session::StartResults>>(call.send()))
      .then(
          [this](capnp::Response<schema::Session::StartResults>&& response) -> kj::Promise<EffectEnd> {
            reach(core_.steps, Step::kStart, Edge::kAfter);
            if (!response.hasMaster()) {
              const auto denial = response.getDenial();
              return EffectEnd(Failed{.refused = refusedFor(view(denial.getCode()), view(denial.getRule()))});
            }
            return attach(kj::mv(response));
          },
          [this](kj::Exception&& exception) {
            return preparation_.whyLost(exception).then([](Refused&& refused) -> EffectEnd {
              const bool misbehaved = refused.code == ProblemCode::WORKER_MISBEHAVED;
              return Failed{.refused = std::move(refused),
                            .failure = misbehaved ? nullptr : "supervisor_lost"};
            });
          });
}

kj::Promise<EffectEnd> RunCommand::attach(capnp::Response<schema::Session::StartResults>&& response) {
  SessionFacts facts{.id = actions::idLabel(sessionId_),
                     .actionId = actions::idLabel(action_->id),
                     .workspace = Label::of(preparation_.workspace().name),
                     .program = preparation_.label(),
                     .resolved = preparation_.program(),
                     .network = preparation_.network(),
                     .owner = action_->principal,
                     .cols = preparation_.request().getCols(),
                     .rows = preparation_.request().getRows(),
                     .timeoutMs = preparation_.request().getTimeoutMs(),
                     .created = audit::systemNow()};
  session_ = kj::refcounted<LiveSession>(core_, std::move(facts), preparation_.takeSupervisor(),
                                         executor_.masks_, Preparation::copyOf(preparation_.request()));
  session_->setPosture(response.getPosture());
  auto master = response.getMaster();
  return executor_.workers_.takePty()
      .then([this, master = kj::mv(master)](
                kj::OneOf<StartedPty, LaunchDenied>&& started) mutable -> kj::Promise<bool> {
        if (!started.is<StartedPty>()) return false;
        return session_->attach(kj::mv(started.get<StartedPty>()), kj::mv(master));
      })
      .catch_([](kj::Exception&&) { return false; })
      .then([this](bool attached) -> kj::Promise<EffectEnd> {
        if (attached) return runs();
        return session_->kill("worker_lost").then([this]() -> EffectEnd {
          if (session_->endedBy() == "worker_misbehaved")
            return Failed{.refused = {.code = ProblemCode::WORKER_MISBEHAVED},
                          .failure = "worker_misbehaved"};
          return Failed{
              .refused = {.code = ProblemCode::PTY_UNAVAILABLE, .detail = "No pty worker could be started."},
              .failure = "worker_lost"};
        });
      });
}

EffectEnd RunCommand::runs() {
  // The command runs: from here on the session's own life decides, whether or not the reply can be stored.
  const auto bytes = encodeReply<schema::Api::TerminalRunResults>([this](auto results) {
    using R = schema::Api::TerminalRunResults::Builder;
    session_->fillSummary(results.init(&R::initSession));
    actions::fillAction(*action_, {}, results.init(&R::initAction));
  });
  const auto created = session_->facts().created;
  executor_.started(kj::mv(session_));
  const auto also = [session = sessionId_, id = action_->id, created](state::Transaction& transaction) {
    // Stored late, the session may be over.
    const auto action = state::ActionTable(transaction.database()).find(id);
    const bool ended = !action || action->state != state::ActionState::kExecuting;
    state::SessionTable(transaction.database())
        .insert({.id = session,
                 .actionId = id,
                 .state = Code::of(ended ? "ended" : "running"),
                 .started = created});
  };
  return Done{.life = Done::Life::kGoesOn,
              .status = 201,
              .reply = [bytes](const state::ActionRow&) { return bytes; },
              .also = also};
}

}  // namespace factionos::broker
