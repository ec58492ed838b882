#include "workers/front/sink.h"

namespace factionos::front {

kj::Promise<void> Sink::publish(PublishContext context) {
  const auto params = context.getParams();
  // First, so that a stream which is woken by the snapshot asks for its login again before it sends it.
  authenticator_.setEpoch(params.getLoginEpoch());
  snapshots_.publish(params.getSnapshot());
  return kj::READY_NOW;
}

kj::Promise<void> Sink::shutdown(ShutdownContext context) {
  shutdown_->fulfill(context.getParams().getGraceMs() * kj::MILLISECONDS);
  return kj::READY_NOW;
}

}  // namespace factionos::front
