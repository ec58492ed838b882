#include "broker/executors/run_flow.h"

#include <utility>

#include "broker/actions/view.h"
#include "broker/executors/command_text.h"
#include "broker/executors/denials.h"
#include "broker/state/session_table.h"
#include "protocol/json/writer.h"
#include "protocol/rpc/deadline.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using audit::Code;
using audit::Label;
using schema::ProblemCode;

constexpr auto kStartLimit = 15 * kj::SECONDS;

Code failureCode(const Refused& refused) {
  const auto kind = json::problemKind(refused.code);
  return Code::parse(kind.code).value_or(Code::of("failed"));
}

}  // namespace

RunFlow::RunFlow(TerminalExecutor& executor, Caller caller, const char* operation,
                 kj::Own<capnp::MallocMessageBuilder> request)
    : executor_(executor),
      core_(executor.core_),
      caller_(std::move(caller)),
      operation_(operation),
      preparation_(core_, executor.workers_, kj::mv(request)) {}

RunFlow::~RunFlow() noexcept(false) {
  if (counted_) --executor_.starting_;
}

void RunFlow::approvedBy(schema::Approval::Reader approval) {
  approval_ =
      Approved{.actionId = approval.getActionId().cStr(), .expectedRevision = approval.getExpectedRevision()};
}

kj::Promise<std::optional<Refused>> RunFlow::prepare() {
  if (executor_.closing_)
    return std::optional<Refused>(Refused{.code = ProblemCode::SHUTTING_DOWN, .retryAfterMs = 1000});
  if (executor_.masks_.coverage().refused != 0)
    return std::optional<Refused>(Refused{
        .code = ProblemCode::SANDBOX_UNAVAILABLE,
        .detail = "A file in tokens/ of the home can't be masked in output, so no session is started."});
  if (!replaces_.empty() && !replacing_) {
    replacing_ = executor_.replaced_.claim("session", replaces_);
    if (!replacing_)
      return std::optional<Refused>(Refused{.code = ProblemCode::RESOURCE_BUSY,
                                            .detail = "The session is being restarted already.",
                                            .retryAfterMs = 1000});
  }
  if (!counted_) {
    const auto* old = replaces_.empty() ? nullptr : executor_.sessions_.find(replaces_);
    const auto replaced = old == nullptr || old->ended() ? 0U : 1U;  // it ends before the new one starts
    if (executor_.sessions_.live() + executor_.starting_ >= core_.config.limits.maxSessions + replaced)
      return std::optional<Refused>(Refused{.code = ProblemCode::TOO_MANY_SESSIONS, .retryAfterMs = 1000});
    counted_ = true;
    ++executor_.starting_;
  }
  return preparation_.run();
}

policy::Subject RunFlow::subject() const {
  return {.family = policy::Family::kTerminal,
          .operation = operation_,
          .workspace = preparation_.workspace().name,
          .principal = caller_.principal.name,
          .program = preparation_.program(),
          .network = std::string(actions::nameOf(preparation_.network())),
          .profile = "default"};
}

policy::Decision RunFlow::decide() const {
  return executor_.rules_.evaluate(subject());
}

state::ActionRow RunFlow::row(const policy::Decision& decision) const {
  const auto now = audit::systemNow();
  const auto* operation = policy::findOperation(policy::Family::kTerminal, operation_);
  const bool full = preparation_.network() == schema::NetworkProfile::FULL;
  const auto risk = full || operation == nullptr ? policy::Risk::kHigh : operation->risk;
  return {.id = core_.ids.next(state::IdKind::kAction),
          .state = decision.verdict == policy::Verdict::kAllow ? state::ActionState::kApproved
                                                               : state::ActionState::kProposed,
          .family = Code::of("terminal"),
          .operation = Code::of(operation_),
          .workspace = Label::of(preparation_.workspace().name),
          .target = preparation_.label(),
          .principal = Label::of(caller_.id()),
          .decision = Code::of(policy::label(decision.verdict)),
          .reason = Code::parse(policy::label(decision.cause)),
          .requestDigest = requestDigest_,
          .policyRevision = executor_.rules_.revision(),
          .programDigest = preparation_.programDigest(),
          .operandDigests = preparation_.operandDigests(),
          .network = Code::of(actions::nameOf(preparation_.network())),
          .risk = Code::of(policy::label(risk)),
          .created = now,
          .updated = now,
          .expires = now + core_.config.limits.approvalExpiry};
}

