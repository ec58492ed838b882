#pragma once

#include <kj/async.h>

#include "broker/api/services.h"
#include "protocol/schemas/operator.capnp.h"

namespace factionos::broker {

// What waits at the operator socket: a nonce, and three tries to sign it.
class OperatorGateService final : public schema::OperatorGate::Server {
 public:
  explicit OperatorGateService(Services& services) : services_(services), nonce_(identity::randomNonce()) {}

 protected:
  kj::Promise<void> hello(HelloContext context) override;
  kj::Promise<void> login(LoginContext context) override;

 private:
  static constexpr int kTries = 3;
  Services& services_;
  identity::Nonce nonce_;
  int tries_ = 0;
};

// Accepts on the operator socket for as long as the promise lives. `ownUid`: in user mode the one uid that
// may connect; none: any that the socket's mode lets in, since the key decides.
kj::Promise<void> serveOperator(Services& services, int listener, std::optional<uid_t> ownUid);

}  // namespace factionos::broker
