#pragma once

#include <memory>

#include <kj/async.h>

#include "broker/core/action_book.h"
#include "broker/executors/action_runner.h"
#include "broker/executors/live_session.h"
#include "broker/executors/session_book.h"
#include "broker/executors/workers.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

class RunCommand;

// The family `terminal`: what it takes to get from a request to one command in its sandbox, once. A session
// resolves and hashes the command for the preview, and runs nothing until it is told to.
class TerminalExecutor final : private kj::TaskSet::ErrorHandler {
 public:
  TerminalExecutor(Core& core, ActionBook& actions, ActionRunner& runner, SessionBook& sessions,
                   Workers& workers, const MaskRules& masks);
  ~TerminalExecutor() noexcept(false);

  kj::Promise<Outcome<Preview>> preview(const Caller& caller, schema::TerminalRun::Reader request);
  kj::Promise<ActionReply> run(const Caller& caller, capnp::Text::Reader key,
                               schema::TerminalRun::Reader request);
  // The same command again, from memory. A session that still runs is ended before the new one starts.
  kj::Promise<ActionReply> restart(const Caller& caller, capnp::Text::Reader key,
                                   schema::SessionRestart::Reader request);

  // Ends every session and resolves when each outcome is recorded. The runner is closed before.
  kj::Promise<void> shutdown();

 private:
  friend class RunCommand;
  void taskFailed(kj::Exception&& exception) override;
  // Takes over a session whose command runs.
  void started(kj::Own<LiveSession> session);
  kj::Promise<void> watch(kj::Own<LiveSession> session);
  kj::Promise<void> record(LiveSession& session, std::shared_ptr<Ending> ending);

  Core& core_;
  ActionBook& actions_;
  ActionRunner& runner_;
  SessionBook& sessions_;
  Workers& workers_;
  const MaskRules& masks_;
  std::uint32_t starting_ = 0;  // sessions that are being prepared or started
  kj::TaskSet tasks_;
};

}  // namespace factionos::broker
