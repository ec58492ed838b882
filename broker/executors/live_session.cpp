#include "broker/executors/live_session.h"

#include <algorithm>
#include <utility>

#include "broker/core/log.h"
#include "broker/executors/worker_sink.h"
#include "protocol/rpc/deadline.h"

namespace factionos::broker {
namespace {

using audit::Code;

// The kernel keeps at most a few pages behind a master whose slave is closed, so draining is a matter of
// milliseconds; a worker that takes so long, however busy the machine, does not answer.
constexpr auto kDrainLimit = 10 * kj::SECONDS;
// Typing waits for the program to read; past this the caller hears that it does not.
constexpr auto kInputLimit = 5 * kj::SECONDS;
constexpr auto kControlLimit = 5 * kj::SECONDS;
// From the schema: at most so much a call.
constexpr std::size_t kMaxChunk = 64 * 1024;
// Above all labels that a session has (docs/operating.md).
constexpr std::size_t kMaxPosture = 32;
// Of the session's posture.
constexpr std::string_view kMetadataUnguarded = "metadata:unguarded";
// Compared by address: one object each.
constexpr const char* kWorkerLost = "worker_lost";
constexpr const char* kSupervisorLost = "supervisor_lost";
constexpr const char* kWorkerMisbehaved = "worker_misbehaved";

SessionOutput::Instant now() {
  return std::chrono::steady_clock::now();
}

std::optional<Refused> refusedBy(schema::Denial::Reader denial) {
  const auto code = denial.getCode();
  if (code == "ended") return Refused{.code = schema::ProblemCode::SESSION_ENDED};
  if (code == "line_too_long")
    return Refused{.code = schema::ProblemCode::INPUT_REFUSED,
                   .detail = "In line mode a line has at most 4095 bytes; nothing was typed.",
                   .field = "data"};
  return Refused{.code = schema::ProblemCode::INPUT_REFUSED,
                 .detail = "The program does not read; only a part was typed.",
                 .field = "data"};
}

}  // namespace

// What the pty worker may call.
class LiveSession::Sink final : public WorkerSink<schema::OutputSink, LiveSession> {
 public:
  using WorkerSink::WorkerSink;

  kj::Promise<void> write(WriteContext context) override {
    hear([&context](LiveSession& session) { session.received(context.getParams().getBytes()); });
    return kj::READY_NOW;
  }
  kj::Promise<void> end(EndContext context) override {
    hear([&context](LiveSession& session) { session.drained(context.getParams().getTotalBytes()); });
    return kj::READY_NOW;
  }

