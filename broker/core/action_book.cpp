#include "broker/core/action_book.h"

#include <utility>

#include <sodium.h>

#include "broker/actions/view.h"
#include "broker/core/log.h"

namespace factionos::broker {
namespace {

// How often expiry is looked at; an action that is over is refused at once all the same, by its own time.
constexpr auto kExpiryInterval = 1 * kj::SECONDS;
constexpr std::size_t kExpiryBatch = 64;

void wipe(std::string& text) {
  sodium_memzero(text.data(), text.size());
  text.clear();
}

}  // namespace

ActionBook::ActionBook(Core& core) : core_(core), tasks_(*this) {
  tasks_.add(expireForEver());
}

ActionBook::~ActionBook() noexcept(false) {
  for (auto& [id, waiting] : waiting_) wipe(waiting.text);
}

std::optional<state::ActionRow> ActionBook::find(std::string_view id) {
  return state::ActionTable(core_.reader).find(id);
}

state::ActionPage ActionBook::list(const state::ActionFilter& filter, std::string_view after,
                                   std::size_t limit) {
  return state::ActionTable(core_.reader).list(filter, after, limit);
}

void ActionBook::changed(const state::ActionRow& row) {
  if (row.state != state::ActionState::kProposed) forget(row.id);
  const auto range = watchers_.equal_range(row.id);
  for (auto each = range.first; each != range.second; ++each) each->second->fulfill();
  watchers_.erase(range.first, range.second);
  core_.changes.touch();
}

kj::Promise<void> ActionBook::whenChanged(std::string_view id) {
  auto paf = kj::newPromiseAndFulfiller<void>();
  // Those whose caller went away are swept when the action is watched again.
  const auto range = watchers_.equal_range(id);
  for (auto each = range.first; each != range.second;) {
    each = each->second->isWaiting() ? std::next(each) : watchers_.erase(each);
  }
  watchers_.emplace(std::string(id), kj::mv(paf.fulfiller));
  return kj::mv(paf.promise);
}

void ActionBook::remember(const std::string& id, std::string text) {
  if (text.size() > kMaxRevealBytes) text.resize(kMaxRevealBytes);
  revealBytes_ += text.size();
  waiting_[id].text = std::move(text);
  // Ids are time-ordered, so the first is the oldest.
  for (auto each = waiting_.begin(); revealBytes_ > kMaxRevealTotal && each != waiting_.end(); ++each) {
    if (each->first == id) continue;
    revealBytes_ -= each->second.text.size();
    wipe(each->second.text);
  }
}

const std::string* ActionBook::revealed(std::string_view id) const {
  const auto found = waiting_.find(id);
  return found == waiting_.end() || found->second.text.empty() ? nullptr : &found->second.text;
}

void ActionBook::forget(const std::string& id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  revealBytes_ -= found->second.text.size();
  wipe(found->second.text);
  waiting_.erase(found);
}

std::optional<identity::Nonce> ActionBook::nonceOf(const state::ActionRow& row) {
  if (row.state != state::ActionState::kProposed) return std::nullopt;
  auto& waiting = waiting_[row.id];
  if (waiting.revision != row.revision) {
    waiting.nonce = identity::randomNonce();
    waiting.revision = row.revision;
  }
  return waiting.nonce;
}

state::ActionRow ActionBook::decideIn(state::Transaction& transaction, const Verdict& verdict,
                                      std::chrono::seconds usableFor) {
  using schema::ProblemCode;
  const auto row = state::ActionTable(transaction.database()).find(verdict.id);
  if (!row) throw actions::Refusal({.code = ProblemCode::NOT_FOUND});
  if (row->principal.text() == verdict.approver) throw actions::Refusal({.code = ProblemCode::SELF_APPROVAL});
  if (row->revision != verdict.expectedRevision)
    throw actions::Refusal({.code = ProblemCode::STALE_REVISION, .currentRevision = row->revision});
  // The clock decides, not whether the sweep has come by.
  if (row->state == state::ActionState::kProposed && row->expires && *row->expires <= transaction.now())
    throw actions::Refusal({.code = ProblemCode::APPROVAL_EXPIRED, .currentRevision = row->revision});
  const bool approve = verdict.verdict == schema::Verdict::APPROVE;
  return actions::apply(transaction, verdict.id,
                        {.event = approve ? actions::Event::kApprove : actions::Event::kReject,
                         .expectedRevision = verdict.expectedRevision,
                         .approver = audit::Label::of(verdict.approver),
                         .decision = audit::Code::of(approve ? "approve" : "reject"),
                         .failure = approve ? std::nullopt : verdict.reason,
                         .expires = approve ? std::optional(transaction.now() + usableFor) : std::nullopt,
                         .note = actions::KeyNote::kWaiting});
}

kj::Promise<Outcome<state::ActionRow>> ActionBook::decide(Verdict verdict) {
  const auto usableFor = core_.config.limits.approvalExpiry;
  return commit<state::ActionRow>(core_, Step::kDecide,
                                  [verdict, usableFor](state::Transaction& transaction) {
                                    return decideIn(transaction, verdict, usableFor);
                                  })
      .then([this](Outcome<state::ActionRow>&& outcome) {
        if (const auto* row = std::get_if<state::ActionRow>(&outcome)) changed(*row);
        return kj::mv(outcome);
      });
}

std::uint32_t ActionBook::waiting() {
  return static_cast<std::uint32_t>(state::ActionTable(core_.reader).count(state::ActionState::kProposed));
}

kj::Promise<void> ActionBook::expireForEver() {
  return core_.timer.afterDelay(kExpiryInterval)
      .then([this]() { return expireDue(); })
      // The state can't be read now; what is due stays due.
      .catch_([](kj::Exception&&) { log(Level::kError, "expiry_failed"); })
      .then([this]() { return expireForEver(); });
}

kj::Promise<void> ActionBook::expireDue() {
  using Rows = std::vector<state::ActionRow>;
  // Read first: an idle broker writes nothing.
  if (state::ActionTable(core_.reader).due(audit::systemNow(), 1).empty()) return kj::READY_NOW;
  return commit<Rows>(
             core_, Step::kExpire,
             [](state::Transaction& transaction) {
               Rows expired;
               for (const auto& row :
                    state::ActionTable(transaction.database()).due(transaction.now(), kExpiryBatch)) {
                 expired.push_back(actions::apply(transaction, row.id,
                                                  {.event = actions::Event::kExpire,
                                                   .decision = audit::Code::of("expire"),
                                                   .failure = audit::Code::of("approval_expired"),
                                                   .note = actions::KeyNote::kWaiting}));
               }
               return expired;
             })
      .then([this](Outcome<Rows>&& outcome) {
        if (const auto* rows = std::get_if<Rows>(&outcome)) {
          for (const auto& row : *rows) changed(row);
        }
      });
}

void ActionBook::taskFailed(kj::Exception&&) {}  // expiring never fails

}  // namespace factionos::broker
