// One HTTP/1.1 connection: reads requests one after another, each phase against an absolute deadline, and
// answers them in order. What it reads but can't serve yet waits in the inlet, whose size bounds pipelining.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <kj/async-io.h>
#include <kj/async.h>
#include <kj/timer.h>

#include "workers/front/inlet.h"
#include "workers/front/outlet.h"
#include "workers/front/parser.h"
#include "workers/front/request.h"

namespace factionos::front {

struct Deadlines {
  kj::Duration header =
      10 * kj::SECONDS;  // from a request's first byte to its empty line; from accept to a first byte
  kj::Duration body =
      30 * kj::SECONDS;  // for the whole body; besides, each sixth of it must bring kMinBodyRate
  kj::Duration idle = 60 * kj::SECONDS;   // between two requests
  kj::Duration write = 10 * kj::SECONDS;  // per slice of an answer
};

inline constexpr std::uint64_t kMinBodyRate = 512;  // bytes a second
inline constexpr kj::Duration kLinger = 200 * kj::MILLISECONDS;
// A body behind a request that is refused by its header alone: up to here it is read and dropped, and the
// connection lives on.
inline constexpr std::uint64_t kMaxDrainedBody = 65536;

// Of bodies that are being read, over all connections.
class BodyBudget {
 public:
  explicit BodyBudget(std::uint64_t bytes) : left_(bytes) {}
  bool take(std::uint64_t bytes);
  void give(std::uint64_t bytes) { left_ += bytes; }

 private:
  std::uint64_t left_;
};

// What all connections share. Everything outlives them.
struct ConnectionServices {
  kj::Timer& timer;
  Handler& handler;
  Deadlines deadlines;
  BodyBudget& bodies;
  std::uint64_t nextRequest = 1;
  std::string requestIdPrefix;  // "req_" and what tells this process from its predecessors
  std::uint64_t failures = 0;   // exceptions that nothing expected, each a bug
};

class Connection {
 public:
  enum class Phase : std::uint8_t { kIdle, kHeader, kServing, kStreaming, kEnding };

  Connection(kj::Own<kj::AsyncIoStream> stream, Transport transport, ConnectionServices& services);
  ~Connection() noexcept(false);
  KJ_DISALLOW_COPY(Connection);

  // Serves until the connection's end. Never fails.
  kj::Promise<void> serve();

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] kj::TimePoint phaseSince() const { return since_; }
  // Ends serve() at the loop's next turn, whatever is under way.
  void abort();
  // Ends serve() after the answer that is under way; at once where none is.
  void finish();

 private:
  enum class Heard : std::uint8_t { kComplete, kRefused, kGone };
  enum class Wait : std::uint8_t { kReady, kLate };

  kj::Promise<void> nextRequest();
  kj::Promise<Heard> hearHeader();
  kj::Promise<void> takeHeader();
  kj::Promise<void> follow(Plan plan);
  kj::Promise<void> answerNow(Reply reply);
  kj::Promise<void> serveBody(std::unique_ptr<Work> work);
  kj::Promise<Heard> hearBody();
  kj::Promise<Reply> runWatched(Work& work);
  kj::Promise<void> stream(Takeover& takeover);
  kj::Promise<void> answer(Reply reply);
  kj::Promise<void> refuse(schema::ProblemCode code);
  kj::Promise<void> linger();

  [[nodiscard]] Reply refusal(schema::ProblemCode code);
  kj::Promise<Wait> input(std::size_t known, kj::TimePoint deadline);
  Heard feedGate();
  void beginBody();
  [[nodiscard]] kj::Duration bodyWindow() const;
  bool endWindow();
  void enter(Phase phase);
  void releaseBody();

  ConnectionServices& services_;
  kj::Own<kj::AsyncIoStream> stream_;
  Peer peer_;
  Inlet inlet_;
  Outlet outlet_;

  Phase phase_ = Phase::kIdle;
  kj::TimePoint since_;
  kj::TimePoint deadline_;  // of the header or the body
  bool finishing_ = false;
  kj::Own<kj::PromiseFulfiller<void>> abort_;

  HeaderGate gate_;
  schema::ProblemCode refused_ = schema::ProblemCode::UNSPECIFIED;  // why, after Heard::kRefused
  std::unique_ptr<Request> request_;
  std::unique_ptr<RequestParser> parser_;
  std::unique_ptr<Work> work_;
  std::unique_ptr<Takeover> takeover_;
  std::uint64_t budgeted_ = 0;
  kj::TimePoint windowEnd_;
  std::uint64_t windowBytes_ = 0;
  Reply reply_;            // being sent
  std::string replyHead_;  // being sent
};

}  // namespace factionos::front