 private:
  void broke(LiveSession& live, redaction::Literal breach) override { live.misbehaved(breach); }
};

LiveSession::LiveSession(Core& core, SessionFacts facts, StartedSession supervisor, const MaskRules& rules,
                         kj::Own<capnp::MallocMessageBuilder> request)
    : core_(core),
      facts_(std::move(facts)),
      supervisor_(kj::mv(supervisor)),
      request_(kj::mv(request)),
      output_(rules, core.config.limits.outputCapBytes),
      self_(std::make_shared<LiveSession*>(this)),
      drainedPromise_(nullptr),
      tasks_(*this) {
  output_.setColumns(facts_.cols);
  auto paf = kj::newPromiseAndFulfiller<void>();
  drainedFulfiller_ = kj::mv(paf.fulfiller);
  drainedPromise_ = paf.promise.fork();
}

LiveSession::~LiveSession() noexcept(false) = default;

kj::Promise<bool> LiveSession::attach(StartedPty pty, schema::Descriptor::Client master) {
  auto request = pty.pty.attachRequest();
  request.setMaster(kj::mv(master));
  request.setSink(kj::heap<Sink>(self_));
  reach(core_.steps, Step::kAttach, Edge::kBefore);
  auto reply = rpc::withDeadline(core_.timer, kControlLimit,
                                 kj::Promise<capnp::Response<schema::Pty::AttachResults>>(request.send()));
  auto judged = pty.worker.line->onDisconnect()
                    .then([this](rpc::DisconnectCause cause) { return lineEnded(cause); },
                          [](kj::Exception&&) {
                            // The line was dropped by us, at the session's end.
                          })
                    .fork();
  pty_ = kj::mv(pty);
  tasks_.add(judged.addBranch());
  auto answered = reply.then(
      [this](capnp::Response<schema::Pty::AttachResults>&& response) -> kj::Promise<void> {
        reach(core_.steps, Step::kAttach, Edge::kAfter);
        if (!response.hasTerminal()) return kj::READY_NOW;
        terminal_ = response.getTerminal();
        state_ = schema::SessionState::RUNNING;
        wake();
        return kj::READY_NOW;
      },
      [this, judged = kj::mv(judged)](kj::Exception&& exception) mutable -> kj::Promise<void> {
        if (rpc::isDeadlineExceeded(exception)) {
          misbehaved("no_answer");
          return kj::READY_NOW;
        }
        // Mostly its line has ended. If it has not, the worker answered with an exception, as none of ours
        // does.
        auto alive = core_.timer.afterDelay(kControlLimit).then([this]() { misbehaved("exception"); });
        return judged.addBranch().exclusiveJoin(kj::mv(alive));
      });
  return answered.then([this]() {
    const bool attached = terminal_ != rpc::kNone && !misbehaved_;
    if (!attached && endReason_ == nullptr) endReason_ = kWorkerLost;
    return attached;
  });
}

// A worker that goes before it has drained takes the session with it.
kj::Promise<void> LiveSession::lineEnded(rpc::DisconnectCause cause) {
  if (cause == rpc::DisconnectCause::kProtocolViolation) misbehaved("protocol");
  if (drainedDone_ || misbehaved_) return kj::READY_NOW;
  FACTIONOS_IF_SOME(pty, pty_) {
    // At once: the command may die of its terminal's end before anything else is known.
    if (endReason_ == nullptr) endReason_ = kWorkerLost;
    return judgeEnd(core_.timer, pty.worker.process, cause).then([this](WorkerEnd end) -> kj::Promise<void> {
      if (end.kind == WorkerEnd::Kind::kMisbehaved) {
        misbehaved(end.breach, end.syscall);
        return kj::READY_NOW;
      }
      stopDraining();
      return kill(kWorkerLost);
    });
  }
  return kj::READY_NOW;
}

kj::Promise<void> LiveSession::judgeLostSupervisor() {
  exit_ = {Exit::Kind::kLost, 0};
  if (endReason_ == nullptr) endReason_ = kSupervisorLost;
  return judgeEnd(core_.timer, KJ_ASSERT_NONNULL(supervisor_).process, rpc::DisconnectCause::kPeerClosed)
      .then([this](WorkerEnd end) {
        if (end.kind != WorkerEnd::Kind::kMisbehaved) return;
        logMisbehaved("session", facts_.id, end);
        if (endReason_ == kSupervisorLost) endReason_ = kWorkerMisbehaved;
      });
}

void LiveSession::setPosture(capnp::List<capnp::Text>::Reader labels) {
  for (const auto label : labels) {
    if (posture_.size() == kMaxPosture) break;
    if (auto parsed = audit::Label::parse(std::string_view(label.begin(), label.size())))
      posture_.push_back(std::move(*parsed));
  }
}

void LiveSession::received(capnp::Data::Reader bytes) {
  if (misbehaved_) return;
  if (bytes.size() > kMaxChunk) return misbehaved("chunk_size");
  if (drainedDone_) return misbehaved("output_after_end");
  output_.feed({bytes.begin(), bytes.size()}, now());
  planTick();
  wake();
}

void LiveSession::drained(std::uint64_t totalBytes) {
  if (misbehaved_) return;
  if (drainedDone_) return misbehaved("end_twice");
  if (totalBytes != output_.rawBytes()) return misbehaved("end_count");
  stopDraining();
}

void LiveSession::stopDraining() {
  if (drainedDone_) return;
  drainedDone_ = true;
  output_.finish();
  drainedFulfiller_->fulfill();
  wake();
}

void LiveSession::misbehaved(redaction::Literal breach, int syscall) {
  if (misbehaved_) return;
  misbehaved_ = true;
  logMisbehaved("pty", facts_.id, {WorkerEnd::Kind::kMisbehaved, breach, syscall});
  if (endReason_ == nullptr || endReason_ == kWorkerLost) endReason_ = kWorkerMisbehaved;
  // Later: this may run inside of a call on the very line that is dropped.
  tasks_.add(kj::evalLater([this]() {
    stopDraining();
    terminal_ = rpc::kNone;
    pty_ = rpc::kNone;
    return kill(kWorkerMisbehaved);
  }));
}

void LiveSession::planTick() {
  const auto deadline = output_.deadline();
  if (!deadline || ticking_) return;
  ticking_ = true;
  const auto wait = std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - now()).count(), 0);
  tasks_.add(core_.timer.afterDelay(wait * kj::MILLISECONDS).then([this]() {
    ticking_ = false;
    if (drainedDone_) return;
    const auto before = output_.shownBytes();
    output_.tick(now());
    if (output_.shownBytes() != before) wake();
    planTick();
  }));
}

