#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

#include "broker/audit/digest.h"
#include "broker/state/errors.h"

namespace factionos::state {

using audit::Bytes;
using audit::Digest;

// What a keyed digest is for. Each purpose has a key of its own, derived from the home's master key, so that
// a digest from one table says nothing about another.
enum class Purpose : std::uint64_t {
  kRequest = 1,         // a whole request, in the state and in audit
  kIdempotencyKey = 2,  // the caller's Idempotency-Key
  kToken = 3,           // a bearer token
  kEvent = 4,           // content of a hook event, to recognise a repeat
  kNonce = 5,           // nonces of approval proofs
  kContainer = 6,       // whose a container is, and what a run of it was approved for
};

// The home's secret (`state/keys`, 32 random bytes, 0600). Wiped on destruction. Immutable: may be used from
// any thread.
class Keys {
 public:
  // Makes the file, which must not exist. Throws StateUnavailable.
  static Keys create(const std::filesystem::path& file);
  // Reads it; kUnsafeFile unless it is a regular file of this user with mode 0600, kCorrupt if it isn't ours.
  static Keys load(const std::filesystem::path& file);

  Keys(Keys&& other) noexcept;
  Keys& operator=(Keys&& other) = delete;
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  ~Keys();

  // BLAKE2b-256 under the purpose's key. Digests compare in constant time.
  Digest digest(Purpose purpose, Bytes data) const;

 private:
  static constexpr std::size_t kKeyBytes = 32;
  Keys() = default;
  std::array<std::uint8_t, kKeyBytes> master_{};
};

}  // namespace factionos::state
