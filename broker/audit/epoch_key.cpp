#include "broker/audit/epoch_key.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include <sodium.h>
#include <unistd.h>

namespace factionos::audit {
namespace {

constexpr std::string_view kRole = "audit key";
constexpr std::array<std::uint8_t, 8> kMagic = {'F', 'A', 'K', 'E', 'Y', '0', '1', '\n'};
// magic, epoch (little endian), seed, hash of all before it
constexpr std::size_t kFileBytes = kMagic.size() + 8 + crypto_sign_SEEDBYTES + kDigestBytes;
constexpr std::size_t kSeedAt = kMagic.size() + 8;
constexpr std::size_t kHashAt = kSeedAt + crypto_sign_SEEDBYTES;
static_assert(crypto_sign_PUBLICKEYBYTES == kPublicKeyBytes && crypto_sign_BYTES == kSignatureBytes);

// A file image of a key, wiped when it goes.
class Image {
 public:
  Image() = default;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image() { sodium_memzero(bytes.data(), bytes.size()); }

  std::array<std::uint8_t, kFileBytes> bytes{};
};

// False if there is no such file.
bool wipe(const std::filesystem::path& path, FileOps& ops) {
  FileDescriptor file;
  try {
    file = openOwn(path, OpenFor::kWrite, kRole);
  } catch (const FileError& error) {
    if (error.fault() == FileFault::kMissing) return false;
    throw;
  }
  const std::vector<std::uint8_t> zeros(static_cast<std::size_t>(sizeOf(file, kRole)));
  writeAt(ops, file, zeros, 0, kRole);
  sync(ops, file, kRole);
  return true;
}

}  // namespace

bool verifySignature(const PublicKey& key, std::string_view text, const Signature& signature) {
  const Bytes data = asBytes(text);
  return crypto_sign_verify_detached(signature.data(), data.data(), data.size(), key.data()) == 0;
}

EpochKey EpochKey::generate(std::uint64_t epoch) {
  EpochKey key;
  key.epoch_ = epoch;
  crypto_sign_keypair(key.public_.data(), key.secret_.data());
  return key;
}

std::optional<EpochKey> EpochKey::load(const std::filesystem::path& path) {
  FileDescriptor file;
  try {
    file = openOwn(path, OpenFor::kRead, kRole);
  } catch (const FileError& error) {
    if (error.fault() == FileFault::kMissing) return std::nullopt;
    throw;
  }
  Image image;
  if (sizeOf(file, kRole) != kFileBytes || readAt(file, image.bytes, 0, kRole) != kFileBytes)
    return std::nullopt;
  const Bytes all(image.bytes);
  Digest stored;
  std::memcpy(stored.bytes.data(), image.bytes.data() + kHashAt, kDigestBytes);
  if (std::memcmp(image.bytes.data(), kMagic.data(), kMagic.size()) != 0 ||
      !(hash(all.first(kHashAt)) == stored)) {
    return std::nullopt;
  }
  EpochKey key;
  for (std::size_t i = 0; i < 8; ++i) key.epoch_ |= std::uint64_t{image.bytes[kMagic.size() + i]} << (8 * i);
  crypto_sign_seed_keypair(key.public_.data(), key.secret_.data(), image.bytes.data() + kSeedAt);
  return key;
}

void EpochKey::discard(const std::filesystem::path& path, FileOps& ops) {
  if (!wipe(path, ops)) return;
  if (::unlink(path.c_str()) != 0) throw FileError(FileFault::kIo, kRole, "can't be removed", errno);
  syncDirectory(path.parent_path(), kRole);
}

void EpochKey::replace(const std::filesystem::path& next, const std::filesystem::path& current,
                       FileOps& ops) {
  struct stat status {};
  // Gone: an earlier call got as far as the new name, and `current` must not be wiped again.
  if (::lstat(next.c_str(), &status) == 0) {
    wipe(current, ops);
    if (std::rename(next.c_str(), current.c_str()) != 0) {
      throw FileError(FileFault::kIo, kRole, "can't be replaced", errno);
    }
  } else if (errno != ENOENT) {
    throw FileError(FileFault::kIo, kRole, "can't be examined", errno);
  }
  syncDirectory(current.parent_path(), kRole);
}

EpochKey::EpochKey(EpochKey&& other) noexcept
    : epoch_(other.epoch_), public_(other.public_), secret_(other.secret_) {
  sodium_memzero(other.secret_.data(), other.secret_.size());
}

EpochKey& EpochKey::operator=(EpochKey&& other) noexcept {
  if (this != &other) {
    epoch_ = other.epoch_;
    public_ = other.public_;
    secret_ = other.secret_;
    sodium_memzero(other.secret_.data(), other.secret_.size());
  }
  return *this;
}

EpochKey::~EpochKey() {
  sodium_memzero(secret_.data(), secret_.size());
}

void EpochKey::store(const std::filesystem::path& path, FileOps& ops) const {
  Image image;
  std::memcpy(image.bytes.data(), kMagic.data(), kMagic.size());
  for (std::size_t i = 0; i < 8; ++i) {
    image.bytes[kMagic.size() + i] = static_cast<std::uint8_t>(epoch_ >> (8 * i));
  }
  crypto_sign_ed25519_sk_to_seed(image.bytes.data() + kSeedAt, secret_.data());
  const Digest sum = hash(Bytes(image.bytes).first(kHashAt));
  std::memcpy(image.bytes.data() + kHashAt, sum.bytes.data(), kDigestBytes);
  const FileDescriptor file = createOwn(path, kRole);
  writeAt(ops, file, image.bytes, 0, kRole);
  sync(ops, file, kRole);
}

Signature EpochKey::sign(std::string_view text) const {
  const Bytes data = asBytes(text);
  Signature signature{};
  crypto_sign_detached(signature.data(), nullptr, data.data(), data.size(), secret_.data());
  return signature;
}

}  // namespace factionos::audit
