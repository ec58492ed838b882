#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broker/core/core.h"
#include "broker/identity/token.h"
#include "broker/state/token_table.h"
#include "protocol/schemas/http.capnp.h"

namespace factionos::broker {

std::vector<schema::Scope> schemaScopes(std::uint32_t bits);
identity::ScopeSet scopesOf(capnp::List<schema::Scope>::Reader scopes);
std::uint32_t bitsOf(identity::ScopeSet scopes);
identity::ScopeSet scopesFrom(std::uint32_t bits);

// The live tokens of the state, for the index that logins are judged by.
void loadTokens(state::Database& reader, identity::TokenIndex& index);

// A token may not bear the name of a user that the unix socket knows, or of the operator: policy's rules know
// principals by name.
bool isReserved(const home::Config& config, std::string_view name);

// Inside a mutation: the row and its record. Throws Refusal for a name in use.
void insertToken(state::Transaction& transaction, const identity::TokenRow& row);

// Makes a token: its digest durable and audited first, then its text, told this once.
kj::Promise<Outcome<std::string>> createToken(Core& core, identity::TokenIndex& index,
                                              const identity::SecretBytes& key, std::string_view name,
                                              identity::ScopeSet scopes);
kj::Promise<Outcome<bool>> revokeToken(Core& core, identity::TokenIndex& index, std::string_view name);

}  // namespace factionos::broker
