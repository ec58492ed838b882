#include "broker/executors/git_change.h"

#include <initializer_list>
#include <utility>

#include "broker/actions/view.h"
#include "broker/executors/git_checks.h"
#include "broker/state/snapshot_table.h"
#include "protocol/rpc/deadline.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using schema::ProblemCode;

// The worker gives up after 20 s by itself; writing and syncing what it has planned takes a while more.
constexpr auto kRunLimit = 60 * kj::SECONDS;

ReplyBytes replyOf(const state::ActionRow& action, const GitStored& outcome) {
  return encodeReply<schema::Api::GitStageResults>([&](auto results) {
    using R = schema::Api::GitStageResults::Builder;
    actions::fillAction(action, {}, results.init(&R::initAction));
    fillOutcome(outcome, results.init(&R::initOutcome));
  });
}

std::string wordsOf(schema::GitStage::Reader stage) {
  if (stage.getAll()) return "everything that differs";
  std::string text;
  for (const auto file : stage.getFiles()) text += std::string(::factionos::view(file)) + "\n";
  for (const auto file : stage.getFileBytes())
    text.append(reinterpret_cast<const char*>(file.begin()), file.size()).append("\n");
  return text;
}

std::string wordsOf(schema::GitCommit::Reader commit) {
  std::string text;
  if (commit.hasAuthorName())
    text = std::string(::factionos::view(commit.getAuthorName())) + " <" +
           std::string(::factionos::view(commit.getAuthorEmail())) + ">\n";
  return text + std::string(::factionos::view(commit.getMessage()));
}

// "stage a.txt b.txt", one thing a line.
std::string wordsOf(schema::GitChange::Reader change) {
  const auto words = [](const char* operation, std::initializer_list<capnp::Text::Reader> names) {
    std::string text = operation;
    for (const auto name : names)
      if (name.size() > 0) text += "\n" + std::string(::factionos::view(name));
    return text;
  };
  switch (change.which()) {
    case schema::GitChange::STAGE:
      return "stage\n" + wordsOf(change.getStage());
    case schema::GitChange::UNSTAGE:
      return "unstage\n" + wordsOf(change.getUnstage());
    case schema::GitChange::COMMIT:
      return "commit\n" + wordsOf(change.getCommit());
    case schema::GitChange::BRANCH_CREATE:
      return words("branch-create",
                   {change.getBranchCreate().getBranch(), change.getBranchCreate().getFrom()});
    case schema::GitChange::CHECKOUT:
      return words("checkout", {change.getCheckout().getBranch()});
    case schema::GitChange::WORKTREE_ADD: {
      const auto add = change.getWorktreeAdd();
      return words("worktree-add", {add.getName(), add.getDirectory(), add.getBranch()});
    }
    case schema::GitChange::WORKTREE_REMOVE:
      return words("worktree-remove", {change.getWorktreeRemove().getName()});
    case schema::GitChange::FETCH:
      return words("fetch", {change.getFetch().getRemote()});
    case schema::GitChange::PUSH:
      return words("push", {change.getPush().getRemote(), change.getPush().getBranch()});
    case schema::GitChange::ROLLBACK:
      return words("rollback", {change.getRollback().getActionId()});
    case schema::GitChange::UNSPECIFIED:
      break;
  }
  return {};
}

}  // namespace

GitChangeEffect::GitChangeEffect(GitExecutor& executor, const home::WorkspaceEntry& workspace,
                                 GitExecutor::Asked asked)
    : executor_(executor),
      workspace_(workspace),
      asked_(kj::mv(asked)),
      operation_(*policy::findOperation(policy::Family::kGit, asked_.operation)),
      target_(audit::Label::of("repository")) {}

GitChangeEffect::~GitChangeEffect() noexcept(false) = default;

policy::Subject GitChangeEffect::subject() const {
  return executor_.readingOf(asked_.operation, workspace_).subject;
}

redaction::Sentence GitChangeEffect::driftDetail() const {
  return "HEAD, the index or a file of the repository is not what was approved.";
}

std::optional<Refused> GitChangeEffect::findSnapshot() {
  auto change = asked_.change->getRoot<schema::GitChange>();
  if (!change.isRollback()) return std::nullopt;
  auto rollback = change.getRollback();
  const std::string id(::factionos::view(rollback.asReader().getActionId()));
  auto& reader = executor_.core_.reader;
  const auto row = state::ActionTable(reader).find(id);
  const bool ours = row && row->family.text() == policy::label(policy::Family::kGit) && row->workspace &&
                    row->workspace->text() == workspace_.name;
  const auto snapshot = ours ? state::SnapshotTable(reader).find(id) : std::nullopt;
  if (!snapshot)
    return Refused{.code = ProblemCode::NOT_FOUND,
                   .detail = "No snapshot of that action is known in this workspace.",
                   .field = "actionId"};
  rollback.setSnapshot(snapshot->c_str());
  return std::nullopt;
}

kj::Promise<std::optional<Refused>> GitChangeEffect::prepare() {
  using Results = schema::Repository::PrepareResults;
  if (auto unknown = findSnapshot()) return std::optional<Refused>(std::move(*unknown));
  return executor_.plan(workspace_, asked_.change->getRoot<schema::GitChange>().asReader())
      .then([this](Outcome<capnp::Response<Results>>&& answer) -> std::optional<Refused> {
        if (auto* refused = std::get_if<Refused>(&answer)) return std::move(*refused);
        take(std::get<capnp::Response<Results>>(answer).getPreview());
        return std::nullopt;
      });
}

