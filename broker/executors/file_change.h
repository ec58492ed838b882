#pragma once

#include <memory>
#include <optional>
#include <string>

#include <capnp/message.h>

#include "broker/executors/effect.h"
#include "broker/executors/file_executor.h"

namespace factionos::broker {

// The effect of the family file: one change of one file. Contents are request-scoped: they live in `change`
// until the answer, and nowhere else.
class FileChange final : public Effect {
 public:
  struct Asked {
    FileSubject subject;
    kj::Own<capnp::MallocMessageBuilder> change;  // a schema::FileChange, its path set
    std::optional<Refused> wrong;                 // why the request is not whole
    audit::Digest digest;
    std::optional<std::string> expected;  // digest of what is to be there, as a reply told it
  };
  // `operation`: of the family file, static storage.
  FileChange(FileExecutor& executor, const char* operation, Asked asked);

  const policy::Operation& operation() const override { return operation_; }
  std::optional<Refused> validate() override { return asked_.wrong; }
  audit::Digest requestDigest() const override { return asked_.digest; }
  std::vector<std::string> locks() const override;
  const std::string& workspace() const override { return asked_.subject.workspace->name; }
  kj::Promise<std::optional<Refused>> prepare() override;
  const Prepared& prepared() const override { return prepared_; }
  policy::Subject subject() const override;
  audit::Label target() const override { return asked_.subject.label(); }
  redaction::Sentence driftDetail() const override { return "The file is not what was previewed."; }
  kj::Promise<EffectEnd> run(const state::ActionRow& action) override;

 private:
  using Previewed = capnp::Response<schema::FileWorker::PreviewResults>;
  using Applied = capnp::Response<schema::FileWorker::ApplyResults>;

  kj::Promise<std::optional<Refused>> previewed();
  std::optional<Refused> take(Previewed&& response);
  std::optional<Refused> unexpected(schema::FileState::Reader before) const;
  std::string revealed() const;
  kj::Promise<EffectEnd> apply(std::shared_ptr<ScopedWorker> worker, const state::ActionRow& action);
  kj::Promise<EffectEnd> afterLoss(Refused refused, const state::ActionRow& action);
  Done done(schema::FileState::Reader after) const;

  FileExecutor& executor_;
  Core& core_;
  const policy::Operation& operation_;
  Asked asked_;
  Prepared prepared_;
  kj::Maybe<Previewed> preview_;
};

}  // namespace factionos::broker
