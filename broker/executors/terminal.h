#pragma once

#include <optional>
#include <string>
#include <vector>

#include <kj/async.h>

#include "broker/core/action_book.h"
#include "broker/core/core.h"
#include "broker/core/replies.h"
#include "broker/core/rule_book.h"
#include "broker/executors/live_session.h"
#include "broker/executors/session_book.h"
#include "broker/executors/workers.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// Who asks, as the front's connection or the operator's socket established it.
struct Caller {
  identity::Principal principal;
  std::string id() const { return principal.id(); }
};

// An outcome that can't be recorded is tried again: until then the action stays `executing` and no caller
// hears of an end.
inline constexpr auto kRecordRetry = 1 * kj::SECONDS;

// What a run or a restart is answered with.
struct ActionWaits {
  state::ActionRow row;
};
struct StoredReply {
  std::uint32_t status = 0;
  ReplyBytes bytes;  // TerminalRunResults, which SessionRestartResults equals field by field
  Replay replay = Replay::kFirst;
};
using RunReply = std::variant<Refused, ActionWaits, StoredReply>;

struct Preview {
  state::ActionRow row;  // as it would be proposed; not stored
  policy::Decision decision;
};

class RunFlow;

// The family `terminal`: what it takes to get from a request to one command in its sandbox, once.
//
//   validate → key → prepare (a session resolves and hashes, runs nothing) → policy
//     deny  → recorded, 403
//     ask   → action proposed, 202 … the caller comes again with the approval
//     allow → action approved
//   approval → same key, same request, same policy, same digests → intent durable → start → reply durable →
//   201
class TerminalExecutor final : private kj::TaskSet::ErrorHandler {
 public:
  TerminalExecutor(Core& core, ActionBook& actions, RuleBook& rules, SessionBook& sessions, Workers& workers,
                   const MaskRules& masks);
  ~TerminalExecutor() noexcept(false);

  kj::Promise<Outcome<Preview>> preview(const Caller& caller, schema::TerminalRun::Reader request);
  kj::Promise<RunReply> run(const Caller& caller, capnp::Text::Reader key,
                            schema::TerminalRun::Reader request);
  // The same command again, from memory. A session that still runs is ended before the new one starts.
  kj::Promise<RunReply> restart(const Caller& caller, capnp::Text::Reader key,
                                schema::SessionRestart::Reader request);

  // Ends every session and resolves when each outcome is recorded.
  kj::Promise<void> shutdown();

 private:
  friend class RunFlow;
  void taskFailed(kj::Exception&& exception) override;
  kj::Promise<RunReply> carryOut(kj::Own<RunFlow> flow, std::string key);
  // Takes over a session whose command runs.
  void started(kj::Own<LiveSession> session);
  kj::Promise<void> watch(kj::Own<LiveSession> session);
  kj::Promise<void> record(LiveSession& session, std::shared_ptr<Ending> ending);

  Core& core_;
  ActionBook& actions_;
  RuleBook& rules_;
  SessionBook& sessions_;
  Workers& workers_;
  const MaskRules& masks_;
  KeysUnderWay keys_;
  KeysUnderWay replaced_;       // sessions that are being restarted
  std::uint32_t starting_ = 0;  // sessions that are being prepared or started
  bool closing_ = false;
  kj::TaskSet tasks_;
};

}  // namespace factionos::broker
