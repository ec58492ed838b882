// What the broker calls on the front.
#pragma once

#include <kj/async.h>

#include "protocol/rpc/compat.h"
#include "protocol/schemas/front.capnp.h"
#include "workers/front/authenticator.h"
#include "workers/front/snapshots.h"

namespace factionos::front {

class Sink final : public schema::SnapshotSink::Server {
 public:
  // `shutdown` is fulfilled with the grace when the broker asks for it. The rest outlives this.
  Sink(SnapshotStore& snapshots, Authenticator& authenticator,
       kj::Own<kj::PromiseFulfiller<kj::Duration>> shutdown)
      : snapshots_(snapshots), authenticator_(authenticator), shutdown_(kj::mv(shutdown)) {}

 private:
  kj::Promise<void> publish(PublishContext context) override;
  kj::Promise<void> shutdown(ShutdownContext context) override;

  SnapshotStore& snapshots_;
  Authenticator& authenticator_;
  kj::Own<kj::PromiseFulfiller<kj::Duration>> shutdown_;
};

}  // namespace factionos::front
