#include "tests/crash/trial.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "process.h"

namespace factionos::test {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

}  // namespace

bool isOutcome(const std::string& state) {
  return state == "succeeded" || state == "failed" || state == "timed_out";
}

std::string placeName(const testing::TestParamInfo<std::string>& info) {
  auto name = info.param;
  std::ranges::replace_if(
      name, [](char each) { return each == '.' || each == '/'; }, '_');
  return name;
}

Reply Trial::request() {
  std::string body = R"({"workspace":"demo","shell":"echo )" + name_ + R"( >>effects; read line")";
  if (approved_ != 0)
    body += R"(,"approval":{"actionId":")" + action_ + R"(","expectedRevision":)" +
            std::to_string(approved_) + "}";
  auto reply = rig_.post("/v1/terminal/run", body + "}", name_);
  auto said = " " + std::to_string(reply.status) + reply.code();
  if (!trace_.ends_with(said)) trace_ += said;
  return reply;
}

Trial::End Trial::drive() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    const auto reply = request();
    if (reply.status == kNeverAnswered) return End::kStuck;
    if (reply.status == 0) {
      // A front that died answers no more; the next one does. Who can't even be connected to is gone.
      if (!rig_.reachable()) return End::kNobody;
      pollPause();
      continue;
    }
    const auto next = take(reply);
    if (next == Next::kDone) return End::kSettled;
    if (next == Next::kLater) pollPause();
  }
  return End::kStuck;
}

Trial::Next Trial::take(const Reply& reply) {
  if (reply.has("/action/id")) action_ = reply.at("/action/id");
  if (reply.status == 202) {
    const auto revision = reply.number("/action/revision");
    if (reply.at("/action/state") == "approved") {
      approved_ = revision;
    } else if (reply.at("/action/state") == "proposed") {
      trace_ += " approve:" + std::to_string(rig_.approve(action_, revision));
    } else {
      return isOutcome(reply.at("/action/state")) ? Next::kDone : Next::kLater;
    }
    return Next::kAgain;
  }
  if (reply.status == 201) {
    session_ = reply.at("/session/id");
    attend();
    return Next::kDone;
  }
  return judgeProblem(reply);
}

Trial::Next Trial::judgeProblem(const Reply& reply) {
  if (reply.headers.contains("idempotency-replayed")) return Next::kDone;
  if (isOutcome(state())) return Next::kDone;
  const auto& code = reply.code();
  // A client that hears of another revision asks for the action anew.
  if (code == "stale_revision") approved_ = 0;
  const bool again = reply.status == 409 || reply.status == 429 || reply.status >= 500;
  const bool over = code == "approval_drift" || code == "approval_expired" || code == "rejected";
  return again && !over ? Next::kLater : Next::kDone;
}

void Trial::attend() {
  const auto target = "/v1/terminal/sessions/" + session_;
  rig_.post(target + "/resize", R"({"cols":100,"rows":40})", name_ + "-resize");
  rig_.post(target + "/kill", R"({"signal":"cont"})", name_ + "-signal");
  // Under one key: nobody hears it twice, and who died over it has heard it perhaps.
  const auto type = [&]() {
    return rig_.post(target + "/input", R"({"data":"\n"})", name_ + "-input").status != 0;
  };
  bool typed = type();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    const auto reply = rig_.get(target + "?waitMs=1000");
    if (reply.status == kNeverAnswered) break;
    if (reply.status == 404 || reply.at("/session/state") == "ended") return;
    if (reply.status == 0 && !rig_.reachable()) return;
    if (reply.status == 0 || !typed) typed = type();
    if (reply.status != 200) pollPause();
  }
  trace_ += " session-never-ended";
}

bool Trial::approve() {
  const auto reply = request();
  if (reply.status != 202) return false;
  action_ = reply.at("/action/id");
  return rig_.approve(action_, reply.number("/action/revision")) == 0;
}

std::string Trial::state() const {
  return action_.empty() ? std::string() : rig_.get("/v1/actions/" + action_).at("/action/state");
}

std::string Trial::failure() const {
  return rig_.get("/v1/actions/" + action_).at("/action/failureCode");
}

std::size_t Trial::effects() const {
  std::istringstream lines(readFile(rig_.workspace() + "/effects"));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line == name_ ? 1U : 0U;
  return count;
}

std::size_t Trial::recorded(const std::string& state) const {
  std::vector<std::uint64_t> found;
  for (const auto& line : rig_.records()) {
    if (const auto* record = std::get_if<audit::Record>(&line.body)) {
      if (record->actionId == action_ && record->result.text() == state) found.push_back(line.sequence);
    } else if (const auto* none = std::get_if<audit::Void>(&line.body)) {
      std::erase_if(found, [none](std::uint64_t each) { return each >= none->first && each <= none->last; });
    }
  }
  return found.size();
}

}  // namespace factionos::test
