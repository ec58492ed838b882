#include "workers/container/run.h"

#include <chrono>
#include <utility>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/deadline.h"
#include "workers/container/found.h"

namespace factionos::container {
namespace {

// From SIGKILL, and from a container that has ended, to what the engine says of it.
constexpr auto kKillLimit = 10 * kj::SECONDS;
constexpr auto kDrainLimit = 5 * kj::SECONDS;
constexpr auto kFinishLimit = 5 * kj::SECONDS;
constexpr auto kStartLimit = 30 * kj::SECONDS;
constexpr auto kSampleInterval = 2 * kj::SECONDS;
constexpr auto kAgain = 200 * kj::MILLISECONDS;
// A name is taken for a while after its container was removed; and an engine that is restarted comes back.
constexpr unsigned kTries = 25;

std::int64_t nowMs() {
  using std::chrono::milliseconds;
  return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool says(const Reply& reply, std::string_view words) {
  return reply.body.find(words) != std::string::npos;
}

}  // namespace

Run::Run(Engine& engine, Spec spec, schema::ContainerSink::Client sink)
    : engine_(engine),
      spec_(std::move(spec)),
      nameTries_(kTries),
      outlet_(kj::mv(sink)),
      output_(kj::READY_NOW),
      killed_(nullptr),
      started_(nullptr),
      ended_(nullptr),
      living_(nullptr) {
  auto killing = kj::newPromiseAndFulfiller<void>();
  auto starting = kj::newPromiseAndFulfiller<bool>();
  auto ending = kj::newPromiseAndFulfiller<void>();
  kill_ = kj::mv(killing.fulfiller);
  start_ = kj::mv(starting.fulfiller);
  end_ = kj::mv(ending.fulfiller);
  killed_ = killing.promise.fork();
  started_ = starting.promise.fork();
  ended_ = ending.promise.fork();
}

void Run::begin() {
  living_ = life().eagerlyEvaluate(nullptr);
}

void Run::kill() {
  if (!why_) why_ = End::kKilled;
  kill_->fulfill();
}

// Attached before it starts, or its first output would be lost; waited for before it starts, or its exit code
// could be; looked at meanwhile, so that nothing starts that is not as it was meant. Whatever goes wrong on
// the way, the last three are done.
kj::Promise<void> Run::life() {
  return unlessOver(&Run::create)
      .then([this]() { return unlessOver(&Run::compareAndListen); })
      .then([this]() { return unlessOver(&Run::start); })
      .then([this]() { return watch(); })
      .then([this]() { return drain(); })
      .then([this]() { return clearAndTell(); })
      // What is left to throw is a bug; nobody may wait for ever because of it.
      .catch_([this](kj::Exception&&) {
        fail("internal_error");
        start_->fulfill(false);
        end_->fulfill();
      });
}

kj::Promise<void> Run::unlessOver(Step step) {
  if (failed_ || why_ || stage_ == Stage::kEnded) return kj::READY_NOW;
  return (this->*step)();
}

void Run::fail(std::string_view code, std::string target) {
  failed_ = true;
  if (!outcome_.code.empty()) return;
  outcome_.code = code;
  outcome_.target = std::move(target);
}

// `code`: of an answer that is not the one which was hoped for.
void Run::failBy(const Reply& reply, std::string_view code) {
  if (reply.fault == Fault::kTimeout) return fail("engine_timeout");
  if (reply.fault != Fault::kNone) return fail("engine_unavailable");
  fail(code, std::to_string(reply.status));
}

kj::Promise<void> Run::create() {
  return engine_.version()
      .then([this](const Version& version) -> kj::Promise<Reply> {
        if (version.fault != Fault::kNone) return Reply{.fault = version.fault, .body = {}};
        manner_ = version.manner;
        mayExist_ = true;
        return engine_.ask({.method = "POST",
                            .target = "/containers/create?name=" + spec_.owner.name(),
                            .body = createBody(spec_, manner_)});
      })
      .then([this](const Reply& reply) -> kj::Promise<void> {
        // Older podman has no status of its own for a name that is taken.
        const bool taken =
            reply.is(409) || (reply.is(500) && manner_.dialect == Dialect::kPodman && says(reply, "in use"));
        if (taken) return adopt();
        if (reply.fault == Fault::kNone) mayExist_ = reply.status < 300;
        if (reply.is(404)) {
          fail("image_missing");
        } else if (!reply.is(201)) {
          const bool mount = reply.is(400) && says(reply, "mount");
          failBy(reply, mount ? "mount_refused" : "engine_refused");
        } else {
          const JsonDocument document(reply.body);
          id_ = idOf(document.root()).value_or("");
          stage_ = Stage::kCreated;
          if (id_.empty()) fail("engine_unavailable");
        }
        return kj::READY_NOW;
      });
}

// Something has the name. If it is what an earlier try of this very action made, it is this run's.
kj::Promise<void> Run::adopt() {
  mayExist_ = false;
  return look(engine_, spec_.owner.name()).then([this](const Seen& seen) -> kj::Promise<void> {
    const bool gone = seen.kind == Seen::Kind::kAbsent;
    if (seen.kind == Seen::Kind::kUnknown) {
      failBy({.fault = seen.fault, .body = {}}, "engine_refused");
      return kj::READY_NOW;
    }
    const JsonDocument document(seen.body);
    if (!gone && !isOfSpec(document.root(), spec_, manner_)) {
      fail("name_taken");
      return kj::READY_NOW;
    }
    const auto state = stateOf(document.root());
    if (gone || !state || state->life == Life::kRemoving) {
      if (nameTries_-- == 0 || why_) {
        fail("name_taken");
        return kj::READY_NOW;
      }
      return engine_.timer().afterDelay(kAgain).then([this]() { return create(); });
    }
    outcome_.adopted = true;
    id_ = idOf(document.root()).value_or("");
    stage_ = state->life == Life::kCreated ? Stage::kCreated : Stage::kRunning;
    if (state->life == Life::kEnded) settle(*state);
    return kj::READY_NOW;
  });
}

// Attaching and waiting start nothing, and the engine takes its time for each. Podman's attach makes what
// runs: there it is looked at before.
kj::Promise<void> Run::compareAndListen() {
  auto compared = compare();
  const bool first = manner_.dialect == Dialect::kPodman;
  auto before = first ? kj::mv(compared) : kj::Promise<void>(kj::READY_NOW);
  auto listening = before.then([this]() { return unlessOver(&Run::attach); }).then([this]() {
    return unlessOver(&Run::listenForEnd);
  });
  if (first) return listening;
  auto both = kj::heapArrayBuilder<kj::Promise<void>>(2);
  both.add(kj::mv(compared));
  both.add(kj::mv(listening));
  return kj::joinPromises(both.finish());
}

kj::Promise<void> Run::compare() {
  return look(engine_, id_).then([this](const Seen& seen) {
    if (seen.kind != Seen::Kind::kThere) return failBy({.fault = seen.fault, .body = {}}, "engine_refused");
    const JsonDocument document(seen.body);
    const bool same = spec_.imageId.empty() || imageIdIn(document.root(), "Image") == spec_.imageId;
    if (!same) return fail("image_changed");
    if (const char* field = differenceFrom(document.root(), spec_, manner_)) fail("not_as_meant", field);
  });
}

kj::Promise<void> Run::attach() {
  return engine_.attach("/containers/" + id_ + "/attach?stream=1&stdout=1&stderr=1")
      .then([this](Attached attached) {
        const bool open = attached.reply.is(101) || attached.reply.is(200);
        if (!open) return failBy(attached.reply, "engine_refused");
        take(attached.first);
        stream_ = kj::mv(attached.stream);
        FACTIONOS_IF_SOME(stream, stream_) {
          output_ = readOutput(*stream).catch_([](kj::Exception&&) {}).eagerlyEvaluate(nullptr);
        }
      });
}

// Podman answers for a container that has not started, at once and with nothing: there it is asked when it
// runs.
kj::Promise<void> Run::listenForEnd() {
  if (manner_.dialect == Dialect::kPodman) return kj::READY_NOW;
  const char* condition = stage_ == Stage::kCreated ? "next-exit" : "not-running";
  return engine_.wait("/containers/" + id_ + "/wait?condition=" + condition).then([this](Waiting waiting) {
    waiting_ = kj::mv(waiting.reply);
    return kj::mv(waiting.accepted);
  });
}

kj::Promise<void> Run::start() {
  if (stage_ == Stage::kRunning) {
    outcome_.startedMs = nowMs();
    start_->fulfill(true);
    return kj::READY_NOW;
  }
  return engine_.ask({.method = "POST", .target = "/containers/" + id_ + "/start", .limit = kStartLimit})
      .then([this](const Reply& reply) {
        if (reply.is(204) || reply.is(304)) {
          stage_ = Stage::kRunning;
          outcome_.startedMs = nowMs();
          return start_->fulfill(true);
        }
        const bool network = reply.is(404) && spec_.egress;
        failBy(reply, network ? "network_missing" : "start_refused");
      });
}

// Until it has ended: by itself, by its time or by a kill.
kj::Promise<void> Run::watch() {
  start_->fulfill(false);  // it has been fulfilled where that is not so
  if (stage_ != Stage::kRunning) return kj::READY_NOW;
  auto sampling = samplePids().eagerlyEvaluate(nullptr);
  auto over = engine_.timer().afterDelay(spec_.timeoutMs * kj::MILLISECONDS).then([this]() {
    if (!why_) why_ = End::kTimedOut;
  });
  auto stopped = killed_.addBranch().exclusiveJoin(kj::mv(over)).then([this]() { return stop(); });
  return untilEnded().exclusiveJoin(kj::mv(stopped)).attach(kj::mv(sampling));
}

kj::Promise<void> Run::untilEnded() {
  FACTIONOS_IF_SOME(waiting, waiting_) {
    auto waited = kj::mv(waiting);
    waiting_ = rpc::kNone;
    return waited.then([this](const Reply&) { return learnEnd(kTries); });
  }
  return learnEnd(kTries);
}

// The engine's word on how it ended; where it runs still, it is waited for again. An answer may be lost with
// its connection, its engine be restarted: neither ends the container, nor says that it ended well.
kj::Promise<void> Run::learnEnd(unsigned tries) {
  return look(engine_, id_).then([this, tries](const Seen& seen) -> kj::Promise<void> {
    const JsonDocument document(seen.body);
    const auto state = stateOf(document.root());
    if (state && (state->life == Life::kEnded || state->life == Life::kRemoving)) {
      settle(*state);
      return kj::READY_NOW;
    }
    if (seen.kind == Seen::Kind::kAbsent || tries == 0) {
      settle({Life::kRemoving});
      return kj::READY_NOW;
    }
    const bool runs = state.has_value();
    return engine_.timer().afterDelay(kAgain).then([this, tries, runs]() -> kj::Promise<void> {
      if (!runs) return learnEnd(tries - 1);
      return engine_.wait("/containers/" + id_ + "/wait?condition=not-running").then([this](Waiting waiting) {
        return waiting.reply.then([this](const Reply&) { return learnEnd(kTries); });
      });
    });
  });
}

void Run::settle(const State& state) {
  stage_ = Stage::kEnded;
  outcome_.endedMs = nowMs();
  outcome_.exitCode = state.exitCode;
  // One of several processes may have been killed for its memory, and the others have gone on.
  const bool byMemory = state.outOfMemory && state.exitCode != 0;
  const End byItself = byMemory ? End::kOutOfMemory : End::kExited;
  outcome_.end = why_.value_or(state.exitCode < 0 ? End::kLost : byItself);
  if (outcome_.end == End::kLost) fail("engine_unavailable");
}

kj::Promise<void> Run::stop() {
  auto graceful = signal(engine_, id_, "SIGTERM").then([this]() { return learnEnd(kTries); });
  return rpc::withDeadline(engine_.timer(), spec_.graceMs * kj::MILLISECONDS, kj::mv(graceful))
      .catch_([this](kj::Exception&&) {
        auto killed = signal(engine_, id_, "SIGKILL").then([this]() { return learnEnd(kTries); });
        return rpc::withDeadline(engine_.timer(), kKillLimit, kj::mv(killed));
      })
      .catch_([this](kj::Exception&&) { settle({Life::kRemoving}); });
}

kj::Promise<void> Run::readOutput(kj::AsyncIoStream& stream) {
  return stream.tryRead(buffer_.data(), 1, buffer_.size())
      .then([this, &stream](std::size_t got) -> kj::Promise<void> {
        if (got == 0) {
          if (frames_.withinFrame()) outcome_.outputUnreadable = true;
          return kj::READY_NOW;
        }
        take({buffer_.data(), got});
        return readOutput(stream);
      });
}

// What is no stream of frames is read and thrown away, and counted: a container whose output nobody takes
// would stand still.
void Run::take(std::string_view bytes) {
  while (!bytes.empty() && !frames_.broken()) {
    const FrameReader::Piece piece = frames_.next(bytes);
    outlet_.push(piece.source, piece.bytes);
  }
  outcome_.outputUnreadable = frames_.broken();
  outlet_.lose(bytes.size());
}

kj::Promise<void> Run::samplePids() {
  if (manner_.dialect == Dialect::kPodman) return kj::READY_NOW;
  return engine_.timer()
      .afterDelay(kSampleInterval)
      .then([this]() { return engine_.ask({.target = "/containers/" + id_ + "/stats?stream=0&one-shot=1"}); })
      .then([this](const Reply& reply) -> kj::Promise<void> {
        const JsonDocument document(reply.body);
        const auto current = integerOf(member(member(document.root(), "pids_stats"), "current"));
        if (current && *current >= spec_.pids) outcome_.pidsReached = true;
        if (outcome_.pidsReached) return kj::READY_NOW;
        return samplePids();
      });
}

kj::Promise<void> Run::drain() {
  auto read = stage_ == Stage::kEnded ? kj::mv(output_) : kj::Promise<void>(kj::READY_NOW);
  return rpc::withDeadline(engine_.timer(), kDrainLimit, kj::mv(read))
      .catch_([](kj::Exception&&) {})
      .then([this]() {
        output_ = kj::READY_NOW;
        stream_ = rpc::kNone;
        waiting_ = rpc::kNone;
      });
}

kj::Promise<void> Run::clear() {
  if (!id_.empty()) {
    return remove(engine_, id_).then([this](bool gone) {
      outcome_.removal = gone ? Gone::kRemoved : Gone::kLeft;
    });
  }
  if (!mayExist_) return kj::READY_NOW;
  return sweep(engine_, spec_.owner).then([this](Swept swept) {
    outcome_.removal = swept == Swept::kLeft ? Gone::kLeft : Gone::kRemoved;
  });
}

// The broker has all of the output when it hears of the end; neither waits for the other.
kj::Promise<void> Run::clearAndTell() {
  if (stage_ != Stage::kEnded && why_ == End::kKilled && !failed_) outcome_.end = End::kKilled;
  auto both = kj::heapArrayBuilder<kj::Promise<void>>(2);
  both.add(clear());
  both.add(outlet_.finish(engine_.timer(), kFinishLimit));
  return kj::joinPromises(both.finish()).then([this]() {
    outcome_.totalBytes = outlet_.totalBytes();
    outcome_.droppedBytes = outlet_.droppedBytes();
    end_->fulfill();
  });
}

}  // namespace factionos::container