// Again after each answer, which the supervisor holds back for a while; until the line is gone.
void LiveSession::hearDenials() {
  FACTIONOS_IF_SOME(supervisor, supervisor_) {
    tasks_.add(supervisor.session.denialsRequest().send().then(
        [this](capnp::Response<schema::Session::DenialsResults>&& response) {
          if (exit_.kind != Exit::Kind::kRunning) return;
          if (denials_.take(response.getDenials())) wake();
          hearDenials();
        },
        [](kj::Exception&&) {}));
  }
}

void LiveSession::takeExit(schema::Session::ExitedResults::Reader results) {
  denials_.take(results.getDenials());
  const auto exit = results.getExit();
  switch (exit.which()) {
    case schema::Exit::CODE:
      exit_ = {Exit::Kind::kCode, exit.getCode()};
      break;
    case schema::Exit::SIGNAL:
      exit_ = {Exit::Kind::kSignal, exit.getSignal()};
      break;
    default:
      exit_ = {Exit::Kind::kLost, 0};
  }
  if (endReason_ != nullptr) return;
  switch (results.getReason()) {
    case schema::EndReason::LIMIT_PROCESSES:
      endReason_ = "limit_processes";
      break;
    case schema::EndReason::LIMIT_MEMORY:
      endReason_ = "limit_memory";
      break;
    case schema::EndReason::LIMIT_CPU:
      endReason_ = "limit_cpu";
      break;
    case schema::EndReason::APPROVAL_DRIFT:
      endReason_ = "approval_drift";
      break;
    default:
      // The session outlives its keeper and tells.
      if (exit_.kind == Exit::Kind::kLost) endReason_ = kSupervisorLost;
  }
}

kj::Promise<Ending> LiveSession::watch() {
  // Held in memory until recorded: the promise chain owns nothing of this session but `this`, which its book
  // keeps.
  reach(core_.steps, Step::kExited, Edge::kBefore);
  auto exited =
      KJ_ASSERT_NONNULL(supervisor_)
          .session.exitedRequest()
          .send()
          .then(
              [this](capnp::Response<schema::Session::ExitedResults>&& response) -> kj::Promise<void> {
                reach(core_.steps, Step::kExited, Edge::kAfter);
                takeExit(response);
                return kj::READY_NOW;
              },
              [this](kj::Exception&&) { return judgeLostSupervisor(); });
  hearDenials();
  tasks_.add(core_.timer.afterDelay(facts_.timeoutMs * kj::MILLISECONDS).then([this]() {
    if (exit_.kind == Exit::Kind::kRunning) tasks_.add(kill("timed_out"));
  }));
  return exited
      .then([this]() {
        return rpc::withDeadline(core_.timer, kDrainLimit, drainedPromise_.addBranch())
            .catch_([this](kj::Exception&&) { misbehaved("does_not_drain"); });
      })
      .then([this]() {
        stopDraining();
        // What is remembered of the session is memory alone.
        abandon();
        tightenHome();
        return judge();
      });
}

