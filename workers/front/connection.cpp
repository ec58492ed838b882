#include "workers/front/connection.h"

#include <algorithm>
#include <utility>

#include <kj/exception.h>

#include "protocol/rpc/compat.h"
#include "workers/front/reply_head.h"

namespace factionos::front {
namespace {

schema::ProblemCode codeOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      break;
    case Refusal::kMalformed:
      return schema::ProblemCode::INVALID_HEADER;
    case Refusal::kLengthRequired:
      return schema::ProblemCode::LENGTH_REQUIRED;
    case Refusal::kTargetTooLong:
      return schema::ProblemCode::TARGET_TOO_LONG;
    case Refusal::kExpectationFailed:
      return schema::ProblemCode::EXPECTATION_FAILED;
    case Refusal::kHeaderTooLarge:
      return schema::ProblemCode::HEADER_TOO_LARGE;
    case Refusal::kVersionUnsupported:
      return schema::ProblemCode::VERSION_UNSUPPORTED;
  }
  return schema::ProblemCode::INVALID_HEADER;
}

}  // namespace

bool BodyBudget::take(std::uint64_t bytes) {
  if (bytes > left_) return false;
  left_ -= bytes;
  return true;
}

Connection::Connection(kj::Own<kj::AsyncIoStream> stream, Transport transport, ConnectionServices& services)
    : services_(services),
      stream_(kj::mv(stream)),
      inlet_(*stream_),
      outlet_(*stream_, services.timer, services.deadlines.write),
      since_(services.timer.now()),
      deadline_(since_ + services.deadlines.header),
      windowEnd_(since_) {
  peer_.transport = transport;
  FACTIONOS_IF_SOME(descriptor, stream_->getFd()) {
    peer_.descriptor = descriptor;
  }
}

Connection::~Connection() noexcept(false) {
  releaseBody();
}

kj::Promise<void> Connection::serve() {
  auto aborted = kj::newPromiseAndFulfiller<void>();
  abort_ = kj::mv(aborted.fulfiller);
  return kj::evalNow([this] { return nextRequest(); })
      .exclusiveJoin(kj::mv(aborted.promise))
      .catch_([this](kj::Exception&&) { ++services_.failures; });  // a bug: this connection is over, no other
}

void Connection::abort() {
  enter(Phase::kEnding);
  abort_->fulfill();
}

void Connection::finish() {
  finishing_ = true;
  if (phase_ == Phase::kIdle || phase_ == Phase::kHeader) abort();
}

void Connection::enter(Phase phase) {
  phase_ = phase;
  since_ = services_.timer.now();
}

// ---- The header

kj::Promise<void> Connection::nextRequest() {
  gate_.reset();
  request_ = nullptr;
  return hearHeader().then([this](Heard heard) -> kj::Promise<void> {
    switch (heard) {
      case Heard::kGone:
        return kj::READY_NOW;
      case Heard::kRefused:
        return refuse(refused_);
      case Heard::kComplete:
        return takeHeader();
    }
    KJ_UNREACHABLE;
  });
}

kj::Promise<Connection::Heard> Connection::hearHeader() {
  if (gate_.length() == 0 && !inlet_.bytes().empty()) {
    deadline_ = services_.timer.now() + services_.deadlines.header;
    enter(Phase::kHeader);
  }
  const Heard heard = feedGate();
  if (gate_.state() != HeaderGate::State::kMore) return heard;
  if (inlet_.ended()) return Heard::kGone;
  return input(gate_.length(), deadline_).then([this](Wait wait) -> kj::Promise<Heard> {
    if (wait == Wait::kReady) return hearHeader();
    // Who has sent nothing waits for no answer, and might take it for the answer to what it sends next.
    if (gate_.length() == 0) return Heard::kGone;
    refused_ = schema::ProblemCode::REQUEST_TIMEOUT;
    return Heard::kRefused;
  });
}

Connection::Heard Connection::feedGate() {
  switch (gate_.feed(inlet_.bytes().substr(gate_.length()))) {
    case HeaderGate::State::kComplete:
      return Heard::kComplete;
    case HeaderGate::State::kRefused:
      refused_ = codeOf(gate_.refusal());
      return Heard::kRefused;
    case HeaderGate::State::kMore:
      break;
  }
  return Heard::kGone;
}

