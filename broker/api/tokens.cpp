#include "broker/api/tokens.h"

#include <algorithm>
#include <array>
#include <utility>

#include "broker/actions/ledger.h"

namespace factionos::broker {
namespace {

using audit::Code;
using audit::Label;
using schema::ProblemCode;

struct ScopeRow {
  identity::Scope scope;
  state::Scope bit;
  schema::Scope wire;
};
constexpr std::array kScopes{
    ScopeRow{identity::Scope::kIngest, state::Scope::kIngest, schema::Scope::INGEST},
    ScopeRow{identity::Scope::kRead, state::Scope::kRead, schema::Scope::READ},
    ScopeRow{identity::Scope::kPropose, state::Scope::kPropose, schema::Scope::PROPOSE},
    ScopeRow{identity::Scope::kApprove, state::Scope::kApprove, schema::Scope::APPROVE},
    ScopeRow{identity::Scope::kAdmin, state::Scope::kAdmin, schema::Scope::ADMIN},
};

audit::Record recordOf(const Label& name, const char* operation) {
  return {.family = Code::of("token"),
          .operation = Code::of(operation),
          .requester = Label::of(identity::operatorPrincipal().id()),
          .approver = Label::of(identity::operatorPrincipal().id()),
          .decision = Code::of("none"),
          .idempotency = Code::of("none"),
          .result = Code::of("done"),
          .target = name};
}

}  // namespace

std::vector<schema::Scope> schemaScopes(std::uint32_t bits) {
  std::vector<schema::Scope> scopes;
  for (const auto& row : kScopes) {
    if ((bits & static_cast<std::uint32_t>(row.bit)) != 0) scopes.push_back(row.wire);
  }
  return scopes;
}

identity::ScopeSet scopesOf(capnp::List<schema::Scope>::Reader scopes) {
  identity::ScopeSet set;
  for (const auto scope : scopes) {
    for (const auto& row : kScopes) {
      if (row.wire == scope) set.add(row.scope);
    }
  }
  return set;
}

std::uint32_t bitsOf(identity::ScopeSet scopes) {
  std::uint32_t bits = 0;
  for (const auto& row : kScopes) {
    if (scopes.has(row.scope)) bits |= static_cast<std::uint32_t>(row.bit);
  }
  return bits;
}

identity::ScopeSet scopesFrom(std::uint32_t bits) {
  identity::ScopeSet set;
  for (const auto& row : kScopes) {
    if ((bits & static_cast<std::uint32_t>(row.bit)) != 0) set.add(row.scope);
  }
  return set;
}

void loadTokens(state::Database& reader, identity::TokenIndex& index) {
  for (const auto& row : state::TokenTable(reader).list()) {
    if (row.revoked) continue;
    identity::TokenRow token{.name = row.name.text(),
                             .digest = row.digest.bytes,
                             .scopes = scopesFrom(row.scopes),
                             .created = row.created,
                             .expires = std::nullopt};
    (void)index.add(std::move(token));
  }
}

bool isReserved(const home::Config& config, std::string_view name) {
  const auto same = [name](const home::PrincipalEntry& entry) { return entry.name == name; };
  return name == identity::kOwnerName || name == identity::operatorPrincipal().name ||
         std::any_of(config.principals.begin(), config.principals.end(), same);
}

void insertToken(state::Transaction& transaction, const identity::TokenRow& row) {
  const auto label = Label::of(row.name);
  audit::Digest digest;
  digest.bytes = row.digest;
  try {
    state::TokenTable(transaction.database())
        .insert({.name = label,
                 .scopes = bitsOf(row.scopes),
                 .digest = digest,
                 .created = row.created,
                 .revoked = std::nullopt});
  } catch (const state::StateUnavailable& error) {
    if (error.fault() != state::StateFault::kConstraint) throw;
    throw actions::Refusal({.code = ProblemCode::INVALID_REQUEST,
                            .detail = "A token of this name exists or existed.",
                            .field = "name"});
  }
  transaction.audit(recordOf(label, "create"));
}

kj::Promise<Outcome<std::string>> createToken(Core& core, identity::TokenIndex& index,
                                              const identity::SecretBytes& key, std::string_view name,
                                              identity::ScopeSet scopes) {
  const auto label = Label::parse(name);
  auto minted = identity::mintToken(key, name, scopes, audit::systemNow());
  if (!label || !minted)
    return Outcome<std::string>(
        Refused{.code = ProblemCode::INVALID_LABEL,
                .detail = "A token needs a name that is a label and at least one scope.",
                .field = "name"});
  auto token = std::make_shared<identity::MintedToken>(std::move(minted).value());
  return commit<bool>(core, Step::kTokenCreate,
                      [row = token->row](state::Transaction& transaction) {
                        insertToken(transaction, row);
                        return true;
                      })
      .then([&index, token](Outcome<bool>&& outcome) -> Outcome<std::string> {
        if (auto* refused = std::get_if<Refused>(&outcome)) return std::move(*refused);
        std::string text(token->text.text());
        (void)index.add(token->row);
        return text;
      });
}

kj::Promise<Outcome<bool>> revokeToken(Core& core, identity::TokenIndex& index, std::string_view name) {
  const auto label = Label::parse(name);
  if (!label) return Outcome<bool>(Refused{.code = ProblemCode::NOT_FOUND, .field = "name"});
  return commit<bool>(core, Step::kTokenRevoke,
                      [label = *label](state::Transaction& transaction) {
                        if (!state::TokenTable(transaction.database()).revoke(label, transaction.now()))
                          throw actions::Refusal({.code = ProblemCode::NOT_FOUND, .field = "name"});
                        transaction.audit(recordOf(label, "revoke"));
                        return true;
                      })
      .then([&index, name = label->text()](Outcome<bool>&& outcome) {
        if (refusedIn(outcome) == nullptr) index.revoke(name);
        return kj::mv(outcome);
      });
}

}  // namespace factionos::broker
