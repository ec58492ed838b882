// What the front may do, as a value.
#pragma once

#include "sandbox/policy.h"

namespace factionos::front {

// Everything that it needs comes over descriptors that it holds or is handed: no file, no new socket, no
// connection, no process, no thread.
sandbox::Policy frontPolicy();

}  // namespace factionos::front
