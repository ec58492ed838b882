#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broker/home/home.h"
#include "broker/identity/proof.h"
#include "broker/identity/secret.h"

namespace factionos::identity {

// Argon2id limits of libsodium: interactive 64 MiB and 2 passes, moderate 256 MiB and 3 passes (about 0.7 s).
enum class SealStrength : std::uint8_t { kInteractive, kModerate };

enum class KeyState : std::uint8_t { kMissing, kSealed, kPlain };

inline constexpr const char* kOperatorKeyFile = "operator.key";
inline constexpr const char* kOperatorPublicFile = "operator.pub";
// Anybody of the same uid may try passphrases on a copy of the file: a short one is as good as none.
inline constexpr std::size_t kMinPassphraseBytes = 8;
inline constexpr std::size_t kMaxPassphraseBytes = 1024;

// The key that approves. Its secret half lives in memory only while the operator's own command runs; the
// broker holds the public half alone.
class OperatorKey {
 public:
  static OperatorKey generate();

  // The text of operator.key. Sealed: Argon2id and XChaCha20-Poly1305, with the header authenticated.
  Result<std::string> sealedText(const SecretBytes& passphrase, SealStrength strength) const;
  SecretBytes plainText() const;

  // kRefused for a wrong passphrase (or a changed file: the two can't be told apart); kInvalid for what is no
  // key. A plain key takes no passphrase: an empty one opens it.
  static Result<OperatorKey> open(std::string_view fileText, const SecretBytes& passphrase);

  const PublicKey& publicKey() const { return public_; }
  Signature sign(const ProofMessage& message) const;
  Signature sign(const LoginChallenge& challenge) const;

 private:
  OperatorKey() = default;
  Signature signBytes(std::string_view message) const;

  SecretBytes secret_;  // 64 bytes, libsodium's form
  PublicKey public_{};
};

Result<KeyState> keyStateOf(std::string_view fileText);

// operator.key and operator.pub of a home. Storing refuses to replace a key.
Result<KeyState> operatorKeyState(const home::Home& home);
Status storeOperatorKey(const home::Home& home, const OperatorKey& key, const SecretBytes& passphrase,
                        SealStrength strength = SealStrength::kModerate);
Status storePlainOperatorKey(const home::Home& home, const OperatorKey& key);
Result<OperatorKey> openOperatorKey(const home::Home& home, const SecretBytes& passphrase);
Result<PublicKey> loadOperatorPublicKey(const home::Home& home);

// `--key-file F`: any file of this uid, not readable by others. The text is a secret when the key is plain.
Result<SecretBytes> readKeyFile(const std::string& path);

}  // namespace factionos::identity
