// Which of its credentials a request is judged by.
#pragma once

#include <kj/async.h>

#include "workers/front/authenticator.h"
#include "workers/front/request.h"

namespace factionos::front {

// A Bearer token wins; on the unix socket the peer itself is enough. Never fails.
kj::Promise<LoginOutcome> loginOf(Authenticator& authenticator, const Request& request, Peer& peer);

}  // namespace factionos::front
