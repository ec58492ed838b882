// The Git interface of git.capnp.
#pragma once

#include "protocol/rpc/loop.h"
#include "protocol/schemas/git.capnp.h"
#include "workers/git/locate.h"

namespace factionos::git {

// The bootstrap capability of the worker; `loop` outlives it and has its pool.
schema::Git::Client makeService(rpc::Loop& loop, Place place);

}  // namespace factionos::git
