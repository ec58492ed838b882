#pragma once

#include <optional>
#include <vector>

#include <kj/async.h>

#include "broker/api/refusal_log.h"
#include "broker/api/request_table.h"
#include "broker/api/services.h"
#include "protocol/rpc/descriptor.h"
#include "protocol/schemas/front.capnp.h"

namespace factionos::broker {

// A socket that the broker listens on for the front; the broker keeps it, so that a front that is started
// anew loses no client in the queue.
struct FrontListener {
  rpc::OwnFd socket;
  schema::Listener::Kind kind;
};

// The running front as the broker sees it.
class FrontLink final : private kj::TaskSet::ErrorHandler {
 public:
  FrontLink(Services& services, Workers& workers, const std::vector<FrontListener>& listeners);
  ~FrontLink() noexcept(false);

  // Starts the front, and again whenever it is lost, with a growing pause. Publishes a snapshot when
  // something changed. Fails only if the first can't be started.
  kj::Promise<void> run();
  // What a front is given as its bootstrap.
  schema::Gate::Client gate();
  // Asks the front to finish what is under way.
  kj::Promise<void> shutdown();

 private:
  class GateServer;
  friend class GateServer;
  void taskFailed(kj::Exception&& exception) override;
  kj::Promise<void> startOnce();
  // Ends what is left of a front whose line has ended, and tells if it broke the rules.
  kj::Promise<void> lost(rpc::DisconnectCause cause);
  void publishSoon();
  kj::Promise<void> publish();
  void giveUp();

  Services& services_;
  Workers& workers_;
  const std::vector<FrontListener>& listeners_;
  RequestTable table_;
  RefusalLog refusals_;
  kj::Maybe<StartedWorker> front_;
  kj::Maybe<schema::SnapshotSink::Client> sink_;
  std::uint64_t revision_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t pauseSteps_ = 0;  // before the next start
  bool publishing_ = false;
  bool dirty_ = false;
  bool closing_ = false;
  kj::TaskSet tasks_;
};

}  // namespace factionos::broker