void LiveSession::abandon() {
  // The processes go with their capabilities.
  terminal_ = rpc::kNone;
  pty_ = rpc::kNone;
  supervisor_ = rpc::kNone;
}

// Modes are nobody's to guard where there is no mount namespace: Landlock does not look at them.
void LiveSession::tightenHome() const {
  if (std::ranges::find(posture_, kMetadataUnguarded, &audit::Label::text) == posture_.end()) return;
  if (!core_.home.tighten()) log(Level::kError, "home_not_closed", {{"session", facts_.id}});
}

Ending LiveSession::judge() const {
  Ending ending{.counts = counts()};
  if (exit_.kind == Exit::Kind::kCode) ending.exitCode = exit_.number;
  if (exit_.kind == Exit::Kind::kSignal) ending.exitCode = 256 + exit_.number;
  if (endReason_ != nullptr) {
    ending.failure = Code::of(endReason_);
    ending.event =
        std::string_view(endReason_) == "timed_out" ? actions::Event::kTimeOut : actions::Event::kFail;
  } else if (exit_.kind == Exit::Kind::kCode && exit_.number == 0) {
    ending.event = actions::Event::kSucceed;
  } else {
    ending.failure = Code::of(exit_.kind == Exit::Kind::kSignal ? "exit_signal" : "exit_status");
  }
  return ending;
}

state::ActionCounts LiveSession::counts() const {
  return {.bytesIn = inputBytes_,
          .bytesOut = output_.totalBytes(),
          .droppedBytes = output_.droppedBytes(),
          .denials = denials_.total()};
}

void LiveSession::close(const Ending& ending) {
  state_ = schema::SessionState::ENDED;
  endedAt_ = audit::systemNow();
  failure_ = ending.failure;
  switch (ending.event) {
    case actions::Event::kSucceed:
      outcome_ = schema::ActionState::SUCCEEDED;
      break;
    case actions::Event::kTimeOut:
      outcome_ = schema::ActionState::TIMED_OUT;
      break;
    default:
      outcome_ = schema::ActionState::FAILED;
  }
  wake();
}

kj::Promise<std::optional<Refused>> LiveSession::input(std::string data) {
  FACTIONOS_IF_SOME(terminal, terminal_) {
    auto request = terminal.inputRequest();
    request.setData({reinterpret_cast<const kj::byte*>(data.data()), data.size()});
    const auto size = data.size();
    reach(core_.steps, Step::kInput, Edge::kBefore);
    return rpc::withDeadline(core_.timer, kInputLimit,
                             kj::Promise<capnp::Response<schema::Terminal::InputResults>>(request.send()))
        .then(
            [this,
             size](capnp::Response<schema::Terminal::InputResults>&& response) -> std::optional<Refused> {
              reach(core_.steps, Step::kInput, Edge::kAfter);
              ++inputCount_;
              const bool denied = response.hasDenial() && response.getDenial().hasCode();
              if (!denied) inputBytes_ += size;
              wake();
              return denied ? std::optional(refusedBy(response.getDenial())) : std::nullopt;
            },
            [](kj::Exception&& exception) -> std::optional<Refused> {
              if (rpc::isDeadlineExceeded(exception))
                return Refused{.code = schema::ProblemCode::INPUT_REFUSED,
                               .detail = "The program does not read.",
                               .field = "data"};
              return Refused{.code = schema::ProblemCode::SESSION_ENDED};
            });
  }
  return std::optional<Refused>(Refused{.code = schema::ProblemCode::SESSION_ENDED});
}