kj::Promise<Outcome<Preview>> RunFlow::preview() {
  if (auto refused = preparation_.validate()) return Outcome<Preview>(std::move(*refused));
  requestDigest_ = preparation_.digest(operation_, replaces_);
  return prepare().then([this](std::optional<Refused>&& refused) -> Outcome<Preview> {
    if (refused) return std::move(*refused);
    if (auto blocked = executor_.rules_.refusedRead(subject())) return std::move(*blocked);
    // What is previewed is a run; only policy's leave to look, the audit and the key know the difference.
    operation_ = "run";
    auto decision = decide();
    auto previewed = row(decision);
    return Preview{.row = std::move(previewed), .decision = std::move(decision)};
  });
}

kj::Promise<RunReply> RunFlow::answer(std::string key) {
  key_ = std::move(key);
  if (auto refused = preparation_.validate()) return RunReply(std::move(*refused));
  if (idempotency::checkKey(key_)) return RunReply(Refused{.code = ProblemCode::IDEMPOTENCY_KEY_REQUIRED});
  requestDigest_ = preparation_.digest(operation_, replaces_);
  claim_ = executor_.keys_.claim(caller_.id(), key_);
  if (!claim_)
    return RunReply(Refused{.code = ProblemCode::IN_FLIGHT, .retryAfterMs = idempotency::kRetryAfterMs});
  const auto digest = core_.keys.digest(state::Purpose::kIdempotencyKey, audit::asBytes(key_));
  // Only a hint that spares a supervisor: what counts is decided inside of the mutation.
  if (state::IdempotencyTable(core_.reader).find(Label::of(caller_.id()), digest)) return known();
  if (approval_)
    return RunReply(Refused{.code = ProblemCode::APPROVAL_DRIFT,
                            .detail = "The approval belongs to a request with another Idempotency-Key.",
                            .field = "approval.actionId"});
  return propose();
}

kj::Promise<RunReply> RunFlow::known() {
  return commit<idempotency::Decision>(core_, Step::kKeyLookUp,
                                       [this](state::Transaction& transaction) {
                                         auto decision =
                                             core_.idempotency.begin(transaction, Label::of(caller_.id()),
                                                                     key_, requestDigest_, core_.lived.now());
                                         if (std::holds_alternative<idempotency::Fresh>(decision.outcome))
                                           core_.idempotency.release(transaction, decision.handle);
                                         return decision;
                                       })
      .then([this](Outcome<idempotency::Decision>&& outcome) -> kj::Promise<RunReply> {
        if (auto* refused = std::get_if<Refused>(&outcome)) return RunReply(std::move(*refused));
        return judge(std::get<idempotency::Decision>(std::move(outcome)));
      });
}

kj::Promise<RunReply> RunFlow::judge(idempotency::Decision decision) {
  if (auto* replay = std::get_if<idempotency::Replay>(&decision.outcome))
    return RunReply(
        StoredReply{.status = replay->status, .bytes = std::move(replay->reply), .replay = Replay::kAgain});
  if (const auto* busy = std::get_if<idempotency::InFlight>(&decision.outcome))
    return RunReply(Refused{.code = ProblemCode::IN_FLIGHT, .retryAfterMs = busy->retryAfterMs});
  if (std::holds_alternative<idempotency::Mismatch>(decision.outcome))
    return RunReply(Refused{.code = ProblemCode::IDEMPOTENCY_MISMATCH});
  if (const auto* interrupted = std::get_if<idempotency::Interrupted>(&decision.outcome)) {
    const auto row = executor_.actions_.find(interrupted->actionId);
    return RunReply(Refused{.code = ProblemCode::TIMED_OUT,
                            .detail = "The broker ended while this ran; it is not run again.",
                            .state = row ? actions::toSchema(row->state) : schema::ActionState::UNKNOWN});
  }
  if (std::holds_alternative<idempotency::Fresh>(decision.outcome)) return propose();
  const auto& waiting = std::get<idempotency::Waiting>(decision.outcome);
  auto row = executor_.actions_.find(waiting.actionId);
  if (!row) return RunReply(Refused{.code = ProblemCode::NOT_FOUND});
  if (row->state != state::ActionState::kProposed && row->state != state::ActionState::kApproved)
    return RunReply(actions::conflictOf(*row));
  if (row->expires && *row->expires <= audit::systemNow())
    return RunReply(Refused{.code = ProblemCode::APPROVAL_EXPIRED, .currentRevision = row->revision});
  if (!approval_) return RunReply(ActionWaits{std::move(*row)});
  if (approval_->actionId != row->id)
    return RunReply(Refused{.code = ProblemCode::APPROVAL_DRIFT,
                            .detail = "The approval belongs to another request.",
                            .field = "approval.actionId"});
  if (approval_->expectedRevision != row->revision)
    return RunReply(Refused{.code = ProblemCode::STALE_REVISION,
                            .field = "approval.expectedRevision",
                            .currentRevision = row->revision});
  if (row->state == state::ActionState::kProposed) return RunReply(ActionWaits{std::move(*row)});
  return execute(std::move(*row), decision.handle);
}

