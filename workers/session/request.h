// CommandSpec and Prepared of session.capnp, from and to plain values.
#pragma once

#include <variant>

#include "protocol/schemas/session.capnp.h"
#include "workers/session/denied.h"
#include "workers/session/prepare.h"

namespace factionos::session {

// Checks forms and counts; directories of the profile become real paths, those that do not exist are left
// out. Denied: "request_invalid", "sandbox_unavailable" (loopback without namespaces).
std::variant<Request, Denied> readRequest(schema::CommandSpec::Reader spec);

void describe(const Prepared& prepared, schema::Prepared::Builder result);

}  // namespace factionos::session
