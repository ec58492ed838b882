#include "broker/identity/key_file.h"

#include <charconv>
#include <cstring>
#include <new>

#include <sodium.h>

namespace factionos::identity {
namespace {

static_assert(crypto_pwhash_argon2id_SALTBYTES == 16);
static_assert(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES == 24);
static_assert(crypto_aead_xchacha20poly1305_ietf_ABYTES == kTagBytes);
static_assert(crypto_sign_SEEDBYTES == kSeedBytes);

constexpr std::string_view kTitle = "factionos operator key 1\n";
constexpr std::string_view kPublicTitle = "factionos operator public key 1\n";
constexpr std::string_view kSealedBy = "sealing: argon2id13 xchacha20poly1305\n";
constexpr std::string_view kSealedByNothing = "sealing: none\n";
// A changed file must not make the operator's machine swap: four times what `moderate` takes.
constexpr std::uint64_t kMaxMemLimit = 1024ULL * 1024 * 1024;
constexpr std::uint64_t kMaxOpsLimit = 16;

Problem notAKey() {
  return {ProblemCode::kInvalid, "operator.key is not a key of this product, or it is damaged",
          "restore it from a backup, or make a new one with: factionos init"};
}

// Takes lines off the front; any that is not as expected makes the rest fail too.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool take(std::string_view line) {
    if (!ok_ || !rest_.starts_with(line)) return false;
    rest_.remove_prefix(line.size());
    return true;
  }
  std::string_view value(std::string_view name) {
    ok_ = ok_ && take(name);
    const std::size_t end = rest_.find('\n');
    if (!ok_ || end == std::string_view::npos) {
      ok_ = false;
      return {};
    }
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return found;
  }
  void number(std::string_view name, std::uint64_t& out) {
    const std::string_view text = value(name);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    ok_ = ok_ && error == std::errc{} && end == text.data() + text.size();
  }
  void bytes(std::string_view name, std::span<std::uint8_t> out) {
    ok_ = fromBase64Url(value(name), out) && ok_;
  }
  bool done() const { return ok_ && rest_.empty(); }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::string sealedHeader(const KeyFile& file) {
  return std::string(kTitle) + std::string(kSealedBy) + "opslimit: " + std::to_string(file.opsLimit) +
         "\nmemlimit: " + std::to_string(file.memLimit) + "\nsalt: " + toBase64Url(file.salt) +
         "\nnonce: " + toBase64Url(file.nonce) + "\npublic: " + toBase64Url(file.publicKey) + "\n";
}

const unsigned char* unsignedBytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

SecretBytes stretch(const KeyFile& file, const SecretBytes& passphrase) {
  SecretBytes key(crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
  const std::string_view text = passphrase.text();
  if (::crypto_pwhash_argon2id(key.data(), key.size(), text.data(), text.size(), file.salt.data(),
                               file.opsLimit, static_cast<std::size_t>(file.memLimit),
                               crypto_pwhash_argon2id_ALG_ARGON2ID13) != 0) {
    throw std::bad_alloc();  // its one way to fail
  }
  return key;
}

}  // namespace

std::string sealSeed(const SecretBytes& seed, const PublicKey& publicKey, const SecretBytes& passphrase,
                     SealStrength strength) {
  KeyFile file;
  const bool moderate = strength == SealStrength::kModerate;
  file.opsLimit =
      moderate ? crypto_pwhash_argon2id_OPSLIMIT_MODERATE : crypto_pwhash_argon2id_OPSLIMIT_INTERACTIVE;
  file.memLimit =
      moderate ? crypto_pwhash_argon2id_MEMLIMIT_MODERATE : crypto_pwhash_argon2id_MEMLIMIT_INTERACTIVE;
  file.publicKey = publicKey;
  ::randombytes_buf(file.salt.data(), file.salt.size());
  ::randombytes_buf(file.nonce.data(), file.nonce.size());
  file.header = sealedHeader(file);
  const SecretBytes key = stretch(file, passphrase);
  std::array<std::uint8_t, kSeedBytes + kTagBytes> box{};
  ::crypto_aead_xchacha20poly1305_ietf_encrypt(box.data(), nullptr, seed.data(), seed.size(),
                                               unsignedBytes(file.header), file.header.size(), nullptr,
                                               file.nonce.data(), key.data());
  return file.header + "secret: " + toBase64Url(box) + "\n";
}

SecretBytes plainSeedText(const SecretBytes& seed, const PublicKey& publicKey) {
  std::string encoded = toBase64Url(seed.span());
  std::string text = std::string(kTitle) + std::string(kSealedByNothing) +
                     "public: " + toBase64Url(publicKey) + "\nsecret: " + encoded + "\n";
  SecretBytes out = SecretBytes::copyOf(text);
  ::sodium_memzero(encoded.data(), encoded.size());
  ::sodium_memzero(text.data(), text.size());
  return out;
}

Result<KeyFile> parseKeyFile(std::string_view text) {
  if (text.size() > kMaxKeyFileBytes) return notAKey();
  KeyFile file;
  Lines lines(text);
  if (!lines.take(kTitle)) return notAKey();
  file.sealed = lines.take(kSealedBy);
  if (!file.sealed && !lines.take(kSealedByNothing)) return notAKey();
  if (file.sealed) {
    lines.number("opslimit: ", file.opsLimit);
    lines.number("memlimit: ", file.memLimit);
    lines.bytes("salt: ", file.salt);
    lines.bytes("nonce: ", file.nonce);
    const bool bounded =
        file.opsLimit >= crypto_pwhash_argon2id_OPSLIMIT_MIN && file.opsLimit <= kMaxOpsLimit &&
        file.memLimit >= crypto_pwhash_argon2id_MEMLIMIT_MIN && file.memLimit <= kMaxMemLimit;
    if (!bounded) return notAKey();
  }
  lines.bytes("public: ", file.publicKey);
  file.header = text.substr(0, text.size() - lines.left());
  file.secret = SecretBytes(file.sealed ? kSeedBytes + kTagBytes : kSeedBytes);
  lines.bytes("secret: ", {file.secret.data(), file.secret.size()});
  if (!lines.done()) return notAKey();
  return file;
}

Result<SecretBytes> openSeed(const KeyFile& file, const SecretBytes& passphrase) {
  SecretBytes seed(kSeedBytes);
  if (!file.sealed) {
    std::memcpy(seed.data(), file.secret.data(), kSeedBytes);
    return seed;
  }
  const SecretBytes key = stretch(file, passphrase);
  const int opened = ::crypto_aead_xchacha20poly1305_ietf_decrypt(
      seed.data(), nullptr, nullptr, file.secret.data(), file.secret.size(), unsignedBytes(file.header),
      file.header.size(), file.nonce.data(), key.data());
  if (opened != 0) {
    return Problem{ProblemCode::kRefused, "the passphrase does not open operator.key",
                   "try again; nobody can recover a forgotten passphrase"};
  }
  return seed;
}

std::string publicKeyText(const PublicKey& key) {
  return std::string(kPublicTitle) + "public: " + toBase64Url(key) + "\n";
}

Result<PublicKey> parsePublicKeyText(std::string_view text) {
  Lines lines(text);
  PublicKey key{};
  if (lines.take(kPublicTitle)) {
    lines.bytes("public: ", key);
    if (lines.done()) return key;
  }
  return Problem{ProblemCode::kInvalid, "operator.pub is not a public key of this product, or it is damaged",
                 "restore it from a backup of the home"};
}

}  // namespace factionos::identity
