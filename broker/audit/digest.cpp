#include "broker/audit/digest.h"

#include <sodium.h>

namespace factionos::audit {

bool operator==(const Digest& left, const Digest& right) {
  return sodium_memcmp(left.bytes.data(), right.bytes.data(), left.bytes.size()) == 0;
}

Digest hash(Bytes data) {
  Digest digest;
  crypto_generichash(digest.bytes.data(), digest.bytes.size(), data.data(), data.size(), nullptr, 0);
  return digest;
}

std::string toHex(Bytes bytes) {
  std::string text(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

bool fromHex(std::string_view text, std::span<std::uint8_t> out) {
  if (text.size() != out.size() * 2) return false;
  for (const char c : text) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  std::size_t written = 0;
  return sodium_hex2bin(out.data(), out.size(), text.data(), text.size(), nullptr, &written, nullptr) == 0 &&
         written == out.size();
}

std::optional<Digest> digestFromHex(std::string_view text) {
  Digest digest;
  if (!fromHex(text, digest.bytes)) return std::nullopt;
  return digest;
}

}  // namespace factionos::audit
