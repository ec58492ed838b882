#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <capnp/message.h>
#include <kj/async.h>
#include <kj/refcount.h>

#include "broker/actions/ledger.h"
#include "broker/actions/outgoing.h"
#include "broker/core/core.h"
#include "broker/executors/session_denials.h"
#include "broker/executors/session_output.h"
#include "broker/executors/workers.h"
#include "broker/policy/policy.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// What is known of a session before it starts: labels and numbers, and what policy knows its program by.
struct SessionFacts {
  audit::Label id;
  audit::Label actionId;
  audit::Label workspace;
  audit::Label program;
  policy::Program resolved;  // for policy alone: shown nowhere
  schema::NetworkProfile network = schema::NetworkProfile::NONE;
  audit::Label owner;  // principal id
  std::uint16_t cols = 80;
  std::uint16_t rows = 24;
  std::uint32_t timeoutMs = 0;
  state::Time created{};
};

// How a session ended, as the action records it.
struct Ending {
  actions::Event event = actions::Event::kFail;
  std::optional<audit::Code> failure;
  std::optional<std::int32_t> exitCode;  // 256 + the signal's number where a signal ended the leader
  state::ActionCounts counts;
};

// One command on its PTY: the supervisor's capability, the pty worker that pumps the master, the masked
// output, who waits for news. The request is kept for a restart, in memory alone.
class LiveSession final : public kj::Refcounted, private kj::TaskSet::ErrorHandler {
 public:
  LiveSession(Core& core, SessionFacts facts, StartedSession supervisor, const MaskRules& rules,
              kj::Own<capnp::MallocMessageBuilder> request);
  ~LiveSession() noexcept(false);

  const SessionFacts& facts() const { return facts_; }
  schema::TerminalRun::Reader request() const {
    return request_.get()->getRoot<schema::TerminalRun>().asReader();
  }
  bool ended() const { return state_ == schema::SessionState::ENDED; }

  // Hands the master to the worker. Once, before watch(). False: it failed, and endedBy() tells why.
  kj::Promise<bool> attach(StartedPty pty, schema::Descriptor::Client master);
  void setPosture(capnp::List<capnp::Text>::Reader labels);

  // Resolves when the whole tree is gone and its output is drained.
  kj::Promise<Ending> watch();
  // Lets go of its processes and their lines, which must happen while the loop still runs.
  void abandon();
  // Marks the session ended for its readers. After the outcome was recorded, or when recording has failed.
  void close(const Ending& ending);

  // Of the owner's terminal. Refused: session_ended, input_refused.
  kj::Promise<std::optional<Refused>> input(std::string data);
  kj::Promise<std::optional<Refused>> resize(std::uint16_t cols, std::uint16_t rows);
  kj::Promise<std::optional<Refused>> signal(std::uint8_t number);
  // Ends the whole tree; resolves when nothing of it is left. The reason is a failure code; the first one
  // that is given counts.
  kj::Promise<void> kill(const char* reason);
  std::string_view endedBy() const { return endReason_ == nullptr ? std::string_view() : endReason_; }

  // For kApiResponse, kWebSocketFrame and kStateAtRest. Without output.
  template <redaction::Boundary B>
  void fillSummary(actions::Outgoing<B, schema::TerminalSession> session) const;
  // The one place with output, and with what was denied.
  void fillOutput(
      std::int64_t after,
      actions::Outgoing<redaction::Boundary::kApiResponse, schema::TerminalSession> session) const;
  std::uint64_t shownBytes() const { return output_.shownBytes(); }
  std::uint64_t lines() const { return output_.lines(); }
  // Resolves when output was shown or the state changed.
  kj::Promise<void> whenChanged();

  // Repeats of input, resize and kill within the session's life: a key that was used with the same digest
  // answers again what it answered; with another digest it is a mismatch. Bounded: the oldest of kMaxKeys
  // goes.
  struct KeyEntry {
    audit::Digest digest;
    enum class State { kFresh, kInFlight, kDone } state = State::kFresh;
    std::optional<Refused> refused;
  };
  std::shared_ptr<KeyEntry> keyed(const std::string& key, const audit::Digest& digest);
  // Goes on whoever stops waiting for it, and ends with the session.
  void carryOut(kj::Promise<void> work) { tasks_.add(kj::mv(work)); }
  static constexpr std::size_t kMaxKeys = 4096;

 private:
  class Sink;
  void taskFailed(kj::Exception&& exception) override;
  void received(capnp::Data::Reader bytes);
  void drained(std::uint64_t totalBytes);
  // `breach`: for the log.
  void misbehaved(redaction::Literal breach, int syscall = -1);
  kj::Promise<void> lineEnded(rpc::DisconnectCause cause);
  kj::Promise<void> judgeLostSupervisor();
  void hearDenials();
  void takeExit(schema::Session::ExitedResults::Reader results);
  void stopDraining();
  void planTick();
  void wake();
  void tightenHome() const;
  Ending judge() const;
  state::ActionCounts counts() const;
  template <redaction::Boundary B>
  void fillExit(actions::Outgoing<B, schema::Exit> exit) const;

  Core& core_;
  SessionFacts facts_;
  kj::Maybe<StartedSession> supervisor_;                  // until the tree is gone
  mutable kj::Own<capnp::MallocMessageBuilder> request_;  // mutable: a builder's root is not const
  SessionOutput output_;
  std::shared_ptr<LiveSession*> self_;  // what the sink holds: null once this object is gone

  kj::Maybe<StartedPty> pty_;
  kj::Maybe<schema::Terminal::Client> terminal_;
  kj::Own<kj::PromiseFulfiller<void>> drainedFulfiller_;
  kj::ForkedPromise<void> drainedPromise_;

  schema::SessionState state_ = schema::SessionState::STARTING;
  schema::ActionState outcome_ = schema::ActionState::UNSPECIFIED;
  std::optional<audit::Code> failure_;
  std::optional<state::Time> endedAt_;
  std::uint64_t revision_ = 1;
  std::uint64_t inputCount_ = 0;
  std::uint64_t inputBytes_ = 0;
  std::vector<audit::Label> posture_;
  SessionDenials denials_;

  // How it came to its end; the first reason that is set wins.
  const char* endReason_ = nullptr;
  bool drainedDone_ = false;
  bool misbehaved_ = false;  // nothing that the pty worker says is heard any more
  bool ticking_ = false;
  struct Exit {
    enum class Kind { kRunning, kCode, kSignal, kLost } kind = Kind::kRunning;
    std::uint8_t number = 0;
  } exit_;

  std::map<std::string, std::shared_ptr<KeyEntry>> keys_;
  std::deque<std::string> keyOrder_;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> watchers_;
  kj::TaskSet tasks_;
};

}  // namespace factionos::broker
