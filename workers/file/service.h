// The FileWorker interface of file.capnp.
#pragma once

#include "protocol/rpc/compat.h"
#include "protocol/schemas/file.capnp.h"

namespace factionos::file {

// The bootstrap capability of the worker. `workspace`: O_PATH directory, borrowed.
schema::FileWorker::Client makeService(int workspace);

}  // namespace factionos::file