kj::Promise<RunReply> RunFlow::propose() {
  return prepare().then([this](std::optional<Refused>&& refused) -> kj::Promise<RunReply> {
    if (refused) return RunReply(std::move(*refused));
    const auto decision = decide();
    if (decision.verdict == policy::Verdict::kDeny) return denied(decision);
    if (decision.verdict == policy::Verdict::kAsk &&
        executor_.actions_.waiting() >= core_.config.limits.maxWaitingActions)
      return RunReply(Refused{.code = ProblemCode::RATE_LIMITED,
                              .detail = "So many actions wait for a decision that no more are taken.",
                              .retryAfterMs = 5000});
    auto proposed = row(decision);
    const bool allowed = decision.verdict == policy::Verdict::kAllow;
    if (allowed) sessionId_ = core_.ids.next(state::IdKind::kSession);
    struct Made {
      idempotency::Decision decision;
      state::ActionRow row;
    };
    return commit<Made>(core_, Step::kPropose,
                        [this, proposed, allowed](state::Transaction& transaction) mutable {
                          const auto now = core_.lived.now();
                          Made made{core_.idempotency.begin(transaction, Label::of(caller_.id()), key_,
                                                            requestDigest_, now),
                                    proposed};
                          if (!std::holds_alternative<idempotency::Fresh>(made.decision.outcome)) return made;
                          actions::open(transaction, made.row, actions::KeyNote::kFresh);
                          core_.idempotency.attachAction(transaction, made.decision.handle, made.row.id);
                          if (!allowed) {
                            core_.idempotency.wait(transaction, made.decision.handle, now);
                            return made;
                          }
                          made.row = actions::apply(transaction, made.row.id,
                                                    {.event = actions::Event::kBegin,
                                                     .sessionId = sessionId_,
                                                     .note = actions::KeyNote::kInFlight});
                          return made;
                        })
        .then([this, allowed](Outcome<Made>&& outcome) -> kj::Promise<RunReply> {
          if (auto* refusal = std::get_if<Refused>(&outcome)) return RunReply(std::move(*refusal));
          auto made = std::get<Made>(std::move(outcome));
          if (!std::holds_alternative<idempotency::Fresh>(made.decision.outcome))
            return judge(std::move(made.decision));
          if (!allowed) executor_.actions_.remember(made.row.id, commandText(preparation_.request()));
          executor_.actions_.changed(made.row);
          if (!allowed) return RunReply(ActionWaits{std::move(made.row)});
          action_ = std::move(made.row);
          handle_ = std::move(made.decision.handle);
          return start();
        });
  });
}

kj::Promise<RunReply> RunFlow::denied(const policy::Decision& decision) {
  // Nothing is stored but the record: the same key may come again when policy says something else.
  audit::Record record{
      .family = Code::of("terminal"),
      .operation = Code::of(operation_),
      .requester = Label::of(caller_.id()),
      .decision = Code::of("deny"),
      .idempotency = Code::of("none"),
      .result = Code::of("denied"),
      .target = Label::parse(preparation_.workspace().name + "/" + preparation_.label().text()),
      .failure = Code::parse(policy::label(decision.cause)),
      .requestDigest = requestDigest_};
  return commit<bool>(core_, Step::kDeny,
                      [record](state::Transaction& transaction) {
                        actions::note(transaction, record);
                        return true;
                      })
      .then([decision](Outcome<bool>&& outcome) -> RunReply {
        if (auto* refused = std::get_if<Refused>(&outcome)) return std::move(*refused);
        return blockedBy(decision);
      });
}

