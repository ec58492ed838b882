#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace factionos::audit {

using Bytes = std::span<const std::uint8_t>;

inline constexpr std::size_t kDigestBytes = 32;  // BLAKE2b-256

// A digest, keyed or not; which, its field says. Comparing takes the same time wherever two differ.
struct Digest {
  std::array<std::uint8_t, kDigestBytes> bytes{};

  friend bool operator==(const Digest& left, const Digest& right);
};

// BLAKE2b-256 without a key.
Digest hash(Bytes data);
inline Bytes asBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string toHex(Bytes bytes);
// Lowercase hex of exactly `out.size()` bytes; false if it is anything else.
bool fromHex(std::string_view text, std::span<std::uint8_t> out);
std::optional<Digest> digestFromHex(std::string_view text);

}  // namespace factionos::audit
