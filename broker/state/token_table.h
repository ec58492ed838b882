#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "broker/state/database.h"

namespace factionos::state {

// Scopes of a token, as bits; names as in the contract.
enum class Scope : std::uint32_t { kIngest = 1, kRead = 2, kPropose = 4, kApprove = 8, kAdmin = 16 };

struct TokenRow {
  Label name;  // the principal's label; unique for ever, so that a revoked name can't be taken over
  std::uint32_t scopes = 0;  // Scope bits
  Digest digest{};           // Purpose::kToken
  Time created{};
  std::optional<Time> revoked{};
};

class TokenTable {
 public:
  explicit TokenTable(Database& database) : database_(database) {}

  // kConstraint if the name is or was in use.
  void insert(const TokenRow& row);
  // False if there is no such token or it is revoked already.
  bool revoke(const Label& name, Time when);
  // The live token of this digest.
  std::optional<TokenRow> authenticate(const Digest& digest);
  std::vector<TokenRow> list();

 private:
  Database& database_;
};

}  // namespace factionos::state