kj::Promise<std::optional<Refused>> LiveSession::resize(std::uint16_t cols, std::uint16_t rows) {
  FACTIONOS_IF_SOME(terminal, terminal_) {
    auto request = terminal.resizeRequest();
    request.setCols(cols);
    request.setRows(rows);
    reach(core_.steps, Step::kResize, Edge::kBefore);
    return rpc::withDeadline(core_.timer, kControlLimit,
                             kj::Promise<capnp::Response<schema::Terminal::ResizeResults>>(request.send()))
        .then(
            [this, cols,
             rows](capnp::Response<schema::Terminal::ResizeResults>&& response) -> std::optional<Refused> {
              reach(core_.steps, Step::kResize, Edge::kAfter);
              if (response.hasDenial() && response.getDenial().hasCode())
                return Refused{.code = schema::ProblemCode::SESSION_ENDED};
              facts_.cols = cols;
              facts_.rows = rows;
              output_.setColumns(cols);
              wake();
              return std::nullopt;
            },
            [](kj::Exception&&) -> std::optional<Refused> {
              return Refused{.code = schema::ProblemCode::SESSION_ENDED};
            });
  }
  return std::optional<Refused>(Refused{.code = schema::ProblemCode::SESSION_ENDED});
}

kj::Promise<std::optional<Refused>> LiveSession::signal(std::uint8_t number) {
  if (state_ != schema::SessionState::RUNNING || exit_.kind != Exit::Kind::kRunning)
    return std::optional<Refused>(Refused{.code = schema::ProblemCode::SESSION_ENDED});
  auto request = KJ_ASSERT_NONNULL(supervisor_).session.signalRequest();
  request.setNumber(number);
  reach(core_.steps, Step::kSignal, Edge::kBefore);
  return rpc::withDeadline(core_.timer, kControlLimit,
                           kj::Promise<capnp::Response<schema::Session::SignalResults>>(request.send()))
      .then(
          [this](capnp::Response<schema::Session::SignalResults>&& response) -> std::optional<Refused> {
            reach(core_.steps, Step::kSignal, Edge::kAfter);
            wake();
            if (response.hasDenial() && response.getDenial().hasCode())
              return Refused{.code = schema::ProblemCode::SESSION_ENDED};
            return std::nullopt;
          },
          [](kj::Exception&&) -> std::optional<Refused> {
            return Refused{.code = schema::ProblemCode::SESSION_ENDED};
          });
}

kj::Promise<void> LiveSession::kill(const char* reason) {
  if (exit_.kind != Exit::Kind::kRunning) return kj::READY_NOW;
  if (endReason_ == nullptr) endReason_ = reason;
  wake();
  FACTIONOS_IF_SOME(supervisor, supervisor_) {
    reach(core_.steps, Step::kKill, Edge::kBefore);
    // One that has ended what it was to end may be gone before it answers.
    return supervisor.session.killRequest()
        .send()
        .ignoreResult()
        .catch_([](kj::Exception&&) {})
        // Who waits for several kills may look at this one when the session is forgotten.
        .then([&core = core_]() { reach(core.steps, Step::kKill, Edge::kAfter); });
  }
  return kj::READY_NOW;
}

kj::Promise<void> LiveSession::whenChanged() {
  std::erase_if(watchers_, [](auto& each) { return !each->isWaiting(); });
  auto paf = kj::newPromiseAndFulfiller<void>();
  watchers_.push_back(kj::mv(paf.fulfiller));
  return kj::mv(paf.promise);
}

void LiveSession::wake() {
  ++revision_;
  for (auto& each : watchers_) each->fulfill();
  watchers_.clear();
  core_.changes.touch();
}

std::shared_ptr<LiveSession::KeyEntry> LiveSession::keyed(const std::string& key,
                                                          const audit::Digest& digest) {
  const auto found = keys_.find(key);
  if (found != keys_.end()) return found->second;
  auto entry = std::make_shared<KeyEntry>(KeyEntry{.digest = digest, .refused = std::nullopt});
  keys_.emplace(key, entry);
  keyOrder_.push_back(key);
  if (keyOrder_.size() > kMaxKeys) {
    keys_.erase(keyOrder_.front());
    keyOrder_.pop_front();
  }
  return entry;
}

void LiveSession::taskFailed(kj::Exception&&) {
  log(Level::kError, "session_task_failed", {{"session", facts_.id}});
}

}  // namespace factionos::broker
