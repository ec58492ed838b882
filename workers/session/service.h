// The Session interface of session.capnp.
#pragma once

#include <memory>

#include "protocol/rpc/loop.h"
#include "protocol/schemas/session.capnp.h"
#include "workers/session/tree.h"

namespace factionos::session {

// The one session of this process. Destroying it ends the tree.
class Service {
 public:
  // `workspace`: O_PATH directory, borrowed. `support`: what namespaces this kernel gives. The references
  // outlive the service.
  Service(rpc::Loop& loop, int workspace, const sandbox::NamespaceSupport& support,
          const LastResort& lastResort);
  ~Service() noexcept(false);
  KJ_DISALLOW_COPY(Service);

  schema::Session::Client capability();

  // Kills the tree, if there is one; resolves when nothing of it is left.
  kj::Promise<void> end();

 private:
  class Server;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace factionos::session