kj::Promise<void> Connection::takeHeader() {
  enter(Phase::kServing);
  request_ = std::make_unique<Request>();
  Request& request = *request_;
  request.block = inlet_.bytes().substr(0, gate_.length());
  inlet_.consume(gate_.length());
  request.id = services_.requestIdPrefix + std::to_string(services_.nextRequest++);
  splitHeaderBlock(request.block, request.head);
  if (const Refusal why = checkSemantics(request.head, request.semantics); why != Refusal::kNone)
    return refuse(codeOf(why));
  parser_ = std::make_unique<RequestParser>();
  switch (parser_->putHeader(request.block, request.head, request.semantics)) {
    case RequestParser::Status::kMalformed:
      return refuse(schema::ProblemCode::INVALID_HEADER);
    case RequestParser::Status::kTooLarge:
      return refuse(schema::ProblemCode::TOO_LARGE);
    case RequestParser::Status::kMore:
    case RequestParser::Status::kDone:
      break;
  }
  const std::size_t query = request.head.target.find('?');
  request.path = request.head.target.substr(0, query);
  if (query != std::string_view::npos) request.query = request.head.target.substr(query + 1);
  return kj::evalNow([this, &request] { return services_.handler.plan(request, peer_); })
      .then([this](Plan plan) { return follow(std::move(plan)); },
            [this](kj::Exception&&) {
              ++services_.failures;
              return refuse(schema::ProblemCode::UNSPECIFIED);
            });
}

kj::Promise<void> Connection::follow(Plan plan) {
  if (auto* reply = std::get_if<Reply>(&plan)) return answerNow(std::move(*reply));
  if (auto* takeover = std::get_if<std::unique_ptr<Takeover>>(&plan)) {
    takeover_ = std::move(*takeover);
    return stream(*takeover_);
  }
  return serveBody(std::move(std::get<std::unique_ptr<Work>>(plan)));
}

// ---- The body

kj::Promise<void> Connection::answerNow(Reply reply) {
  const Semantics& semantics = request_->semantics;
  if (parser_->missing() > 0) {
    // A client that waits for 100 may send its body or not: nobody can tell where the next request would
    // begin.
    if (semantics.expect == Expect::kContinue || semantics.contentLength > kMaxDrainedBody)
      reply.after = Persistence::kClose;
  }
  if (parser_->missing() == 0 || reply.after == Persistence::kClose) return answer(std::move(reply));
  reply_ = std::move(reply);
  beginBody();
  return hearBody().then([this](Heard heard) -> kj::Promise<void> {
    if (heard == Heard::kGone) return kj::READY_NOW;
    return heard == Heard::kRefused ? refuse(refused_) : answer(std::move(reply_));
  });
}

kj::Promise<void> Connection::serveBody(std::unique_ptr<Work> work) {
  work_ = std::move(work);
  if (!services_.bodies.take(parser_->missing())) return refuse(schema::ProblemCode::RATE_LIMITED);
  budgeted_ = parser_->missing();
  beginBody();
  kj::Promise<Written> invited = Written::kAll;
  if (request_->semantics.expect == Expect::kContinue && parser_->missing() > 0 && inlet_.bytes().empty())
    invited = outlet_.write("HTTP/1.1 100 Continue\r\n\r\n");
  return invited
      .then([this](Written written) -> kj::Promise<Heard> {
        return written == Written::kLost ? kj::Promise<Heard>(Heard::kGone) : hearBody();
      })
      .then([this](Heard heard) -> kj::Promise<void> {
        if (heard == Heard::kGone) return kj::READY_NOW;
        if (heard == Heard::kRefused) return refuse(refused_);
        return runWatched(*work_).then([this](Reply reply) {
          releaseBody();
          return answer(std::move(reply));
        });
      });
}

kj::Promise<Connection::Heard> Connection::hearBody() {
  while (parser_->missing() > 0 && !inlet_.bytes().empty()) {
    std::size_t used = 0;
    const auto status = parser_->putBody(inlet_.bytes(), used);
    if (status == RequestParser::Status::kMalformed || status == RequestParser::Status::kTooLarge ||
        used == 0) {
      refused_ = status == RequestParser::Status::kTooLarge ? schema::ProblemCode::TOO_LARGE
                                                            : schema::ProblemCode::INVALID_REQUEST;
      return Heard::kRefused;
    }
    inlet_.consume(used);
    windowBytes_ += used;
  }
  if (parser_->missing() == 0) return Heard::kComplete;
  if (inlet_.ended()) return Heard::kGone;
  if (services_.timer.now() >= windowEnd_ && !endWindow()) {
    refused_ = schema::ProblemCode::REQUEST_TIMEOUT;
    return Heard::kRefused;
  }
  return input(0, std::min(deadline_, windowEnd_)).then([this](Wait) { return hearBody(); });
}

