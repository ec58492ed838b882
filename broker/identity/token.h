#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/identity/principal.h"
#include "broker/identity/secret.h"

namespace factionos::identity {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;

inline constexpr std::string_view kTokenPrefix = "fos_";
inline constexpr std::size_t kTokenSecretBytes =
    32;                                             // 256 bits: nothing to guess, so a fast digest is enough
inline constexpr std::size_t kTokenChars = 4 + 43;  // prefix and base64url without padding
inline constexpr const char* kTokenKeyName = "token.key";  // loadOrCreateKey(home, kTokenKeyName)

// What is stored of a token.
struct TokenRow {
  std::string name;  // a label, unique among tokens that are not revoked
  Digest digest{};   // tokenDigest
  ScopeSet scopes;
  Time created{};
  std::optional<Time> expires;  // nothing: until revoked
};

// A fresh token. `text` is printed once and forgotten; only `row` is kept.
struct MintedToken {
  SecretBytes text;
  TokenRow row;
};
Result<MintedToken> mintToken(const SecretBytes& key, std::string_view name, ScopeSet scopes, Time now,
                              std::optional<Time> expires = std::nullopt);

bool looksLikeToken(std::string_view text);  // prefix, length, alphabet
Digest tokenDigest(const SecretBytes& key, std::string_view text);

// Optional copy for a program that reads its token from a file: tokens/NAME, 0600, O_EXCL.
Status writeTokenFile(const home::Home& home, const MintedToken& token);

// The tokens that are good now. A look-up compares with every row in constant time, so that time tells
// nothing of how near a guess came; a principal that has been looked up should be cached per connection.
class TokenIndex {
 public:
  explicit TokenIndex(SecretBytes key);

  Status add(TokenRow row);  // kExists for a name or a digest in use
  bool revoke(std::string_view name);
  std::size_t size() const { return rows_.size(); }
  const std::vector<TokenRow>& rows() const { return rows_; }

  // `text` is what followed "Bearer ". Nothing for a malformed, unknown, revoked or expired token.
  std::optional<Principal> find(std::string_view text, Time now) const;

 private:
  SecretBytes key_;
  std::vector<TokenRow> rows_;
};

}  // namespace factionos::identity
