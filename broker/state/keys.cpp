#include "broker/state/keys.h"

#include <cstring>

#include <sodium.h>

#include "broker/audit/secure_file.h"

namespace factionos::state {
namespace {

constexpr std::string_view kRole = "key file";
constexpr std::array<std::uint8_t, 8> kMagic = {'F', 'A', 'M', 'K', 'E', 'Y', '0', '1'};
constexpr std::size_t kSecretBytes = 32;
// magic, secret, hash of both
constexpr std::size_t kSumAt = kMagic.size() + kSecretBytes;
constexpr std::size_t kFileBytes = kSumAt + audit::kDigestBytes;
static_assert(crypto_kdf_KEYBYTES == kSecretBytes && crypto_kdf_BYTES_MAX >= kSecretBytes);

class Image {
 public:
  Image() = default;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image() { sodium_memzero(bytes.data(), bytes.size()); }

  std::array<std::uint8_t, kFileBytes> bytes{};
};

[[noreturn]] void translate(const audit::FileError& error) {
  const bool unsafe =
      error.fault() == audit::FileFault::kUnsafe || error.fault() == audit::FileFault::kExists;
  throw StateUnavailable(unsafe ? StateFault::kUnsafeFile : StateFault::kIo, error.what());
}

void requireSodium() {
  if (sodium_init() < 0) throw StateUnavailable(StateFault::kIo, "key file: no random numbers");
}

}  // namespace

Keys Keys::create(const std::filesystem::path& path) {
  requireSodium();
  Keys keys;
  crypto_kdf_keygen(keys.master_.data());
  Image image;
  std::memcpy(image.bytes.data(), kMagic.data(), kMagic.size());
  std::memcpy(image.bytes.data() + kMagic.size(), keys.master_.data(), kSecretBytes);
  const Digest sum = audit::hash(Bytes(image.bytes).first(kSumAt));
  std::memcpy(image.bytes.data() + kSumAt, sum.bytes.data(), sum.bytes.size());
  try {
    audit::FileOps ops;
    const audit::FileDescriptor file = audit::createOwn(path, kRole);
    audit::writeAt(ops, file, image.bytes, 0, kRole);
    audit::sync(ops, file, kRole);
  } catch (const audit::FileError& error) {
    translate(error);
  }
  return keys;
}

Keys Keys::load(const std::filesystem::path& path) {
  requireSodium();
  Image image;
  std::size_t got = 0;
  try {
    const audit::FileDescriptor file = audit::openOwn(path, audit::OpenFor::kRead, kRole);
    if (audit::sizeOf(file, kRole) == kFileBytes) got = audit::readAt(file, image.bytes, 0, kRole);
  } catch (const audit::FileError& error) {
    translate(error);
  }
  Digest stored;
  std::memcpy(stored.bytes.data(), image.bytes.data() + kSumAt, stored.bytes.size());
  if (got != kFileBytes || std::memcmp(image.bytes.data(), kMagic.data(), kMagic.size()) != 0 ||
      !(audit::hash(Bytes(image.bytes).first(kSumAt)) == stored)) {
    throw StateUnavailable(StateFault::kCorrupt, "key file: it is damaged; restore it from a backup");
  }
  Keys keys;
  std::memcpy(keys.master_.data(), image.bytes.data() + kMagic.size(), kSecretBytes);
  return keys;
}

Keys::Keys(Keys&& other) noexcept : master_(other.master_) {
  sodium_memzero(other.master_.data(), other.master_.size());
}

Keys::~Keys() {
  sodium_memzero(master_.data(), master_.size());
}

Digest Keys::digest(Purpose purpose, Bytes data) const {
  constexpr char kContext[crypto_kdf_CONTEXTBYTES + 1] = "factions";
  std::array<std::uint8_t, kSecretBytes> subkey{};
  crypto_kdf_derive_from_key(subkey.data(), subkey.size(), static_cast<std::uint64_t>(purpose), kContext,
                             master_.data());
  Digest result;
  crypto_generichash(result.bytes.data(), result.bytes.size(), data.data(), data.size(), subkey.data(),
                     subkey.size());
  sodium_memzero(subkey.data(), subkey.size());
  return result;
}

}  // namespace factionos::state