void Connection::beginBody() {
  const kj::TimePoint now = services_.timer.now();
  deadline_ = now + services_.deadlines.body;
  windowEnd_ = now + bodyWindow();
  windowBytes_ = 0;
}

kj::Duration Connection::bodyWindow() const {
  constexpr int kWindows = 6;
  return std::max(services_.deadlines.body / kWindows, 1 * kj::MILLISECONDS);
}

// Whether the body may come on: its deadline is ahead, and the window that has passed brought enough.
bool Connection::endWindow() {
  const auto least = kMinBodyRate * static_cast<std::uint64_t>(bodyWindow() / kj::MILLISECONDS) / 1000;
  const bool enough = windowBytes_ >= std::max<std::uint64_t>(least, 1);
  windowBytes_ = 0;
  windowEnd_ = services_.timer.now() + bodyWindow();
  return enough && services_.timer.now() < deadline_;
}

kj::Promise<Reply> Connection::runWatched(Work& work) {
  auto running = work.run(parser_->takeBody());
  if (work.departure() == Work::Departure::kFinish) return running;
  // A half-closed client still wants its answer: one that reads takes no longer than this unless it waits for
  // a change.
  auto left = inlet_.whenEnded().then([this] { return services_.timer.afterDelay(kLinger); }).then([this] {
    return refusal(schema::ProblemCode::REQUEST_TIMEOUT);
  });
  return running.exclusiveJoin(kj::mv(left));
}

void Connection::releaseBody() {
  services_.bodies.give(std::exchange(budgeted_, 0));
}

// ---- The answer

kj::Promise<void> Connection::stream(Takeover& takeover) {
  enter(Phase::kStreaming);
  return takeover.run(inlet_, outlet_).then([this] { return linger(); });
}

kj::Promise<void> Connection::answer(Reply reply) {
  reply_ = std::move(reply);
  if (request_ != nullptr && request_->semantics.persistence == Persistence::kClose)
    reply_.after = Persistence::kClose;
  if (finishing_) reply_.after = Persistence::kClose;
  services_.handler.answered(reply_);
  const std::string_view body = reply_.body == nullptr ? std::string_view() : std::string_view(*reply_.body);
  const bool bodyless = request_ != nullptr && request_->head.method == "HEAD";
  replyHead_ = replyHead(reply_, body.size(), request_ == nullptr ? std::string_view() : request_->id);
  return outlet_.write(replyHead_, bodyless ? std::string_view() : body)
      .then([this](Written written) -> kj::Promise<void> {
        work_ = nullptr;
        parser_ = nullptr;
        if (written == Written::kLost) return kj::READY_NOW;
        if (reply_.after == Persistence::kClose || finishing_) return linger();
        reply_ = Reply();
        deadline_ = services_.timer.now() + services_.deadlines.idle;
        enter(Phase::kIdle);
        return nextRequest();
      });
}

Reply Connection::refusal(schema::ProblemCode code) {
  Reply reply = services_.handler.refuse(code, request_ == nullptr ? std::string_view() : request_->id);
  reply.after = Persistence::kClose;
  return reply;
}

kj::Promise<void> Connection::refuse(schema::ProblemCode code) {
  if (request_ == nullptr) {
    enter(Phase::kServing);
    request_ = std::make_unique<Request>();
    request_->id = services_.requestIdPrefix + std::to_string(services_.nextRequest++);
  }
  return answer(refusal(code));
}

kj::Promise<void> Connection::linger() {
  // Closing with unread input resets the connection, which may take the answer away from the client before it
  // read it.
  outlet_.finish();
  inlet_.discard();
  return inlet_.whenEnded().exclusiveJoin(services_.timer.afterDelay(kLinger));
}

kj::Promise<Connection::Wait> Connection::input(std::size_t known, kj::TimePoint deadline) {
  return inlet_.beyond(known)
      .then([] { return Wait::kReady; })
      .exclusiveJoin(services_.timer.atTime(deadline).then([] { return Wait::kLate; }));
}

}  // namespace factionos::front