std::optional<Refused> RunFlow::drift(const state::ActionRow& approved) const {
  const auto revision = executor_.rules_.revision();
  if (approved.policyRevision != revision)
    return Refused{
        .code = ProblemCode::APPROVAL_DRIFT,
        .detail = {"Asked under policy revision ", approved.policyRevision, "; in force is ", revision, "."},
        .currentRevision = approved.revision};
  if (approved.programDigest != preparation_.programDigest() ||
      approved.operandDigests != preparation_.operandDigests() || approved.target != preparation_.label())
    return Refused{.code = ProblemCode::APPROVAL_DRIFT,
                   .detail = "The program or a script of it is not what was approved.",
                   .currentRevision = approved.revision};
  if (const auto decision = decide(); decision.verdict == policy::Verdict::kDeny) return blockedBy(decision);
  return std::nullopt;
}

kj::Promise<RunReply> RunFlow::execute(state::ActionRow approved, idempotency::KeyHandle handle) {
  return prepare().then([this, approved = std::move(approved), handle = std::move(handle)](
                            std::optional<Refused>&& refused) mutable -> kj::Promise<RunReply> {
    if (refused) return RunReply(std::move(*refused));
    if (auto drifted = drift(approved)) return RunReply(std::move(*drifted));
    return begin(std::move(approved), std::move(handle));
  });
}

kj::Promise<RunReply> RunFlow::begin(state::ActionRow approved, idempotency::KeyHandle handle) {
  sessionId_ = core_.ids.next(state::IdKind::kSession);
  handle_ = handle;
  return commit<state::ActionRow>(core_, Step::kBegin,
                                  [this, approved, handle](state::Transaction& transaction) {
                                    if (approved.expires && *approved.expires <= transaction.now())
                                      throw actions::Refusal({.code = ProblemCode::APPROVAL_EXPIRED,
                                                              .currentRevision = approved.revision});
                                    if (!core_.idempotency.claim(transaction, handle))
                                      throw actions::Refusal({.code = ProblemCode::IN_FLIGHT,
                                                              .retryAfterMs = idempotency::kRetryAfterMs});
                                    return actions::apply(transaction, approved.id,
                                                          {.event = actions::Event::kBegin,
                                                           .expectedRevision = approved.revision,
                                                           .sessionId = sessionId_,
                                                           .note = actions::KeyNote::kInFlight});
                                  })
      .then([this](Outcome<state::ActionRow>&& outcome) -> kj::Promise<RunReply> {
        if (auto* refused = std::get_if<Refused>(&outcome)) return RunReply(std::move(*refused));
        action_ = std::get<state::ActionRow>(std::move(outcome));
        executor_.actions_.changed(*action_);
        return start();
      });
}

kj::Promise<void> RunFlow::endReplaced() {
  auto* session = replaces_.empty() ? nullptr : executor_.sessions_.find(replaces_);
  if (session == nullptr || session->ended()) return kj::READY_NOW;
  return session->kill("restarted");
}

kj::Promise<RunReply> RunFlow::start() {
  return endReplaced().then([this]() -> kj::Promise<RunReply> {
    auto call = preparation_.session().startRequest();
    auto window = call.initWindow();
    window.setCols(preparation_.request().getCols());
    window.setRows(preparation_.request().getRows());
    call.initLimits();
    reach(core_.steps, Step::kStart, Edge::kBefore);
    return rpc::withDeadline(core_.timer, kStartLimit,
                             kj::Promise<capnp::Response<schema::Session::StartResults>>(call.send()))
        .then(
            [this](capnp::Response<schema::Session::StartResults>&& response) -> kj::Promise<RunReply> {
              reach(core_.steps, Step::kStart, Edge::kAfter);
              if (!response.hasMaster()) {
                const auto denial = response.getDenial();
                return fail(refusedFor(view(denial.getCode()), view(denial.getRule())), nullptr);
              }
              return attach(kj::mv(response));
            },
            [this](kj::Exception&& exception) {
              return preparation_.whyLost(exception).then([this](Refused&& refused) {
                const bool misbehaved = refused.code == ProblemCode::WORKER_MISBEHAVED;
                return fail(std::move(refused), misbehaved ? nullptr : "supervisor_lost");
              });
            });
  });
}

