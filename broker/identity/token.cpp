#include "broker/identity/token.h"

#include <algorithm>

#include <sodium.h>

#include "broker/home/label.h"

namespace factionos::identity {
namespace {

constexpr std::string_view kTokenDomain = "FactionOS token v1";

}  // namespace

Result<MintedToken> mintToken(const SecretBytes& key, std::string_view name, ScopeSet scopes, Time now,
                              std::optional<Time> expires) {
  if (!home::isLabel(name)) {
    return Problem{ProblemCode::kInvalid, "the token's name is no label",
                   "use 1 to 64 letters, digits and . _ - and start with a letter or digit"};
  }
  if (scopes.empty()) {
    return Problem{ProblemCode::kInvalid, "a token needs at least one scope",
                   "give --scope with ingest, read, propose, approve, admin, separated by commas"};
  }
  if (expires && *expires <= now) {
    return Problem{ProblemCode::kInvalid, "the token would be expired at once", "give a later time"};
  }
  const SecretBytes secret = SecretBytes::random(kTokenSecretBytes);
  SecretBytes text(kTokenChars + 1);  // with libsodium's terminator
  std::copy(kTokenPrefix.begin(), kTokenPrefix.end(), text.data());
  ::sodium_bin2base64(reinterpret_cast<char*>(text.data()) + kTokenPrefix.size(),
                      text.size() - kTokenPrefix.size(), secret.data(), secret.size(),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  text.shrink(kTokenChars);
  TokenRow row{std::string(name), tokenDigest(key, text.text()), scopes, now, expires};
  return MintedToken{std::move(text), std::move(row)};
}

bool looksLikeToken(std::string_view text) {
  if (text.size() != kTokenChars || !text.starts_with(kTokenPrefix)) return false;
  const std::string_view secret = text.substr(kTokenPrefix.size());
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return secret.find_first_not_of(kAlphabet) == std::string_view::npos;
}

Digest tokenDigest(const SecretBytes& key, std::string_view text) {
  return keyedDigest(key, kTokenDomain, text);
}

Status writeTokenFile(const home::Home& home, const MintedToken& token) {
  SecretBytes line(token.text.size() + 1);
  std::copy(token.text.span().begin(), token.text.span().end(), line.data());
  line.data()[token.text.size()] = '\n';
  return home.writeFile(home::Folder::kTokens, token.row.name, line.text(), home::WriteMode::kCreateNew);
}

TokenIndex::TokenIndex(SecretBytes key) : key_(std::move(key)) {}

Status TokenIndex::add(TokenRow row) {
  const auto inUse = [&row](const TokenRow& other) {
    return other.name == row.name || other.digest == row.digest;
  };
  if (std::any_of(rows_.begin(), rows_.end(), inUse)) {
    return Problem{ProblemCode::kExists, "there is a token of this name",
                   "choose another name, or revoke it first: factionos token revoke"};
  }
  rows_.push_back(std::move(row));
  return {};
}

bool TokenIndex::revoke(std::string_view name) {
  return std::erase_if(rows_, [name](const TokenRow& row) { return row.name == name; }) > 0;
}

std::optional<Principal> TokenIndex::find(std::string_view text, Time now) const {
  if (!looksLikeToken(text)) return std::nullopt;
  const Digest digest = tokenDigest(key_, text);
  const TokenRow* match = nullptr;
  for (const TokenRow& row : rows_) {  // to the end, whatever is found
    if (equalInConstantTime(row.digest, digest)) match = &row;
  }
  if (match == nullptr || (match->expires && *match->expires <= now)) return std::nullopt;
  return Principal{match->name, PrincipalKind::kToken, match->scopes};
}

}  // namespace factionos::identity
