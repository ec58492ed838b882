#include "broker/identity/operator_key.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/identity/key_file.h"

namespace factionos::identity {
namespace {

static_assert(sizeof(PublicKey) == crypto_sign_PUBLICKEYBYTES);
static_assert(sizeof(Signature) == crypto_sign_BYTES);

SecretBytes seedOf(const SecretBytes& secret) {
  SecretBytes seed(crypto_sign_SEEDBYTES);
  ::crypto_sign_ed25519_sk_to_seed(seed.data(), secret.data());
  return seed;
}

}  // namespace

OperatorKey OperatorKey::generate() {
  OperatorKey key;
  key.secret_ = SecretBytes(crypto_sign_SECRETKEYBYTES);
  ::crypto_sign_keypair(key.public_.data(), key.secret_.data());
  return key;
}

Result<std::string> OperatorKey::sealedText(const SecretBytes& passphrase, SealStrength strength) const {
  if (passphrase.size() < kMinPassphraseBytes || passphrase.size() > kMaxPassphraseBytes) {
    return Problem{ProblemCode::kInvalid, "the passphrase must have 8 to 1024 bytes", "choose a longer one"};
  }
  return sealSeed(seedOf(secret_), public_, passphrase, strength);
}

SecretBytes OperatorKey::plainText() const {
  return plainSeedText(seedOf(secret_), public_);
}

Result<OperatorKey> OperatorKey::open(std::string_view fileText, const SecretBytes& passphrase) {
  auto file = parseKeyFile(fileText);
  if (!file) return file.problem();
  auto seed = openSeed(*file, passphrase);
  if (!seed) return seed.problem();
  OperatorKey key;
  key.secret_ = SecretBytes(crypto_sign_SECRETKEYBYTES);
  ::crypto_sign_seed_keypair(key.public_.data(), key.secret_.data(), seed->data());
  if (key.public_ != file->publicKey) {
    return Problem{ProblemCode::kInvalid, "operator.key: its two halves don't belong together",
                   "restore it from a backup, or make a new one with: factionos init"};
  }
  return key;
}

Signature OperatorKey::signBytes(std::string_view message) const {
  Signature signature{};
  ::crypto_sign_detached(signature.data(), nullptr, reinterpret_cast<const unsigned char*>(message.data()),
                         message.size(), secret_.data());
  return signature;
}

Signature OperatorKey::sign(const ProofMessage& message) const {
  return signBytes(message.canonicalBytes());
}
Signature OperatorKey::sign(const LoginChallenge& challenge) const {
  return signBytes(challenge.canonicalBytes());
}

Result<KeyState> keyStateOf(std::string_view fileText) {
  auto file = parseKeyFile(fileText);
  if (!file) return file.problem();
  return file->sealed ? KeyState::kSealed : KeyState::kPlain;
}

Result<KeyState> operatorKeyState(const home::Home& home) {
  auto text = home.readFile(home::Folder::kTop, kOperatorKeyFile, kMaxKeyFileBytes);
  if (!text && text.problem().code == ProblemCode::kNotFound) return KeyState::kMissing;
  if (!text) return text.problem();
  auto state = keyStateOf(*text);
  ::sodium_memzero(text->data(), text->size());
  return state;
}

namespace {

Status storeTexts(const home::Home& home, std::string_view keyText, const PublicKey& publicKey) {
  // The secret half first: a home with a public key alone would accept nobody and look complete.
  Status stored = home.writeFile(home::Folder::kTop, kOperatorKeyFile, keyText, home::WriteMode::kCreateNew);
  if (!stored && stored.problem().code == ProblemCode::kExists) {
    return Problem{ProblemCode::kExists, "operator.key exists already",
                   "it is kept; move it away first if you mean to replace the operator's key"};
  }
  if (!stored) return stored;
  return home.writeFile(home::Folder::kTop, kOperatorPublicFile, publicKeyText(publicKey),
                        home::WriteMode::kReplace);
}

}  // namespace

Status storeOperatorKey(const home::Home& home, const OperatorKey& key, const SecretBytes& passphrase,
                        SealStrength strength) {
  auto text = key.sealedText(passphrase, strength);
  if (!text) return text.problem();
  return storeTexts(home, *text, key.publicKey());
}

Status storePlainOperatorKey(const home::Home& home, const OperatorKey& key) {
  return storeTexts(home, key.plainText().text(), key.publicKey());
}

Result<OperatorKey> openOperatorKey(const home::Home& home, const SecretBytes& passphrase) {
  auto text = home.readFile(home::Folder::kTop, kOperatorKeyFile, kMaxKeyFileBytes);
  if (!text) {
    Problem problem = text.problem();
    if (problem.code == ProblemCode::kNotFound) {
      problem = {problem.code, "operator.key is missing",
                 "give --key-file, or make a key with: factionos init"};
    }
    return problem;
  }
  auto key = OperatorKey::open(*text, passphrase);
  ::sodium_memzero(text->data(), text->size());
  return key;
}

Result<PublicKey> loadOperatorPublicKey(const home::Home& home) {
  auto text = home.readFile(home::Folder::kTop, kOperatorPublicFile, kMaxKeyFileBytes);
  if (!text) {
    Problem problem = text.problem();
    if (problem.code == ProblemCode::kNotFound) {
      problem = {problem.code, "operator.pub is missing", "run: factionos init"};
    }
    return problem;
  }
  return parsePublicKeyText(*text);
}

}  // namespace factionos::identity
