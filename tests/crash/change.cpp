#include "tests/crash/change.h"

#include <chrono>

#include "process.h"
#include "tests/crash/trial.h"

namespace factionos::test {

bool Change::drive() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < end) {
    const auto reply = request();
    if (reply.status == 0 && !rig_.reachable()) return false;
    if (reply.has("/action/id")) action_ = reply.at("/action/id");
    if (reply.status == 200 || reply.headers.contains("idempotency-replayed")) return true;
    if (reply.status == 202 && reply.at("/action/state") == "proposed") {
      (void)rig_.approve(action_, reply.number("/action/revision"));
    } else if (reply.status == 202) {
      approved_ = reply.number("/action/revision");
    } else {
      if (reply.code() == "stale_revision") approved_ = 0;
      if (!action_.empty() && isOutcome(state())) return true;
      pollPause();
    }
  }
  return false;
}

std::string Change::state() const {
  return action_.empty() ? std::string() : rig_.get("/v1/actions/" + action_).at("/action/state");
}

Reply Change::request() const {
  std::string body = R"({"workspace":"demo",)" + members_;
  if (approved_ != 0)
    body += R"(,"approval":{"actionId":")" + action_ + R"(","expectedRevision":)" +
            std::to_string(approved_) + "}";
  return rig_.post(route_, body + "}", key_);
}

}  // namespace factionos::test
