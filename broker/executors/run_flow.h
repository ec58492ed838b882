#pragma once

#include <functional>
#include <optional>
#include <string>

#include <capnp/message.h>
#include <kj/async.h>
#include <kj/refcount.h>

#include "broker/executors/preparation.h"
#include "broker/executors/terminal.h"

namespace factionos::broker {

// One request to run a command, from its first byte to its reply. Lives as long as the promise that it gave.
class RunFlow final : public kj::Refcounted {
 public:
  // `operation`: of the family terminal, static storage.
  RunFlow(TerminalExecutor& executor, Caller caller, const char* operation,
          kj::Own<capnp::MallocMessageBuilder> request);
  ~RunFlow() noexcept(false);

  void approvedBy(schema::Approval::Reader approval);
  // The new session takes the place of this one, which ends first.
  void replaces(std::string sessionId) { replaces_ = std::move(sessionId); }

  kj::Promise<Outcome<Preview>> preview();
  kj::Promise<RunReply> answer(std::string key);

 private:
  struct Approved {
    std::string actionId;
    std::uint64_t expectedRevision = 0;
  };

  kj::Promise<std::optional<Refused>> prepare();
  policy::Subject subject() const;
  policy::Decision decide() const;
  state::ActionRow row(const policy::Decision& decision) const;

  kj::Promise<RunReply> propose();
  kj::Promise<RunReply> denied(const policy::Decision& decision);
  kj::Promise<RunReply> known();
  kj::Promise<RunReply> judge(idempotency::Decision decision);
  kj::Promise<RunReply> execute(state::ActionRow approved, idempotency::KeyHandle handle);
  std::optional<Refused> drift(const state::ActionRow& approved) const;
  kj::Promise<RunReply> begin(state::ActionRow approved, idempotency::KeyHandle handle);
  kj::Promise<RunReply> start();
  kj::Promise<RunReply> attach(capnp::Response<schema::Session::StartResults>&& response);
  kj::Promise<RunReply> finish();
  kj::Promise<RunReply> fail(Refused refused, const char* failure);
  kj::Promise<void> endReplaced();
  // Commits a change that the effect has already made true. What a failing disk does not take is tried again
  // by the flow itself, whoever waits; until then the key stays in flight and repeats are told to come later.
  template <typename T>
  kj::Promise<Outcome<T>> insist(Step step, std::function<T(state::Transaction&)> change,
                                 std::function<void(const T&)> made);

  TerminalExecutor& executor_;
  Core& core_;
  Caller caller_;
  const char* operation_;
  Preparation preparation_;
  std::optional<Approved> approval_;
  std::string replaces_;

  std::string key_;
  audit::Digest requestDigest_;
  std::unique_ptr<KeysUnderWay::Claim> claim_;
  std::unique_ptr<KeysUnderWay::Claim> replacing_;  // of the session that this one takes the place of
  std::optional<idempotency::KeyHandle> handle_;
  std::optional<state::ActionRow> action_;
  std::string sessionId_;
  kj::Own<LiveSession> session_;
  bool counted_ = false;  // in executor_.starting_
};

}  // namespace factionos::broker
