#include "broker/executors/file_change.h"

#include <utility>

#include "broker/actions/view.h"
#include "protocol/rpc/deadline.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using audit::Code;
using schema::ProblemCode;

// Reading, copying and syncing twice 64 MiB on a slow disk.
constexpr auto kApplyLimit = 60 * kj::SECONDS;
constexpr auto kPreviewLimit = 30 * kj::SECONDS;
constexpr std::uint32_t kRevealedDiff = 64 * 1024;

std::string_view viewOf(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

}  // namespace

FileChange::FileChange(FileExecutor& executor, const char* operation, Asked asked)
    : executor_(executor),
      core_(executor.core_),
      operation_(*policy::findOperation(policy::Family::kFile, operation)),
      asked_(std::move(asked)) {}

std::vector<std::string> FileChange::locks() const {
  return {"file:" + workspace() + "/" + asked_.subject.path};
}

policy::Subject FileChange::subject() const {
  return {.family = policy::Family::kFile,
          .operation = std::string(operation_.name),
          .workspace = workspace(),
          .principal = {},
          .program = policy::Program::none(),
          .network = "none",
          .profile = "default"};
}

kj::Promise<std::optional<Refused>> FileChange::prepare() {
  const auto preview = [this]() { return readAgainIfLost([this]() { return previewed(); }); };
  if (!isRestoreOfNewest(asked_.change->getRoot<schema::FileChange>())) return preview();
  return executor_.newestKept(asked_.subject, {})
      .then([this, preview](Outcome<std::string>&& found) -> kj::Promise<std::optional<Refused>> {
        if (auto* refused = std::get_if<Refused>(&found)) return std::optional(std::move(*refused));
        asked_.change->getRoot<schema::FileChange>().setRestore(std::get<std::string>(found).c_str());
        return preview();
      });
}

kj::Promise<std::optional<Refused>> FileChange::previewed() {
  return executor_.workers_.take(*asked_.subject.workspace)
      .then([this](Outcome<std::shared_ptr<ScopedWorker>>&& taken) -> kj::Promise<std::optional<Refused>> {
        if (auto* refused = std::get_if<Refused>(&taken)) return std::optional(std::move(*refused));
        auto worker = std::get<std::shared_ptr<ScopedWorker>>(std::move(taken));
        auto call = worker->as<schema::FileWorker>().previewRequest();
        call.setChange(asked_.change->getRoot<schema::FileChange>().asReader());
        call.setTextBytes(kRevealedDiff);
        reach(core_.steps, Step::kPrepare, Edge::kBefore);
        return rpc::withDeadline(core_.timer, kPreviewLimit, kj::Promise<Previewed>(call.send()))
            .then(
                [this, worker](Previewed&& response) -> kj::Promise<std::optional<Refused>> {
                  reach(core_.steps, Step::kPrepare, Edge::kAfter);
                  if (response.hasDenial()) return std::optional(fileDenied(response.getDenial()));
                  if (!response.hasPreview() || !isSound(response.getPreview()))
                    return std::optional(executor_.workers_.misbehaved(worker, "reply"));
                  return take(kj::mv(response));
                },
                [this, worker](kj::Exception&& exception) {
                  return executor_.workers_.whyLost(worker, exception).then([](Refused&& refused) {
                    return std::optional(std::move(refused));
                  });
                });
      });
}

std::optional<Refused> FileChange::take(Previewed&& response) {
  const auto preview = response.getPreview();
  if (auto refused = unexpected(preview.getBefore())) return refused;
  if (auto refused = executor_.unproven(asked_.subject, preview)) return refused;
  // The first is also what a copy of this file is proven by later.
  prepared_.basis = {executor_.view_.digestOf(asked_.subject.path, preview.getBefore()),
                     executor_.view_.digestOf(asked_.subject.path, preview.getAfter())};
  auto& changes = prepared_.changes;
  changes.clear();
  if (!preview.getBinary()) {
    changes.push_back({.name = Code::of("insertions"), .count = preview.getInsertions()});
    changes.push_back({.name = Code::of("deletions"), .count = preview.getDeletions()});
  }
  changes.push_back({.name = Code::of("bytes_before"), .count = preview.getBefore().getSize()});
  changes.push_back({.name = Code::of("bytes_after"), .count = preview.getAfter().getSize()});
  if (preview.getBefore().getLinks() > 1)
    changes.push_back({.name = Code::of("hard_links"), .count = preview.getBefore().getLinks()});
  preview_ = kj::mv(response);
  prepared_.revealed = revealed();
  return std::nullopt;
}

// Nobody replaces what they have not seen.
std::optional<Refused> FileChange::unexpected(schema::FileState::Reader before) const {
  const bool exists = before.getKind() != schema::NodeKind::ABSENT;
  if (!asked_.expected) {
    if (operation_.name != "write" || !exists) return std::nullopt;
    return Refused{.code = ProblemCode::INVALID_REQUEST,
                   .detail = "The file exists: give the digest of what is to be replaced, as stat tells it.",
                   .field = "expectedDigest"};
  }
  if (exists && audit::toHex(executor_.view_.digestOf(before).bytes) == *asked_.expected) return std::nullopt;
  return Refused{.code = ProblemCode::APPROVAL_DRIFT,
                 .detail = "The file is not what the request expects.",
                 .field = "expectedDigest"};
}

