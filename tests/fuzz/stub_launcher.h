// The launcher as the broker sees it, with no process behind it: a session prepares whatever it is asked,
// prints one line through a pty worker that is as little a process, and lives until it is killed.
#pragma once

#include <kj/async.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/descriptor.h"

namespace factionos::fuzz {

class StubLauncher {
 public:
  StubLauncher();
  // The broker's end of the line. Once.
  rpc::OwnFd takeLine() { return kj::mv(brokerEnd_); }

 private:
  rpc::OwnFd brokerEnd_;
  kj::Own<rpc::Connection> line_;
};

}  // namespace factionos::fuzz
