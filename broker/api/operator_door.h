#pragma once

#include <optional>

#include <sys/types.h>

#include <kj/async.h>

#include "broker/api/services.h"

namespace factionos::broker {

// Accepts on the operator socket for as long as the promise lives. `ownUid`: in user mode the one uid that
// may connect; none: any that the socket's mode lets in, since the key decides.
//
// Who has not proven the key within 10 s is sent away. One uid has room for four of those, and a fifth takes
// the place of the oldest: so nobody without the key keeps the operator out by sitting there.
kj::Promise<void> serveOperator(Services& services, int listener, std::optional<uid_t> ownUid);

}  // namespace factionos::broker