void GitChangeEffect::take(schema::GitPreview::Reader preview) {
  state_ = ::factionos::view(preview.getState());
  // A name that is no label is not repeated.
  target_ =
      audit::Label::parse(::factionos::view(preview.getTarget())).value_or(audit::Label::of("repository"));
  prepared_ = {};
  prepared_.basis.push_back(executor_.core_.keys.digest(
      state::Purpose::kRequest, audit::asBytes("git.state" + std::string(1, '\0') + state_)));
  const auto count = [this](const char* name, std::uint64_t number) {
    if (number != 0) prepared_.changes.push_back({audit::Code::of(name), number});
  };
  count("files", preview.getFiles());
  count("insertions", preview.getInsertions());
  count("deletions", preview.getDeletions());
  count("commits", preview.getCommits());
  count("refs", preview.getRefs());
  prepared_.revealed = revealed();
}

// For the operator alone, while the action waits: the request in words, secrets masked.
std::string GitChangeEffect::revealed() {
  const std::string words = wordsOf(asked_.change->getRoot<schema::GitChange>().asReader());
  std::string text(executor_.masks_.mask(words, words.size() * 4 + 4096).text());
  return text.append("\n");
}

kj::Promise<EffectEnd> GitChangeEffect::run(const state::ActionRow& action) {
  using Results = schema::Repository::RunResults;
  auto& workers = executor_.writersFor(asked_.operation);
  // As long as it has only been opened nothing has begun.
  return readAgainIfLost([this, &workers]() { return executor_.open(workers, workspace_); })
      .then([this, &workers, action](Outcome<GitExecutor::Repository>&& opened) -> kj::Promise<EffectEnd> {
        if (auto* refused = std::get_if<Refused>(&opened))
          return EffectEnd(Failed{.refused = std::move(*refused)});
        auto& repository = std::get<GitExecutor::Repository>(opened);
        auto call = repository.client.runRequest();
        call.setActionId(action.id.c_str());
        call.setState(state_.c_str());
        call.setChange(asked_.change->getRoot<schema::GitChange>().asReader());
        auto& core = executor_.core_;
        reach(core.steps, Step::kStart, Edge::kBefore);
        return rpc::withDeadline(core.timer, kRunLimit, kj::Promise<capnp::Response<Results>>(call.send()))
            .then(
                [this, &core, &workers, action,
                 worker = repository.worker](capnp::Response<Results>&& response) -> kj::Promise<EffectEnd> {
                  reach(core.steps, Step::kStart, Edge::kAfter);
                  const bool done = !response.hasDenial();
                  if (!isSnapshot(response.getSnapshot(), done) || !isSound(response.getOutcome()))
                    return lookUp({.refused = workers.misbehaved(worker, "reply")}, Why::kLost, action);
                  auto also = remembering(action, response.getSnapshot());
                  if (!done && isStuck(response.getDenial())) workers.replace(worker);
                  if (!done)
                    return lookUp({.refused = gitDenied(response.getDenial()), .also = std::move(also)},
                                  Why::kRefused, action);
                  return EffectEnd(doneWith(storedFrom(response.getOutcome()), std::move(also)));
                },
                [this, &workers, action, worker = repository.worker](kj::Exception&& exception) {
                  return workers.whyLost(worker, exception).then([this, action](Refused&& refused) {
                    return lookUp({.refused = std::move(refused), .failure = "worker_lost"}, Why::kLost,
                                  action);
                  });
                });
      });
}

Done GitChangeEffect::doneWith(const GitStored& stored, Also also) {
  return {.life = Done::Life::kEnded,
          .status = 200,
          .reply = [stored](const state::ActionRow& action) { return replyOf(action, stored); },
          .also = std::move(also)};
}

GitChangeEffect::Also GitChangeEffect::remembering(const state::ActionRow& action,
                                                   capnp::Text::Reader snapshot) {
  if (snapshot.size() == 0) return {};
  return
      [id = action.id, object = std::string(::factionos::view(snapshot))](state::Transaction& transaction) {
        state::SnapshotTable(transaction.database()).insert(id, object);
      };
}

// It was refused, or its worker is gone, perhaps in the middle of it: the repository itself tells how far it
// came.
kj::Promise<EffectEnd> GitChangeEffect::lookUp(Failed failed, Why why, const state::ActionRow& action) {
  return executor_.verdictOn(workspace_, action.id, asked_.operation)
      .then([failed = std::move(failed), why,
             removal = asked_.change->getRoot<schema::GitChange>().asReader().isWorktreeRemove()](
                std::optional<schema::GitVerdict> verdict) mutable -> EffectEnd {
        auto& refused = failed.refused;
        if (refused.code == ProblemCode::WORKER_MISBEHAVED) {
          failed.failure = nullptr;  // the problem's own
          return std::move(failed);
        }
        if (!verdict)
          return Failed{.refused = {.code = ProblemCode::TIMED_OUT,
                                    .detail = "Nobody can tell yet whether it happened; it is not run again.",
                                    .state = schema::ActionState::UNKNOWN},
                        .failure = "outcome_unknown",
                        .event = actions::Event::kLose,
                        .also = std::move(failed.also)};
        const bool happened = *verdict == schema::GitVerdict::SUCCEEDED;
        // What a removal has begun is finished by who looks it up.
        if (happened && (why == Why::kLost || removal)) return doneWith({}, std::move(failed.also));
        if (!happened && *verdict != schema::GitVerdict::PARTIAL) return std::move(failed);
        refused.detail =
            removal       ? redaction::Sentence("A part of it was done; asking for it once more finishes it.")
            : failed.also ? redaction::Sentence("A part of it was done; rollback undoes it.")
                          : redaction::Sentence("A part of it was done.");
        failed.failure = "partly_done";
        return std::move(failed);
      });
}

}  // namespace factionos::broker
