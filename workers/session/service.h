// The Supervisor and Session interfaces of session.capnp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "protocol/rpc/loop.h"
#include "protocol/schemas/session.capnp.h"
#include "workers/session/tree.h"

namespace factionos::session {

// The one session of this process, or the wait for it. Destroying it ends the tree.
class Service {
 public:
  // What this machine is like, found out before anything was given up.
  struct Found {
    sandbox::NamespaceSupport support;
    std::vector<std::uint32_t> unheardOpens;  // Command's
    sandbox::Fd audited = {};  // of worker::AuditedDenial, from the launcher; none: no records are read
  };

  // The references outlive the service.
  Service(rpc::Loop& loop, Found found, const LastResort& lastResort);
  ~Service() noexcept(false);
  KJ_DISALLOW_COPY(Service);

  schema::Supervisor::Client capability();

  // Kills the tree, if there is one; resolves when nothing of it is left.
  kj::Promise<void> end();

 private:
  class Opener;
  class Server;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace factionos::session
