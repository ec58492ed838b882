#pragma once

#include <string>

#include "broker/executors/container_executor.h"
#include "broker/executors/effect.h"

namespace factionos::broker {

// Removes containers that carry this home's labels with their proof and that no run holds; others are not
// looked at.
class CleanContainers final : public Effect {
 public:
  CleanContainers(ContainerExecutor& executor, audit::Digest digest);

  const policy::Operation& operation() const override { return operation_; }
  std::optional<Refused> validate() override { return std::nullopt; }
  audit::Digest requestDigest() const override { return digest_; }
  std::vector<std::string> locks() const override { return {"container:cleanup"}; }
  const std::string& workspace() const override { return workspace_; }
  kj::Promise<std::optional<Refused>> prepare() override;
  const Prepared& prepared() const override { return prepared_; }
  policy::Subject subject() const override;
  audit::Label target() const override { return audit::Label::of("leftovers"); }
  redaction::Sentence driftDetail() const override { return "There is something else to clean by now."; }
  kj::Promise<EffectEnd> run(const state::ActionRow& action) override;

 private:
  ContainerExecutor& executor_;
  const policy::Operation& operation_;
  audit::Digest digest_;
  std::string workspace_ = "all";  // containers of every workspace; a rule for it says "*", or this
  Prepared prepared_;
};

}  // namespace factionos::broker
