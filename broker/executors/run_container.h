#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <capnp/message.h>

#include "broker/executors/container_executor.h"
#include "broker/executors/container_target.h"
#include "broker/executors/effect.h"

namespace factionos::broker {

// The effect of the family container: one template on one workspace, in a container of its own. It is the one
// way to an engine, whoever asks for it: a caller, a task or a campaign.
class RunContainer final : public Effect {
 public:
  // What a preview is told of the first gate that is missing. Null: it is no preview, and that gate refuses.
  using Told = std::shared_ptr<std::optional<MissingGate>>;
  RunContainer(ContainerExecutor& executor, RunRequest request, Told told = nullptr);

  const policy::Operation& operation() const override { return operation_; }
  std::optional<Refused> validate() override;
  audit::Digest requestDigest() const override { return request_.digest; }
  std::vector<std::string> locks() const override { return request_.locks; }
  const std::string& workspace() const override { return request_.target.workspace->name; }
  kj::Promise<std::optional<Refused>> prepare() override;
  const Prepared& prepared() const override { return prepared_; }
  policy::Subject subject() const override;
  audit::Label target() const override { return request_.target.label(); }
  redaction::Sentence driftDetail() const override {
    return "The template, its image or the engine is not what was previewed.";
  }
  Also alsoOnProposal() override { return request_.onProposal; }
  Also alsoOnIntent() override { return request_.onIntent; }
  kj::Promise<EffectEnd> run(const state::ActionRow& action) override;

 private:
  // Nothing where it was a preview that was told.
  std::optional<Refused> closed(MissingGate missing) const;
  std::optional<Refused> take(const std::vector<EngineFacts>& engines);
  std::string revealed() const;
  kj::Promise<EffectEnd> start(std::shared_ptr<EngineWorker> worker);
  kj::Promise<EffectEnd> ended(Refused refused);
  // `ending`: null while it runs.
  Done runs(std::shared_ptr<RunEnding> ending);

  ContainerExecutor& executor_;
  Core& core_;
  const policy::Operation& operation_;
  RunRequest request_;
  Told told_;
  Prepared prepared_;
  std::optional<EngineFacts> engine_;
  std::optional<state::ActionRow> action_;
  std::vector<MountedDirectory> mounts_;
  kj::Own<LiveRun> run_;
  std::string failure_;  // what Failed points to
};

}  // namespace factionos::broker
