#pragma once

#include "broker/serve.h"

namespace factionos::broker {

// All of factionosd: reads the command line, becomes the broker, serves. Returns the exit status.
int daemonMain(int argc, char** argv, const Seams& seams);

}  // namespace factionos::broker
