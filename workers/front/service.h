// The front as a whole: its parts, and its life from the broker's configuration to the broker's good-bye.
#pragma once

#include <string>

#include "protocol/json/reader.h"
#include "protocol/json/routes.h"
#include "protocol/rpc/loop.h"
#include "workers/front/authenticator.h"

namespace factionos::front {

// What has to exist before the sandbox, because making it asks the kernel for what the sandbox refuses.
struct Prepared {
  json::RouteTable routes;
  json::RequestReader reader;
  HashKey hashKey = drawHashKey();
  std::string requestIdPrefix;

  Prepared();
};

enum class Ending { kShutDown, kBrokerLost };

// Serves over `line` until the broker says shutdown or is lost. Throws when the broker's configuration can't
// be had.
Ending serve(rpc::Loop& loop, rpc::OwnFd line, Prepared& prepared);

}  // namespace factionos::front
