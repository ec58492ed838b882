#pragma once

#include <string>

#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// The command as a shell would be given it, each argument quoted where it needs to be: what the operator is
// shown by `reveal`. Raw; for memory alone.
std::string commandText(schema::TerminalRun::Reader request);

}  // namespace factionos::broker
