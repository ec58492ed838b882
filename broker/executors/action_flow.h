#pragma once

#include <functional>
#include <optional>
#include <string>

#include <kj/refcount.h>

#include "broker/executors/action_runner.h"

namespace factionos::broker {

// One guarded request, from its first byte to its reply. Lives as long as the promise that it gave.
class ActionFlow final : public kj::Refcounted {
 public:
  ActionFlow(ActionRunner& runner, Caller caller, std::optional<Approved> approval, kj::Own<Effect> effect);

  kj::Promise<Outcome<Preview>> preview(const char* as);
  kj::Promise<ActionReply> answer(std::string key);

 private:
  std::optional<Refused> notNow() const;
  kj::Promise<std::optional<Refused>> prepare();
  policy::Subject subject() const;
  policy::Decision decide() const;
  state::ActionRow row(const policy::Decision& decision) const;

  kj::Promise<ActionReply> propose();
  kj::Promise<ActionReply> proposePrepared();
  kj::Promise<ActionReply> denied(const policy::Decision& decision);
  kj::Promise<ActionReply> known();
  kj::Promise<ActionReply> judge(idempotency::Decision decision);
  kj::Promise<ActionReply> execute(state::ActionRow approved, idempotency::KeyHandle handle);
  std::optional<Refused> drift(const state::ActionRow& approved) const;
  kj::Promise<ActionReply> begin(state::ActionRow approved, idempotency::KeyHandle handle);
  kj::Promise<ActionReply> start();
  kj::Promise<ActionReply> finish(Done done);
  kj::Promise<ActionReply> goOn(Done done);
  kj::Promise<ActionReply> fail(Failed failed);
  // Commits a change that the effect has already made true. What a failing disk does not take is tried again
  // by the flow itself, whoever waits; until then the key stays in flight and repeats are told to come later.
  template <typename T>
  kj::Promise<Outcome<T>> insist(Step step, std::function<T(state::Transaction&)> change,
                                 std::function<void(const T&)> made);

  ActionRunner& runner_;
  Core& core_;
  Caller caller_;
  std::optional<Approved> approval_;
  kj::Own<Effect> effect_;

  std::string key_;
  audit::Digest requestDigest_;
  std::unique_ptr<KeysUnderWay::Claim> claim_;
  std::unique_ptr<ResourceLocks::Held> locks_;
  std::optional<idempotency::KeyHandle> handle_;
  std::optional<state::ActionRow> action_;
};

}  // namespace factionos::broker
