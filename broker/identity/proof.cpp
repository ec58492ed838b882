#include "broker/identity/proof.h"

#include <sodium.h>

namespace factionos::identity {
namespace {

// Little-endian, whatever the machine: the signer and the verifier may differ.
void appendNumber(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

void appendField(std::string& out, std::string_view field) {
  appendNumber(out, field.size(), 4);
  out.append(field);
}

std::string_view bytesOf(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string domain(std::string_view purpose) {
  std::string out;
  appendField(out, "FactionOS");
  appendField(out, purpose);
  appendNumber(out, 1, 4);  // version of the form
  return out;
}

template <std::size_t Size>
std::optional<std::array<std::uint8_t, Size>> parseBytes(std::string_view text) {
  std::array<std::uint8_t, Size> bytes{};
  if (!fromBase64Url(text, bytes)) return std::nullopt;
  return bytes;
}

}  // namespace

Nonce randomNonce() {
  Nonce nonce{};
  ::randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

std::string ProofMessage::canonicalBytes() const {
  std::string out = domain("operator decision");
  appendField(out, actionId);
  appendNumber(out, revision, 8);
  appendNumber(out, static_cast<std::uint64_t>(decision), 1);
  appendField(out, bytesOf(nonce));
  appendNumber(out, reasonDigest ? 1 : 0, 1);
  if (reasonDigest) appendField(out, bytesOf(*reasonDigest));
  return out;
}

Digest reasonDigest(std::string_view reason) {
  std::string content = domain("decision reason");
  appendField(content, reason);
  Digest digest{};
  ::crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(content.data()),
                       content.size(), nullptr, 0);
  return digest;
}

std::string LoginChallenge::canonicalBytes() const {
  std::string out = domain("operator login");
  appendField(out, broker);
  appendField(out, bytesOf(nonce));
  return out;
}

bool verifySignature(const PublicKey& key, std::string_view message, const Signature& signature) {
  return ::crypto_sign_verify_detached(signature.data(),
                                       reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                                       key.data()) == 0;
}

bool verifyProof(const PublicKey& key, const ProofMessage& message, const Signature& proof) {
  return verifySignature(key, message.canonicalBytes(), proof);
}

bool verifyLogin(const PublicKey& key, const LoginChallenge& challenge, const Signature& answer) {
  return verifySignature(key, challenge.canonicalBytes(), answer);
}

std::string proofText(const Signature& proof) {
  return toBase64Url(proof);
}
std::optional<Signature> parseProof(std::string_view text) {
  return parseBytes<64>(text);
}
std::string nonceText(const Nonce& nonce) {
  return toBase64Url(nonce);
}
std::optional<Nonce> parseNonce(std::string_view text) {
  return parseBytes<32>(text);
}

}  // namespace factionos::identity
