#include "tests/crash/change.h"

#include <chrono>
#include <csignal>
#include <thread>

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

void dieAt(Rig& rig, const std::string& place, const std::function<void()>& drive) {
  rig.start(place);
  std::thread client([&]() {
    if (drive && rig.serving()) drive();
  });
  const bool stopped = rig.await() == Rig::Change::kStopped;
  const auto all = rig.tree();
  const int status = stopped ? rig.kill() : rig.status();
  client.join();
  ASSERT_TRUE(stopped) << rig.log();
  EXPECT_EQ(status, 256 + SIGKILL);
  EXPECT_TRUE(Rig::gone(all));
}

void dieInReconciliation(Rig& rig, const std::string& place, const std::function<void()>& drive) {
  ASSERT_NO_FATAL_FAILURE(dieAt(rig, "start.after", drive));
  dieAt(rig, place, {});
}

}  // namespace factionos::test