// For the operator alone, while the action waits: the path, and the lines that change, secrets masked.
std::string FileChange::revealed() const {
  std::string text = std::string(operation_.name) + " " + asked_.subject.path + "\n";
  FACTIONOS_IF_SOME(preview, preview_) {
    const auto reader = preview.getPreview();
    if (reader.getAfter().getKind() == schema::NodeKind::FILE)
      text += "mode " + modeText(reader.getAfter().getMode()) + "\n";
    if (reader.getBinary()) return text + "(not shown line by line)\n";
    const auto raw = viewOf(reader.getText());
    text += executor_.masks_.mask(raw, raw.size() * 4 + 4096).text();
    if (reader.getDroppedBytes() != 0)
      text += "(" + std::to_string(reader.getDroppedBytes()) + " bytes more)\n";
  }
  return text;
}

kj::Promise<EffectEnd> FileChange::run(const state::ActionRow& action) {
  return executor_.workers_.take(*asked_.subject.workspace)
      .then([this, action](Outcome<std::shared_ptr<ScopedWorker>>&& taken) -> kj::Promise<EffectEnd> {
        if (auto* refused = std::get_if<Refused>(&taken))
          return EffectEnd(Failed{.refused = std::move(*refused), .failure = "worker_lost"});
        return apply(std::get<std::shared_ptr<ScopedWorker>>(std::move(taken)), action);
      });
}

kj::Promise<EffectEnd> FileChange::apply(std::shared_ptr<ScopedWorker> worker,
                                         const state::ActionRow& action) {
  auto call = worker->as<schema::FileWorker>().applyRequest();
  call.setChange(asked_.change->getRoot<schema::FileChange>().asReader());
  call.setAction(action.id.c_str());
  call.setOperation(action.operation.text().c_str());
  FACTIONOS_IF_SOME(preview, preview_) {
    call.setBefore(preview.getPreview().getBefore());
    call.setAfter(preview.getPreview().getAfter());
  }
  reach(core_.steps, Step::kStart, Edge::kBefore);
  return rpc::withDeadline(core_.timer, kApplyLimit, kj::Promise<Applied>(call.send()))
      .then(
          [this, worker, action](Applied&& response) -> kj::Promise<EffectEnd> {
            reach(core_.steps, Step::kStart, Edge::kAfter);
            if (response.hasAfter() && !response.hasDenial() && isSound(response.getAfter()))
              return EffectEnd(done(response.getAfter()));
            if (!response.hasDenial())
              return afterLoss(executor_.workers_.misbehaved(worker, "reply"), action);
            // It has happened as far as anybody sees; the look-up says the same.
            if (view(response.getDenial().getCode()) == "unsure") return afterLoss({}, action);
            return EffectEnd(Failed{.refused = fileDenied(response.getDenial())});
          },
          [this, worker, action](kj::Exception&& exception) {
            return executor_.workers_.whyLost(worker, exception).then([this, action](Refused&& refused) {
              return afterLoss(std::move(refused), action);
            });
          });
}

// Another worker looks up how far it came, and tidies up.
kj::Promise<EffectEnd> FileChange::afterLoss(Refused refused, const state::ActionRow& action) {
  const bool misbehaved = refused.code == ProblemCode::WORKER_MISBEHAVED;
  return executor_.settle(*asked_.subject.workspace, action.id)
      .then([this, refused, misbehaved](Reconciler::Found found) -> EffectEnd {
        if (misbehaved) return Failed{.refused = refused};
        if (found == Reconciler::Found::kDidNotHappen)
          return Failed{.refused = refused, .failure = "worker_lost"};
        if (found == Reconciler::Found::kHappened) {
          FACTIONOS_IF_SOME(preview, preview_) {
            return done(preview.getPreview().getAfter());
          }
        }
        return Failed{.refused = {.code = ProblemCode::TIMED_OUT,
                                  .detail = "Nobody can tell yet whether it happened; it is not run again.",
                                  .state = schema::ActionState::UNKNOWN},
                      .failure = "outcome_unknown",
                      .event = actions::Event::kLose};
      });
}

Done FileChange::done(schema::FileState::Reader after) const {
  // The reply is made on the writer's thread: from a copy, and with what outlives every flow.
  auto message = std::make_shared<capnp::MallocMessageBuilder>();
  message->setRoot(after);
  const auto* fileView = &executor_.view_;
  const auto reply = [message, fileView](const state::ActionRow& action) {
    return encodeReply<schema::Api::FileWriteResults>([&](auto results) {
      using R = schema::Api::FileWriteResults::Builder;
      actions::fillAction(action, {}, results.init(&R::initAction));
      fileView->fillFacts(message->getRoot<schema::FileState>().asReader(), results.init(&R::initFile));
    });
  };
  return Done{.status = 200, .reply = reply, .counts = {.bytesIn = after.getSize()}, .also = {}};
}

}  // namespace factionos::broker
