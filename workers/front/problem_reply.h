// Refusals as application/problem+json.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/json/reader.h"
#include "protocol/schemas/common.capnp.h"
#include "workers/front/request.h"

namespace factionos::front {

// The body holds nothing of the request, not even its id: the same refusal is the same bytes every time. A
// 401 brings WWW-Authenticate, a wait Retry-After.
Reply problemReply(schema::ProblemCode code, std::uint32_t retryAfterMs = 0);
Reply problemReply(schema::Problem::Reader problem);
Reply problemReply(const json::JsonError& error);

// 405 with the Allow header.
Reply methodNotAllowed(std::string_view allow);

}  // namespace factionos::front
