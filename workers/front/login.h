// What the broker said about who sends a request.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/schemas/api.capnp.h"
#include "protocol/schemas/common.capnp.h"
#include "protocol/schemas/front.capnp.h"
#include "protocol/schemas/http.capnp.h"

namespace factionos::front {

// One principal, as a capability. Good until dropped or until logins are forgotten.
struct Login {
  schema::Api::Client api;
  std::uint32_t scopes = 0;  // bit N: schema::Scope N
  std::uint64_t epoch = 0;   // of Authenticator, when it was asked for

  schema::Refusals::Client refusals;

  std::vector<std::string> withheld;  // fields of schema::Snapshot that policy keeps from it

  // Whether what is served from this field of the snapshot may be shown.
  [[nodiscard]] bool shows(std::string_view snapshotField) const {
    return std::ranges::find(withheld, snapshotField) == withheld.end();
  }
  [[nodiscard]] bool allows(schema::Scope scope) const {
    return (scopes >> static_cast<unsigned>(scope) & 1U) != 0;
  }
};

struct LoginOutcome {
  std::shared_ptr<Login> login;  // null: refused
  schema::ProblemCode code = schema::ProblemCode::UNAUTHENTICATED;
  std::uint32_t retryAfterMs = 0;
};

}  // namespace factionos::front