kj::Promise<RunReply> RunFlow::attach(capnp::Response<schema::Session::StartResults>&& response) {
  SessionFacts facts{.id = actions::idLabel(sessionId_),
                     .actionId = actions::idLabel(action_->id),
                     .workspace = Label::of(preparation_.workspace().name),
                     .program = preparation_.label(),
                     .resolved = preparation_.program(),
                     .network = preparation_.network(),
                     .owner = Label::of(caller_.id()),
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
      .then([this](bool attached) -> kj::Promise<RunReply> {
        if (attached) return finish();
        return session_->kill("worker_lost").then([this]() {
          if (session_->endedBy() == "worker_misbehaved")
            return fail({.code = ProblemCode::WORKER_MISBEHAVED}, "worker_misbehaved");
          return fail({.code = ProblemCode::PTY_UNAVAILABLE, .detail = "No pty worker could be started."},
                      "worker_lost");
        });
      });
}

kj::Promise<RunReply> RunFlow::finish() {
  const std::uint32_t status = 201;
  auto bytes = encodeReply<schema::Api::TerminalRunResults>([this](auto results) {
    using R = schema::Api::TerminalRunResults::Builder;
    session_->fillSummary(results.init(&R::initSession));
    actions::fillAction(*action_, {}, results.init(&R::initAction));
  });
  // The command runs: from here on the session's own life decides, whether or not the reply can be stored.
  const auto created = session_->facts().created;
  executor_.started(kj::mv(session_));
  const auto store = [this, bytes, created](state::Transaction& transaction) {
    // Stored late, the session may be over.
    const auto action = state::ActionTable(transaction.database()).find(action_->id);
    const bool ended = !action || action->state != state::ActionState::kExecuting;
    state::SessionTable(transaction.database())
        .insert({.id = sessionId_,
                 .actionId = action_->id,
                 .state = Code::of(ended ? "ended" : "running"),
                 .started = created});
    core_.idempotency.finish(transaction, *handle_, status, bytes, core_.lived.now());
    return true;
  };
  return insist<bool>(Step::kReply, store, [](bool) {})
      .then([bytes](Outcome<bool>&& outcome) mutable -> RunReply {
        if (auto* refused = std::get_if<Refused>(&outcome)) {
          refused->detail = "The command runs, but the reply could not be stored; read the action.";
          return std::move(*refused);
        }
        return StoredReply{.status = status, .bytes = std::move(bytes), .replay = Replay::kFirst};
      });
}

kj::Promise<RunReply> RunFlow::fail(Refused refused, const char* failure) {
  const auto status = json::problemKind(refused.code).status;
  auto bytes = encodeReply<schema::Api::TerminalRunResults>([&](auto results) {
    actions::fill(refused, results.init(&schema::Api::TerminalRunResults::Builder::initProblem));
  });
  const auto code = failure != nullptr ? Code::of(failure) : failureCode(refused);
  const auto record = [this, bytes, code, status](state::Transaction& transaction) {
    core_.idempotency.finish(transaction, *handle_, status, bytes, core_.lived.now());
    return actions::apply(transaction, action_->id,
                          {.event = actions::Event::kFail, .failure = code, .note = actions::KeyNote::kDone});
  };
  return insist<state::ActionRow>(Step::kFail, record,
                                  [this](const state::ActionRow& row) { executor_.actions_.changed(row); })
      .then([bytes, status](Outcome<state::ActionRow>&& outcome) mutable -> RunReply {
        if (auto* unrecorded = std::get_if<Refused>(&outcome)) return std::move(*unrecorded);
        return StoredReply{.status = status, .bytes = std::move(bytes), .replay = Replay::kFirst};
      });
}

template <typename T>
kj::Promise<Outcome<T>> RunFlow::insist(Step step, std::function<T(state::Transaction&)> change,
                                        std::function<void(const T&)> made) {
  return commit<T>(core_, step, change).then([this, step, change, made](Outcome<T>&& outcome) {
    const auto* refused = refusedIn(outcome);
    if (refused == nullptr) {
      made(std::get<T>(outcome));
    } else if (refused->retryAfterMs != 0) {
      auto again = core_.timer.afterDelay(kRecordRetry).then([this, step, change, made]() {
        return insist<T>(step, change, made).ignoreResult();
      });
      executor_.tasks_.add(again.attach(kj::addRef(*this)));
    }
    return kj::mv(outcome);
  });
}

}  // namespace factionos::broker
