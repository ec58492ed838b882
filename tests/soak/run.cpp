#include "tests/soak/run.h"

#include <algorithm>
#include <csignal>
#include <sstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "process.h"
#include "tests/crash/trial.h"

namespace factionos::test {
namespace {

constexpr std::size_t kOperations = 4;  // a run
constexpr std::size_t kMostWaiting =
    40;  // below the broker's own bound, so that no proposal is refused for it
constexpr std::chrono::microseconds kLongestMoment{50'000};

std::map<std::string, std::size_t> effectsOf(const Rig& rig) {
  std::map<std::string, std::size_t> effects;
  std::istringstream lines(readFile(rig.workspace() + "/effects"));
  for (std::string line; std::getline(lines, line);) ++effects[line];
  return effects;
}

}  // namespace

Soak::Soak(std::mt19937_64& random, Summary& summary) : random_(random), summary_(summary) {}

Soak::~Soak() {
  for (const auto& [victim, count] : kills_)
    summary_.counts[std::string("killed: ") + nameOf(victim)] += count;
}

void Soak::breach(const std::string& what) {
  summary_.breaches.push_back(what);
}

void Soak::ensureBroker() {
  if (rig_.alive()) return;
  rig_.start();
  ++summary_.counts["starts"];
  if (!rig_.serving()) breach("a start failed: " + rig_.log());
}

void Soak::request(Asked& asked) {
  std::string body = R"({"workspace":"demo","shell":"echo )" + asked.key + R"( >>effects)";
  // Some end by themselves, some wait for input, some leave children that ignore the terminal's end.
  const auto kind = std::hash<std::string>{}(asked.key) % 3;
  if (kind == 1) body += "; read line";
  if (kind == 2) body += "; setsid sleep 1000 & read line";
  body += "\"";
  if (asked.approved != 0)
    body += R"(,"approval":{"actionId":")" + asked.action + R"(","expectedRevision":)" +
            std::to_string(asked.approved) + "}";
  const auto reply = heard(rig_.post("/v1/terminal/run", body + "}", asked.key), "a run");
  ++summary_
        .counts["answer " + std::to_string(reply.status) + (reply.code().empty() ? "" : " " + reply.code())];
  if (reply.has("/action/id")) asked.action = reply.at("/action/id");
  if (reply.status == 201) asked.session = reply.at("/session/id");
  if (reply.status != 202) return;
  const auto revision = reply.number("/action/revision");
  if (reply.at("/action/state") == "approved") {
    asked.approved = revision;
  } else if (below(4) != 0) {
    ++summary_.counts["approvals"];
    rig_.approve(asked.action, revision);
  }
}

// Whoever dies: a client is answered, or its connection ends.
Reply Soak::heard(Reply reply, const char* what) {
  if (reply.status == kNeverAnswered) breach(std::string(what) + " was never answered: " + rig_.log());
  return reply;
}

// A restart is an action of its own; this one is never to run, so that each key has one effect.
void Soak::refuseRestart(const Reply& reply) {
  if (reply.status == 202) rig_.reject(reply.at("/action/id"), reply.number("/action/revision"));
}

void Soak::useSession(const Asked& asked) {
  const auto target = "/v1/terminal/sessions/" + asked.session;
  const auto key = "use-" + std::to_string(random_());
  switch (below(5)) {
    case 0:
      heard(rig_.post(target + "/input", R"({"data":"\n"})", key), "input");
      break;
    case 1:
      heard(rig_.post(target + "/resize", R"({"cols":)" + std::to_string(40 + below(100)) + R"(,"rows":30})",
                      key),
            "a resize");
      break;
    case 2:
      heard(rig_.post(target + "/kill", "{}", key), "a kill");
      break;
    case 3:
      refuseRestart(heard(rig_.post(target + "/restart", "{}", key), "a restart"));
      break;
    default:
      heard(rig_.get(target), "a read");
  }
  ++summary_.counts["uses of sessions"];
}

void Soak::operate() {
  std::vector<Asked*> open;
  for (auto& each : asked_) {
    if (each.outcome.empty()) open.push_back(&each);
  }
  for (std::size_t i = 0; i < kOperations; ++i) {
    if (open.empty() || (below(3) == 0 && open.size() < kMostWaiting)) {
      asked_.push_back({.key = "soak-" + std::to_string(asked_.size())});
      // The vector may have moved.
      open.clear();
      for (auto& each : asked_) {
        if (each.outcome.empty()) open.push_back(&each);
      }
      request(*open.back());
      continue;
    }
    // The newest more often than the others.
    const auto reach = below(2) == 0 ? std::min<std::uint64_t>(open.size(), 3) : open.size();
    auto& chosen = *open[open.size() - 1 - below(reach)];
    if (!chosen.session.empty() && below(3) != 0) {
      useSession(chosen);
    } else {
      request(chosen);
    }
  }
}

Victim Soak::carryOut(const Kill& kill) {
  ::usleep(static_cast<useconds_t>(kill.moment.count()));
  // Those whose death the broker outlives come twice as often: their runs are cheap.
  std::vector<std::pair<Victim, pid_t>> targets;
  for (const auto victim : kVictims) {
    const bool fatal = victim == Victim::kBroker || victim == Victim::kLauncher;
    for (const auto pid : rig_.find(victim)) targets.insert(targets.end(), fatal ? 1 : 2, {victim, pid});
  }
  const auto [victim, pid] = targets[kill.which % targets.size()];
  ++kills_[victim];
  ::kill(pid, SIGKILL);
  return victim;
}

void Soak::run() {
  ensureBroker();
  const Kill kill{std::chrono::microseconds(below(static_cast<std::uint64_t>(kLongestMoment.count()))),
                  random_()};
  std::thread client([this]() { operate(); });
  const auto all = rig_.tree();
  const auto victim = carryOut(kill);
  const bool fatal = victim == Victim::kBroker || victim == Victim::kLauncher;
  if (fatal) rig_.await();
  client.join();
  ++summary_.counts["runs"];
  if (!fatal && rig_.ended())
    breach(std::string("the broker ended with its ") + nameOf(victim) + ": " + rig_.log());
  if (fatal) {
    if (rig_.status() != (victim == Victim::kBroker ? 256 + SIGKILL : 1))
      breach("the broker ended with " + std::to_string(rig_.status()) + ": " + rig_.log());
    if (!Rig::gone(all)) breach("a process of a dead broker lives on");
  }
  ensureBroker();
  check(Scope::kOpen);
}

void Soak::check(Scope scope) {
  const auto effects = effectsOf(rig_);
  for (auto& each : asked_) {
    const auto found = effects.find(each.key);
    const auto count = found == effects.end() ? 0 : found->second;
    if (count > 1) breach(each.key + " ran " + std::to_string(count) + " times");
    if (scope == Scope::kOpen && !each.outcome.empty()) continue;
    if (each.action.empty()) continue;
    const auto reply = heard(rig_.get("/v1/actions/" + each.action), "a read");
    if (reply.status <= 0) continue;  // the front is away
    const auto state = reply.at("/action/state");
    if (!each.outcome.empty() && state != each.outcome)
      breach(each.key + " was " + each.outcome + " and is " + state);
    if (count == 1 && (state == "proposed" || state == "approved" || state == "expired"))
      breach(each.key + " ran and is " + state);
    if (isOutcome(state)) {
      if (each.outcome.empty()) ++summary_.counts["ended: " + state];
      each.outcome = state;
      if (state == "succeeded" && effectsOf(rig_)[each.key] != 1)
        breach(each.key + " succeeded without its effect");
    }
  }
  if (scope == Scope::kAll) checkAudit();
}

// The audit stands, and says of no action that it began twice.
void Soak::checkAudit() {
  const auto verdict = rig_.verify();
  if (!verdict.intact()) breach("audit: " + std::string(audit::nameOf(verdict.breach)));
  std::map<std::string, std::vector<std::uint64_t>> begun;
  for (const auto& line : rig_.records()) {
    if (const auto* record = std::get_if<audit::Record>(&line.body)) {
      if (record->result.text() == "executing") begun[record->actionId].push_back(line.sequence);
    } else if (const auto* none = std::get_if<audit::Void>(&line.body)) {
      for (auto& [action, lines] : begun)
        std::erase_if(lines,
                      [none](std::uint64_t each) { return each >= none->first && each <= none->last; });
    }
  }
  for (const auto& [action, lines] : begun) {
    if (lines.size() > 1) breach(action + " began " + std::to_string(lines.size()) + " times");
  }
}

void Soak::settle() {
  ensureBroker();
  for (auto& each : asked_) {
    if (!each.outcome.empty()) request(each);
  }
  check(Scope::kAll);
  const auto all = rig_.tree();
  rig_.signal(SIGTERM);
  while (rig_.await() == Rig::Change::kStopped) {
  }
  if (rig_.status() != 0) breach("an orderly end was " + std::to_string(rig_.status()));
  if (!Rig::gone(all)) breach("a process lives on after an orderly end");
  if (!rig_.scratchIsEmpty()) breach("a scratch directory is left after an orderly end");
  // All of them are honest, however they die and however slow the machine is.
  if (rig_.log().find("worker_misbehaved") != std::string::npos)
    breach("a worker that was killed is said to have misbehaved: " + rig_.log());
}

}  // namespace factionos::test
