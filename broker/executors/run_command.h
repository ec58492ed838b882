#pragma once

#include <optional>
#include <string>
#include <vector>

#include "broker/executors/effect.h"
#include "broker/executors/preparation.h"
#include "broker/executors/terminal.h"

namespace factionos::broker {

// The effect of the family terminal: one command on a terminal of its own, in its sandbox.
class RunCommand final : public Effect {
 public:
  // `operation`: run or restart, static storage.
  RunCommand(TerminalExecutor& executor, const char* operation, kj::Own<capnp::MallocMessageBuilder> request);
  ~RunCommand() noexcept(false) override;

  // The new session takes the place of this one, which ends first.
  void replaces(std::string sessionId) { replaces_ = std::move(sessionId); }

  const policy::Operation& operation() const override { return operation_; }
  std::optional<Refused> validate() override { return preparation_.validate(); }
  audit::Digest requestDigest() const override { return preparation_.digest(operation_.name, replaces_); }
  std::vector<std::string> locks() const override;
  const std::string& workspace() const override { return preparation_.workspace().name; }
  // Policy knows a program by its resolved path.
  SubjectIs subjectIs() const override { return SubjectIs::kKnownAfterPrepare; }
  kj::Promise<std::optional<Refused>> prepare() override;
  const Prepared& prepared() const override { return prepared_; }
  policy::Subject subject() const override;
  audit::Label target() const override { return preparation_.label(); }
  redaction::Sentence driftDetail() const override;
  std::optional<std::string> beginSession() override;
  kj::Promise<EffectEnd> run(const state::ActionRow& action) override;

 private:
  kj::Promise<void> endReplaced();
  kj::Promise<EffectEnd> start();
  kj::Promise<EffectEnd> attach(capnp::Response<schema::Session::StartResults>&& response);
  EffectEnd runs();

  TerminalExecutor& executor_;
  Core& core_;
  const policy::Operation& operation_;
  Preparation preparation_;
  std::string replaces_;
  Prepared prepared_;
  std::string sessionId_;
  std::optional<state::ActionRow> action_;
  kj::Own<LiveSession> session_;
  bool counted_ = false;  // in executor_.starting_
};

}  // namespace factionos::broker
