// A started session as the broker holds it.
#pragma once

#include <kj/memory.h>
#include <kj/refcount.h>

#include "protocol/rpc/connection.h"
#include "protocol/schemas/session.capnp.h"
#include "workers/launcher/child.h"

namespace factionos::launcher {

// The process, and our line to it.
class SessionProcess final : public kj::Refcounted {
 public:
  SessionProcess(rpc::Loop& loop, kj::Own<Child> child, rpc::OwnFd line);

  // Once: its session, in this directory. Fails if the process is gone.
  kj::Promise<schema::Session::Client> open(rpc::OwnFd workspace);
  Child& child() { return *child_; }

  // Closes the line, on which the session ends its tree and itself; kills it if it does not. Any number of
  // times.
  void end();
  // Resolves when the process is gone.
  kj::Promise<void> ended();

 private:
  enum class State { kRunning, kEnding };

  rpc::Loop& loop_;
  kj::Own<Child> child_;
  rpc::Connection connection_;
  State state_ = State::kRunning;
  kj::Promise<void> killing_;
};

// Hands every call on to the session. Dropping it ends the session: the capability behind it would outlive
// its last holder.
schema::Session::Client makeProxy(kj::Own<SessionProcess> process, schema::Session::Client session);

}  // namespace factionos::launcher
