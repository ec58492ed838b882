#pragma once

#include <functional>
#include <optional>
#include <string>

#include "broker/executors/effect.h"
#include "broker/executors/git_executor.h"

namespace factionos::broker {

// The effect of every operation of the family git that changes something: planned by the worker without
// writing, and carried out by one that may write, if the repository still is what was planned on.
class GitChangeEffect final : public Effect {
 public:
  GitChangeEffect(GitExecutor& executor, const home::WorkspaceEntry& workspace, GitExecutor::Asked asked);
  ~GitChangeEffect() noexcept(false) override;

  const policy::Operation& operation() const override { return operation_; }
  std::optional<Refused> validate() override { return asked_.wrong; }
  audit::Digest requestDigest() const override { return asked_.digest; }
  std::vector<std::string> locks() const override { return {"git:" + workspace_.name}; }
  const std::string& workspace() const override { return workspace_.name; }
  kj::Promise<std::optional<Refused>> prepare() override;
  const Prepared& prepared() const override { return prepared_; }
  policy::Subject subject() const override;
  audit::Label target() const override { return target_; }
  redaction::Sentence driftDetail() const override;
  kj::Promise<EffectEnd> run(const state::ActionRow& action) override;

 private:
  void take(schema::GitPreview::Reader preview);
  std::string revealed();
  // A rollback is of what the broker remembers: no name in the repository says what it undoes.
  std::optional<Refused> findSnapshot();
  using Also = std::function<void(state::Transaction& transaction)>;
  static Done doneWith(const GitStored& stored, Also also);
  // Remembers by which object the action is undone; empty: it had not begun.
  static Also remembering(const state::ActionRow& action, capnp::Text::Reader snapshot);
  // Whether the worker said no itself: then it was not carried out to its end, whatever can be seen of it.
  enum class Why { kRefused, kLost };
  kj::Promise<EffectEnd> lookUp(Failed failed, Why why, const state::ActionRow& action);

  GitExecutor& executor_;
  const home::WorkspaceEntry& workspace_;
  GitExecutor::Asked asked_;
  const policy::Operation& operation_;
  std::string state_;
  audit::Label target_;
  Prepared prepared_;
};

}  // namespace factionos::broker
