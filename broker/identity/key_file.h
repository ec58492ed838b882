#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "broker/identity/operator_key.h"

namespace factionos::identity {

// The text form of operator.key and operator.pub. Private to this library.
//
//   factionos operator key 1
//   sealing: argon2id13 xchacha20poly1305        | none
//   opslimit: 3                                  |
//   memlimit: 268435456                          |
//   salt: <16 bytes, base64url>                  |
//   nonce: <24 bytes>                            |
//   public: <32 bytes>
//   secret: <32 bytes of seed and 16 of tag>     | <32 bytes of seed>
//
// All above `secret` is the authenticated data of the seal, so that no line of it can be exchanged.

inline constexpr std::size_t kMaxKeyFileBytes = 2048;
inline constexpr std::size_t kSeedBytes = 32;
inline constexpr std::size_t kTagBytes = 16;

struct KeyFile {
  bool sealed = false;
  std::uint64_t opsLimit = 0;
  std::uint64_t memLimit = 0;
  std::array<std::uint8_t, 16> salt{};
  std::array<std::uint8_t, 24> nonce{};
  PublicKey publicKey{};
  std::string header;  // authenticated
  SecretBytes secret;  // the seed, or the sealed seed
};

std::string sealSeed(const SecretBytes& seed, const PublicKey& publicKey, const SecretBytes& passphrase,
                     SealStrength strength);
SecretBytes plainSeedText(const SecretBytes& seed, const PublicKey& publicKey);
Result<KeyFile> parseKeyFile(std::string_view text);
Result<SecretBytes> openSeed(const KeyFile& file, const SecretBytes& passphrase);

std::string publicKeyText(const PublicKey& key);
Result<PublicKey> parsePublicKeyText(std::string_view text);

}  // namespace factionos::identity
