// The Pty interface of pty.capnp.
#pragma once

#include <memory>

#include "protocol/rpc/loop.h"
#include "protocol/schemas/pty.capnp.h"

namespace factionos::pty {

// The bootstrap capability of the worker; `loop` outlives it.
schema::Pty::Client makeService(rpc::Loop& loop);

}  // namespace factionos::pty
