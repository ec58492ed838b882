#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "broker/home/home.h"
#include "broker/home/result.h"

namespace factionos::identity {

using home::Problem;
using home::ProblemCode;
using home::Result;
using home::Status;

// Bytes that must not reach swap, a core file or a freed page: guarded, locked where the limit allows it,
// wiped at the end (sodium_malloc). Movable, not copyable.
class SecretBytes {
 public:
  SecretBytes() = default;
  explicit SecretBytes(std::size_t size);  // zeroed; throws std::bad_alloc
  SecretBytes(SecretBytes&& other) noexcept
      : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
  SecretBytes& operator=(SecretBytes&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  static SecretBytes copyOf(std::string_view text);
  static SecretBytes random(std::size_t size);

  std::uint8_t* data() { return bytes_.get(); }
  const std::uint8_t* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const std::uint8_t> span() const { return {bytes_.get(), size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.get()), size_}; }
  void shrink(std::size_t size);  // forgets the tail; it is wiped at once

 private:
  struct Free {
    void operator()(std::uint8_t* bytes) const;
  };
  std::unique_ptr<std::uint8_t[], Free> bytes_;
  std::size_t size_ = 0;
};

inline constexpr std::size_t kDigestBytes = 32;
using Digest = std::array<std::uint8_t, kDigestBytes>;

// Keyed BLAKE2b-256 with a domain, so that no digest of one use is a digest of another. `key` has 32 bytes.
Digest keyedDigest(const SecretBytes& key, std::string_view domain, std::string_view content);
bool equalInConstantTime(std::span<const std::uint8_t> left, std::span<const std::uint8_t> right);

std::string toBase64Url(std::span<const std::uint8_t> bytes);  // no padding
// False unless `text` is the one canonical encoding of exactly `out.size()` bytes.
bool fromBase64Url(std::string_view text, std::span<std::uint8_t> out);

// A 32-byte key of the broker's, kept as state/NAME (0600). Made on the first call; never leaves the broker.
Result<SecretBytes> loadOrCreateKey(const home::Home& home, std::string_view name);

}  // namespace factionos::identity
