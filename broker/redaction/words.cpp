#include "broker/redaction/words.h"

#include <sodium.h>

namespace factionos::redaction {

std::string Sentence::text() const {
  std::string text(words_[0].text());
  for (std::size_t i = 0; i < numbersUsed_; ++i) {
    text += std::to_string(numbers_[i]);
    text += words_[i + 1].text();
  }
  return text;
}

PublicBytes PublicBytes::hex(std::span<const std::uint8_t> bytes) {
  std::string text(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return PublicBytes(std::move(text));
}

PublicBytes PublicBytes::base64Url(std::span<const std::uint8_t> bytes) {
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), kVariant);
  text.pop_back();
  return PublicBytes(std::move(text));
}

}  // namespace factionos::redaction
