// The front: HTTP, JSON and WebSocket on one side, typed messages to the broker on the other. It can propose;
// it can't approve.
#include "protocol/rpc/loop.h"
#include "sandbox/enter.h"
#include "sandbox/events.h"
#include "workers/common/start.h"
#include "workers/front/policy.h"
#include "workers/front/service.h"

int main() {
  using namespace factionos;
  worker::mustBeStarted("front");
  return worker::guarded([] {
    front::Prepared prepared;
    const sandbox::Policy policy = front::frontPolicy();
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);
    rpc::Loop loop;
    sandbox::writeEvent(worker::kEvents, {sandbox::EventCode::kServing, {}});
    if (front::serve(loop, rpc::OwnFd(worker::kLine), prepared) == front::Ending::kBrokerLost)
      sandbox::writeEvent(worker::kEvents, {sandbox::EventCode::kPeerLost, {}});
  });
}
