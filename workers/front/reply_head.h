// The header block of an answer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "workers/front/request.h"

namespace factionos::front {

// Status line and fields up to the empty line. Every answer says what it is, that it is not to be sniffed,
// kept or shared, and which request it belongs to; there is no Date, so that equal answers are equal bytes
// but for the request's id.
std::string replyHead(const Reply& reply, std::size_t bodyBytes, std::string_view requestId);

// The head of an answer whose end is the connection's end: a stream of events.
std::string streamHead(const Reply& reply, std::string_view requestId);

// The head of 101 Switching Protocols for the client's key.
std::string webSocketHead(std::string_view key, std::string_view requestId);

}  // namespace factionos::front
