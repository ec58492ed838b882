#include "broker/identity/secret.h"

#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

#include <sodium.h>

namespace factionos::identity {
namespace {

// Cheap and safe to repeat; done wherever libsodium is first needed, since no global of ours could do it.
void readySodium() {
  if (::sodium_init() < 0) throw std::runtime_error("libsodium can't be initialised");
}

}  // namespace

void SecretBytes::Free::operator()(std::uint8_t* bytes) const {
  ::sodium_free(bytes);
}

SecretBytes::SecretBytes(std::size_t size) : size_(size) {
  readySodium();
  bytes_.reset(static_cast<std::uint8_t*>(::sodium_malloc(size)));
  if (!bytes_) throw std::bad_alloc();
  ::sodium_memzero(bytes_.get(), size);
}

SecretBytes SecretBytes::copyOf(std::string_view text) {
  SecretBytes secret(text.size());
  std::memcpy(secret.data(), text.data(), text.size());
  return secret;
}

SecretBytes SecretBytes::random(std::size_t size) {
  SecretBytes secret(size);
  ::randombytes_buf(secret.data(), size);
  return secret;
}

void SecretBytes::shrink(std::size_t size) {
  if (size >= size_) return;
  ::sodium_memzero(bytes_.get() + size, size_ - size);
  size_ = size;
}

Digest keyedDigest(const SecretBytes& key, std::string_view domain, std::string_view content) {
  if (key.size() != kDigestBytes) throw std::logic_error("a digest's key has 32 bytes");
  readySodium();
  const std::uint64_t domainSize = domain.size();
  crypto_generichash_state state;
  Digest digest{};
  const auto update = [&state](const void* bytes, std::size_t size) {
    ::crypto_generichash_update(&state, static_cast<const unsigned char*>(bytes), size);
  };
  ::crypto_generichash_init(&state, key.data(), key.size(), digest.size());
  update(&domainSize, sizeof domainSize);  // one home, one machine: the byte order stays
  update(domain.data(), domain.size());
  update(content.data(), content.size());
  ::crypto_generichash_final(&state, digest.data(), digest.size());
  ::sodium_memzero(&state, sizeof state);
  return digest;
}

bool equalInConstantTime(std::span<const std::uint8_t> left, std::span<const std::uint8_t> right) {
  return left.size() == right.size() && ::sodium_memcmp(left.data(), right.data(), left.size()) == 0;
}

std::string toBase64Url(std::span<const std::uint8_t> bytes) {
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
  ::sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), kVariant);
  text.pop_back();  // the terminator
  return text;
}

bool fromBase64Url(std::string_view text, std::span<std::uint8_t> out) {
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  if (text.size() + 1 != sodium_base64_encoded_len(out.size(), kVariant)) return false;
  std::size_t size = 0;
  const char* end = nullptr;
  const bool decoded = ::sodium_base642bin(out.data(), out.size(), text.data(), text.size(), nullptr, &size,
                                           &end, kVariant) == 0;
  return decoded && size == out.size() && end == text.data() + text.size();
}

Result<SecretBytes> loadOrCreateKey(const home::Home& home, std::string_view name) {
  const SecretBytes fresh = SecretBytes::random(kDigestBytes);
  const Status made = home.writeFile(home::Folder::kState, name, fresh.text(), home::WriteMode::kCreateNew);
  if (made) return SecretBytes::copyOf(fresh.text());
  if (made.problem().code != ProblemCode::kExists) return made.problem();
  auto stored = home.readFile(home::Folder::kState, name, kDigestBytes);
  if (!stored) return stored.problem();
  SecretBytes key = SecretBytes::copyOf(*stored);
  ::sodium_memzero(stored->data(), stored->size());
  if (key.size() != kDigestBytes) {
    return Problem{ProblemCode::kInvalid, "state/" + std::string(name) + " is not a key of 32 bytes",
                   "restore it from a backup of the home; what was digested with it is lost otherwise"};
  }
  return key;
}

}  // namespace factionos::identity
