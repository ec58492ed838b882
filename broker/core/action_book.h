#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kj/async.h>

#include "broker/actions/ledger.h"
#include "broker/core/core.h"
#include "broker/identity/proof.h"

namespace factionos::broker {

// Actions as the loop's thread sees them: reads, decisions, waiting, expiry. What an operator may reveal of a
// waiting action lives here, in memory, and is wiped when the action stops waiting.
class ActionBook final : private kj::TaskSet::ErrorHandler {
 public:
  explicit ActionBook(Core& core);
  ~ActionBook() noexcept(false);

  std::optional<state::ActionRow> find(std::string_view id);
  state::ActionPage list(const state::ActionFilter& filter, std::string_view after, std::size_t limit);

  // To be called after each commit that changed or made an action: wakes who waits, forgets what is not
  // waiting any more, plans expiry.
  void changed(const state::ActionRow& row);
  // Resolves when changed() is called for this id.
  kj::Promise<void> whenChanged(std::string_view id);

  // What reveal() shows while `id` is proposed. Bounded: kMaxRevealBytes an action, kMaxRevealTotal in all,
  // oldest out first.
  void remember(const std::string& id, std::string text);
  const std::string* revealed(std::string_view id) const;
  static constexpr std::size_t kMaxRevealBytes = 256 * 1024;
  static constexpr std::size_t kMaxRevealTotal = 16 * 1024 * 1024;

  // The nonce that a proof for this action's present revision must sign. Nothing unless it is proposed.
  std::optional<identity::Nonce> nonceOf(const state::ActionRow& row);

  struct Verdict {
    std::string id;
    std::uint64_t expectedRevision = 0;
    schema::Verdict verdict = schema::Verdict::UNSPECIFIED;
    std::string approver;  // principal id
    std::optional<audit::Code> reason;
  };
  // The rules of deciding, to be run inside a mutation: self_approval, stale_revision, already_decided.
  static state::ActionRow decideIn(state::Transaction& transaction, const Verdict& verdict,
                                   std::chrono::seconds usableFor);
  kj::Promise<Outcome<state::ActionRow>> decide(Verdict verdict);

  std::uint32_t waiting();

 private:
  struct Waiting {
    identity::Nonce nonce{};
    std::uint64_t revision = 0;
    std::string text;
  };

  void taskFailed(kj::Exception&& exception) override;
  void forget(const std::string& id);
  kj::Promise<void> expireForEver();
  kj::Promise<void> expireDue();

  Core& core_;
  std::map<std::string, Waiting, std::less<>> waiting_;
  std::size_t revealBytes_ = 0;
  std::multimap<std::string, kj::Own<kj::PromiseFulfiller<void>>, std::less<>> watchers_;
  kj::TaskSet tasks_;
};

}  // namespace factionos::broker
