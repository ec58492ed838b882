#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "broker/idempotency/lived_clock.h"
#include "broker/state/idempotency_table.h"
#include "broker/state/keys.h"
#include "broker/state/writer.h"

// What a repeated request gets. Pure decisions over the table `idempotency`; every call belongs to a
// mutation.
//
//   begin() → Fresh ─ attachAction() ─┬─ wait() ─ … ─ begin() → Waiting ─ claim() ─┐
//                                     └────────────── effect ───────────────────────┴─ finish() → Replay for
//                                     24 h
//                   └ release(): validation failed, nothing stays
namespace factionos::idempotency {

using audit::Bytes;
using audit::Digest;
using audit::Label;

enum class KeyError { kEmpty, kTooLong, kNotVisibleAscii, kQuote };

// 1 to 255 visible ASCII characters, no quote of either kind (a quoted and an unquoted form of one key would
// be two). Nothing if the key is well formed. The answer to each is 400; the key is never repeated in it.
std::optional<KeyError> checkKey(std::string_view key);
std::string_view nameOf(KeyError error);  // "idempotency_key_empty" …

// Names the stored key without the key's text: keep this between begin() and finish().
struct KeyHandle {
  Label principal;
  Digest keyDigest{};
};

struct Fresh {};  // the row is claimed, in flight; go on
struct Replay {
  std::uint32_t status = 0;
  std::vector<std::uint8_t> reply{};
  std::optional<std::string> actionId{};
};
struct Waiting {
  std::string
      actionId{};  // it waits for a decision or, approved, for this caller: show it, or claim() and run
};
struct InFlight {
  std::uint32_t retryAfterMs = 0;
};
struct Mismatch {};  // same key, another request: 422
struct Interrupted {
  std::string actionId{};  // the broker died while it ran: answer with the action as recovery left it, never
                           // run it again
};

struct Decision {
  std::variant<Fresh, Replay, Waiting, InFlight, Mismatch, Interrupted> outcome;
  KeyHandle handle;
};

inline constexpr std::int64_t kLifetimeMs = 24LL * 60 * 60 * 1000;  // from the last change of the key's state
inline constexpr std::uint32_t kRetryAfterMs = 500;
inline constexpr std::size_t kMaxReplyBytes = 64 * 1024;

class Idempotency {
 public:
  // Borrows `keys`. `bootEpoch`: MetaTable's, raised at this start.
  Idempotency(const state::Keys& keys, std::uint64_t bootEpoch, std::int64_t lifetimeMs = kLifetimeMs)
      : keys_(keys), bootEpoch_(bootEpoch), lifetimeMs_(lifetimeMs) {}

  // `key` passed checkKey() (else std::invalid_argument). `requestDigest` leaves the approval out. A key
  // whose lifetime is over counts as never seen, unless it is in flight. Judged before any expected revision.
  Decision begin(state::Transaction& transaction, const Label& principal, std::string_view key,
                 const Digest& requestDigest, LivedTime now) const;

  // Ties the action to the key: in the same mutation that inserts the action, before any effect. A key in
  // flight without an action has no effect behind it, and after a restart counts as fresh.
  void attachAction(state::Transaction& transaction, const KeyHandle& handle,
                    std::string_view actionId) const;
  // The action waits for a decision: repeats get Waiting.
  void wait(state::Transaction& transaction, const KeyHandle& handle, LivedTime now) const;
  // Waiting → in flight, for one caller alone: false if another was first.
  bool claim(state::Transaction& transaction, const KeyHandle& handle) const;
  // Stores the answer: success and failure alike (a failure after the start is replayed too). `reply` is what
  // the redactor of state at rest made, at most kMaxReplyBytes.
  void finish(state::Transaction& transaction, const KeyHandle& handle, std::uint32_t status, Bytes reply,
              LivedTime now) const;
  // Nothing happened and nothing was recorded: the key is free again. Refuses, with false, once an action is
  // attached.
  bool release(state::Transaction& transaction, const KeyHandle& handle) const;

  // Keys that an earlier start left in flight with an action: recovery finishes each.
  std::vector<state::IdempotencyRow> interrupted(state::Transaction& transaction, std::size_t limit) const;
  std::uint64_t purge(state::Transaction& transaction, LivedTime now, std::size_t limit) const;

 private:
  const state::Keys& keys_;
  std::uint64_t bootEpoch_;
  std::int64_t lifetimeMs_;
};

}  // namespace factionos::idempotency
