#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "broker/audit/line.h"
#include "broker/audit/secure_file.h"

namespace factionos::audit {

bool verifySignature(const PublicKey& key, std::string_view text, const Signature& signature);

// The Ed25519 pair of one epoch. Wiped from memory on destruction; from its file by discard() and replace().
class EpochKey {
 public:
  static EpochKey generate(std::uint64_t epoch);
  // Reads a file that store() wrote. Nothing if the file isn't there or holds anything else (a wiped key, for
  // one). Throws FileError for what else is wrong with it.
  static std::optional<EpochKey> load(const std::filesystem::path& file);
  // Zeros over the bytes of `file` if it is there, made durable, then its name is removed. On a file system
  // that copies on write, or a disk that remaps, old blocks may live on.
  static void discard(const std::filesystem::path& file, FileOps& ops);
  // Wipes `current` like that and gives `next` its name. After a crash in between, `next` is still there.
  static void replace(const std::filesystem::path& next, const std::filesystem::path& current, FileOps& ops);

  EpochKey(EpochKey&& other) noexcept;
  EpochKey& operator=(EpochKey&& other) noexcept;
  EpochKey(const EpochKey&) = delete;
  EpochKey& operator=(const EpochKey&) = delete;
  ~EpochKey();

  // Makes the file, 0600, durable. FileError kExists if it is there.
  void store(const std::filesystem::path& file, FileOps& ops) const;

  Signature sign(std::string_view text) const;
  const PublicKey& publicKey() const { return public_; }
  std::uint64_t epoch() const { return epoch_; }

 private:
  static constexpr std::size_t kSecretBytes = 64;
  EpochKey() = default;

  std::uint64_t epoch_ = 0;
  PublicKey public_{};
  std::array<std::uint8_t, kSecretBytes> secret_{};
};

}  // namespace factionos::audit
