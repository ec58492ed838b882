#pragma once

#include <kj/async.h>
#include <kj/function.h>

#include "broker/api/services.h"
#include "protocol/schemas/operator.capnp.h"

namespace factionos::broker {

// What waits at the operator socket: a nonce, and three tries to sign it.
class OperatorGateService final : public schema::OperatorGate::Server {
 public:
  // `onLogin` is called at each login that succeeds.
  OperatorGateService(Services& services, kj::Function<void()> onLogin)
      : services_(services), onLogin_(kj::mv(onLogin)), nonce_(identity::randomNonce()) {}

 protected:
  kj::Promise<void> hello(HelloContext context) override;
  kj::Promise<void> login(LoginContext context) override;

 private:
  static constexpr int kTries = 3;
  Services& services_;
  kj::Function<void()> onLogin_;
  identity::Nonce nonce_;
  int tries_ = 0;
};

// What a proven key opens.
schema::Operator::Client makeOperator(Services& services);

}  // namespace factionos::broker
