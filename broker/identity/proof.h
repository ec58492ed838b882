#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "broker/identity/secret.h"

namespace factionos::identity {

using PublicKey = std::array<std::uint8_t, 32>;  // Ed25519
using Signature = std::array<std::uint8_t, 64>;
using Nonce = std::array<std::uint8_t, 32>;

Nonce randomNonce();

enum class ProofDecision : std::uint8_t { kApprove = 1, kReject = 2, kReveal = 3 };

// What the operator signs for one decision. The nonce is the broker's, made for this action and revision and
// good for one use; the broker forgets it when the action leaves `proposed`.
struct ProofMessage {
  std::string actionId;  // 1..128 bytes
  std::uint64_t revision = 0;
  ProofDecision decision = ProofDecision::kReject;
  Nonce nonce{};
  std::optional<Digest> reasonDigest;  // reasonDigest(reason) when the request carries a reason

  // The bytes that are signed: a domain ("FactionOS", purpose, version), then every field with its length in
  // front. Two different messages never have the same bytes.
  std::string canonicalBytes() const;
};
Digest reasonDigest(std::string_view reason);  // unkeyed BLAKE2b-256 under its own domain

// What the operator signs to log in on operator.sock. The broker's identity keeps an answer from being passed
// on to another broker; the nonce keeps it from being used again.
struct LoginChallenge {
  std::string broker;  // 1..128 bytes; the broker of one home says the same at every start
  Nonce nonce{};

  std::string canonicalBytes() const;
};

bool verifySignature(const PublicKey& key, std::string_view message, const Signature& signature);
bool verifyProof(const PublicKey& key, const ProofMessage& message, const Signature& proof);
bool verifyLogin(const PublicKey& key, const LoginChallenge& challenge, const Signature& answer);

// The text forms of REST and the CLI: base64url without padding, 86 and 43 characters.
std::string proofText(const Signature& proof);
std::optional<Signature> parseProof(std::string_view text);
std::string nonceText(const Nonce& nonce);
std::optional<Nonce> parseNonce(std::string_view text);

}  // namespace factionos::identity
