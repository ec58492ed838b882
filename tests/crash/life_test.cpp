// The changes that belong to no run, the broker's death in the middle of each, and what many deaths leave
// behind.
#include <csignal>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "process.h"
#include "tests/crash/inspector.h"
#include "tests/crash/operator_line.h"
#include "tests/crash/places.h"
#include "tests/crash/trial.h"

namespace factionos::test {
namespace {

using audit::FaultPoint;
using broker::Edge;
using broker::Step;

std::int64_t millis(std::chrono::hours later) {
  const auto at = std::chrono::system_clock::now() + later;
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

// Records of the audit that stand (no void names them) and that `matches` takes.
template <typename Matches>
std::size_t standing(const Rig& rig, Matches matches) {
  std::vector<std::uint64_t> found;
  for (const auto& line : rig.records()) {
    if (const auto* record = std::get_if<audit::Record>(&line.body)) {
      if (matches(*record)) found.push_back(line.sequence);
    } else if (const auto* none = std::get_if<audit::Void>(&line.body)) {
      std::erase_if(found, [none](std::uint64_t each) { return each >= none->first && each <= none->last; });
    }
  }
  return found.size();
}

// One change of the operator or of a caller: how it is asked for, and how often state and audit say that it
// was made.
struct Act {
  Step step;
  bool recorded = true;  // its batch passes the audit's places
  void (*prepare)(Rig& rig);
  void (*ask)(Rig& rig);
  std::size_t (*inState)(Rig& rig);
  std::size_t (*inAudit)(const Rig& rig);
};

template <typename Work>
auto asOperator(const Rig& rig, Work work) {
  const auto key = operatorKeyOf(rig.home());
  OperatorLine line(rig.home(), key);
  return work(line);
}

void grant(Rig& rig) {
  asOperator(rig, [](OperatorLine& line) {
    auto request = line.service().grantAddRequest();
    auto asked = request.initGrant();
    asked.setFamily(schema::Family::TERMINAL);
    asked.setOperation("run");
    asked.setWorkspace("demo");
    asked.setPrincipal("owner");
    asked.setProgram("sh");
    asked.setNetwork(schema::NetworkProfile::NONE);
    asked.setUntil(millis(std::chrono::hours(1)));
    return std::string(request.send().wait(line.waitScope()).getId().cStr());
  });
}

void removeGrants(Rig& rig) {
  asOperator(rig, [](OperatorLine& line) {
    const auto list = line.service().grantListRequest().send().wait(line.waitScope());
    for (const auto each : list.getGrants()) {
      auto request = line.service().grantRemoveRequest();
      request.setId(each.getId());
      request.send().wait(line.waitScope());
    }
    return 0;
  });
}

std::size_t grants(Rig& rig) {
  return asOperator(rig, [](OperatorLine& line) -> std::size_t {
    return line.service().grantListRequest().send().wait(line.waitScope()).getGrants().size();
  });
}

void createToken(Rig& rig) {
  asOperator(rig, [](OperatorLine& line) {
    auto request = line.service().tokenCreateRequest();
    request.setName("ci");
    request.initScopes(1).set(0, schema::Scope::READ);
    request.send().wait(line.waitScope());
    return 0;
  });
}

void revokeToken(Rig& rig) {
  asOperator(rig, [](OperatorLine& line) {
    auto request = line.service().tokenRevokeRequest();
    request.setName("ci");
    request.send().wait(line.waitScope());
    return 0;
  });
}

std::size_t tokens(Rig& rig, bool revoked) {
  return asOperator(rig, [revoked](OperatorLine& line) {
    const auto list = line.service().tokenListRequest().send().wait(line.waitScope());
    std::size_t count = 0;
    for (const auto each : list.getTokens()) count += each.getRevoked() == revoked ? 1U : 0U;
    return count;
  });
}

std::size_t recordsOf(const Rig& rig, std::string_view family, std::string_view operation,
                      std::string_view decision) {
  return standing(rig, [&](const audit::Record& record) {
    return record.family.text() == family && record.operation.text() == operation &&
           record.decision.text() == decision;
  });
}

void propose(Rig& rig) {
  rig.post("/v1/terminal/run", R"({"workspace":"demo","shell":"echo x >>effects"})", "proposed");
}

std::string proposedId(Rig& rig) {
  return rig.get("/v1/actions").at("/actions/0/id");
}

const Act kActs[] = {
    {.step = Step::kGrantAdd,
     .prepare = [](Rig&) {},
     .ask = grant,
     .inState = grants,
     .inAudit = [](const Rig& rig) { return recordsOf(rig, "terminal", "grant", "allow"); }},
    {.step = Step::kGrantRemove,
     .prepare = grant,
     .ask = removeGrants,
     .inState = [](Rig& rig) { return 1 - grants(rig); },
     .inAudit = [](const Rig& rig) { return recordsOf(rig, "terminal", "grant", "revoke"); }},
    {.step = Step::kTokenCreate,
     .prepare = [](Rig&) {},
     .ask = createToken,
     .inState = [](Rig& rig) { return tokens(rig, false); },
     .inAudit = [](const Rig& rig) { return recordsOf(rig, "token", "create", "none"); }},
    {.step = Step::kTokenRevoke,
     .prepare = createToken,
     .ask = revokeToken,
     .inState = [](Rig& rig) { return tokens(rig, true); },
     .inAudit = [](const Rig& rig) { return recordsOf(rig, "token", "revoke", "none"); }},
    {.step = Step::kExpire,
     .prepare = propose,
     .ask = [](Rig& rig) { rig.control().clockShiftMs = 3'600'000; },
     .inState = [](Rig& rig) -> std::size_t {
       return rig.get("/v1/actions?state=expired").has("/actions/0") ? 1 : 0;
     },
     .inAudit = [](const Rig& rig) { return recordsOf(rig, "terminal", "run", "expire"); }},
    {.step = Step::kReveal,
     .prepare = propose,
     .ask =
         [](Rig& rig) {
           const auto id = proposedId(rig);
           asOperator(rig, [&](OperatorLine& line) {
             auto request = line.service().revealRequest();
             request.setId(id.c_str());
             request.send().wait(line.waitScope());
             return 0;
           });
         },
     .inState = nullptr,
     .inAudit = nullptr},
    {.step = Step::kPolicyReload,
     .prepare = [](Rig&) {},
     .ask =
         [](Rig& rig) {
           asOperator(rig, [](OperatorLine& line) {
             line.service().policyReloadRequest().send().wait(line.waitScope());
             return 0;
           });
         },
     .inState = nullptr,
     .inAudit = nullptr},
    {.step = Step::kDeny,
     .prepare =
         [](Rig& rig) {
           const auto path = rig.home() + "/policy.toml";
           writeFile(path,
                     "[[rule]]\nfamily = \"terminal\"\noperation = \"run\"\nnetwork = \"full\"\n"
                     "decision = \"deny\"\nreason = \"no network\"\n\n" +
                         readFile(path));
           rig.signal(SIGHUP);
         },
     .ask =
         [](Rig& rig) {
           eventually([&]() {
             const auto reply = rig.post("/v1/terminal/run",
                                         R"({"workspace":"demo","shell":"true","network":"full"})", "denied");
             return reply.status == 403 || reply.status == 0;
           });
         },
     .inState = nullptr,
     .inAudit = nullptr},
    {.step = Step::kEvent,
     .recorded = false,
     .prepare = [](Rig&) {},
     .ask =
         [](Rig& rig) {
           const auto token = asOperator(rig, [](OperatorLine& line) {
             auto request = line.service().tokenCreateRequest();
             request.setName("hook");
             request.initScopes(1).set(0, schema::Scope::INGEST);
             return std::string(request.send().wait(line.waitScope()).getToken().cStr());
           });
           requestUnix(rig.home() + "/run/api.sock", "POST", "/event", R"({"hook_event_name":"Stop"})",
                       {{"Authorization", "Bearer " + token}});
         },
     .inState = nullptr,
     .inAudit = nullptr},
};

std::vector<std::string> placesOf(const Act& act) {
  std::vector<std::string> places{placeOf(act.step, Edge::kBefore), placeOf(act.step, Edge::kAfter)};
  std::vector<FaultPoint> points{FaultPoint::kAfterMutations, FaultPoint::kBeforeCommit,
                                 FaultPoint::kAfterCommit};
  if (act.recorded)
    points.insert(points.end(),
                  {FaultPoint::kAfterAuditWrite, FaultPoint::kAfterAuditSync, FaultPoint::kAfterHeadSync});
  for (const auto point : points) places.push_back(placeOf(act.step, Edge::kBefore) + "/" + placeOf(point));
  return places;
}

class EveryChange : public testing::TestWithParam<std::size_t> {};
TEST_P(EveryChange, ThatTheBrokerDiesInIsMadeInStateAndAuditOrInNeither) {
  const auto& act = kActs[GetParam()];
  for (const auto& place : placesOf(act)) {
    SCOPED_TRACE(place);
    Rig rig;
    rig.start(place);
    std::thread client([&]() {
      if (!rig.serving()) return;
      try {
        act.prepare(rig);
        act.ask(rig);
      } catch (const kj::Exception&) {
        // The broker dies meanwhile.
      }
    });
    EXPECT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
    const auto all = rig.tree();
    rig.kill();
    client.join();
    EXPECT_TRUE(Rig::gone(all));
    rig.control().clockShiftMs = 0;
    rig.start();
    ASSERT_TRUE(rig.serving()) << rig.log();
    EXPECT_TRUE(rig.verify().intact());
    if (act.inState != nullptr) {
      const auto made = act.inState(rig);
      EXPECT_EQ(made, act.inAudit(rig));
      const bool durable = place.ends_with("after_commit") || place == placeOf(act.step, Edge::kAfter);
      EXPECT_EQ(made, durable ? 1U : 0U);
    }
    rig.signal(SIGTERM);
    EXPECT_EQ(rig.await(), Rig::Change::kEnded);
  }
}
INSTANTIATE_TEST_SUITE_P(Crash, EveryChange, testing::Range(std::size_t{0}, std::size(kActs)),
                         [](const auto& each) { return std::string(nameOf(kActs[each.param].step)); });

// A step that no test of this program stops at would be a hole in the matrix.
TEST(Crash, EveryStepOfTheBrokerIsInTheMatrix) {
  std::vector<bool> covered(broker::kStepCount);
  for (const auto step :
       {Step::kRaiseEpoch, Step::kRecover, Step::kKeyLookUp, Step::kPropose, Step::kDecide, Step::kBegin,
        Step::kReply, Step::kFail, Step::kOutcome, Step::kLaunchFront, Step::kLaunchPty, Step::kLaunchSession,
        Step::kPrepare, Step::kStart, Step::kAttach, Step::kInput, Step::kResize, Step::kSignal, Step::kKill,
        Step::kExited,
        // Written once a minute, by the clock that only goes forward: passes the same writes as kReply.
        Step::kLived})
    covered[static_cast<std::size_t>(step)] = true;
  for (const auto& act : kActs) covered[static_cast<std::size_t>(act.step)] = true;
  for (std::size_t i = 0; i < covered.size(); ++i) EXPECT_TRUE(covered[i]) << nameOf(static_cast<Step>(i));
}

TEST(Crash, ASessionThatIsKilledByItsOwnerEndsOnceWhoeverDiesMeanwhile) {
  Rig rig;
  for (const auto edge : {Edge::kBefore, Edge::kAfter}) {
    for (const auto victim : kVictims) {
      SCOPED_TRACE(placeOf(Step::kKill, edge) + ", killed: " + nameOf(victim));
      const auto name = "killed-" + std::to_string(static_cast<int>(edge)) + nameOf(victim);
      rig.start(placeOf(Step::kReply, Edge::kAfter) + "," + placeOf(Step::kKill, edge));
      std::string session;
      std::string action;
      std::thread client([&]() {
        if (!rig.serving()) return;
        Trial trial(rig, name);
        if (!trial.approve()) return;
        action = trial.action();
        const auto reply = rig.post("/v1/terminal/run",
                                    R"({"workspace":"demo","shell":"echo )" + name +
                                        R"( >>effects; read line","approval":{"actionId":")" + action +
                                        R"(","expectedRevision":2}})",
                                    name);
        session = reply.at("/session/id");
        rig.post("/v1/terminal/sessions/" + session + "/kill", "{}", "kill-" + name);
        eventually([&]() {
          const auto seen = rig.get("/v1/actions/" + action);
          return isOutcome(seen.at("/action/state")) || !rig.reachable();
        });
        rig.signal(SIGTERM);
      });
      ASSERT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
      rig.resume();
      if (rig.await() == Rig::Change::kStopped) {
        const auto all = rig.tree();
        for (const auto pid : rig.find(victim)) ::kill(pid, SIGKILL);
        if (victim != Victim::kBroker) rig.resume();
        while (rig.await() == Rig::Change::kStopped) rig.resume();
        client.join();
        EXPECT_TRUE(Rig::gone(all));
      } else {
        client.join();
        ADD_FAILURE() << "never reached " << rig.log();
      }
      rig.start();
      ASSERT_TRUE(rig.serving()) << rig.log();
      EXPECT_EQ(rig.get("/v1/actions/" + action).at("/action/state"), "failed");
      EXPECT_TRUE(rig.verify().intact());
      rig.signal(SIGTERM);
      EXPECT_EQ(rig.await(), Rig::Change::kEnded);
    }
  }
}

// The start fails after intent, and somebody dies while that is recorded.
TEST(Crash, AFailedStartIsRecordedOnceWhoeverDiesMeanwhile) {
  Rig rig;
  int count = 0;
  for (const std::string place :
       {"fail.before", "fail.before/write.after_audit_sync", "fail.before/write.before_commit",
        "fail.before/write.after_commit", "fail.after"}) {
    for (const auto victim : {Victim::kBroker, Victim::kLauncher, Victim::kFront}) {
      SCOPED_TRACE(place + ", killed: " + nameOf(victim));
      Trial trial(rig, "unstarted-" + std::to_string(count++));
      rig.start("begin.after," + place);
      std::thread client([&]() {
        if (!rig.serving()) return;
        if (trial.drive() == Trial::End::kSettled) rig.signal(SIGTERM);
      });
      ASSERT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
      for (const auto pid : rig.find(Victim::kSession)) ::kill(pid, SIGKILL);
      rig.resume();
      ASSERT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
      const auto all = rig.tree();
      for (const auto pid : rig.find(victim)) ::kill(pid, SIGKILL);
      if (victim != Victim::kBroker) rig.resume();
      while (rig.await() == Rig::Change::kStopped) rig.resume();
      client.join();
      EXPECT_TRUE(Rig::gone(all));
      rig.start();
      ASSERT_TRUE(rig.serving()) << rig.log();
      EXPECT_EQ(trial.state(), "failed");
      EXPECT_EQ(trial.drive(), Trial::End::kSettled) << trial.trace();
      EXPECT_EQ(trial.effects(), 0U);
      rig.signal(SIGTERM);
      EXPECT_EQ(rig.await(), Rig::Change::kEnded);
      EXPECT_TRUE(rig.verify().intact());
    }
  }
}

// One that lives and does nothing keeps the clients' connections waiting; nobody else would end it.
TEST(Crash, AFrontThatHangsBeforeItServesIsReplaced) {
  Rig rig;
  rig.start(placeOf(Step::kLaunchFront, Edge::kAfter));
  ASSERT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
  ASSERT_TRUE(eventually([&]() { return !rig.find(Victim::kFront).empty(); }));
  for (const auto pid : rig.find(Victim::kFront)) ::kill(pid, SIGSTOP);
  rig.resume();
  ASSERT_TRUE(rig.serving());
  EXPECT_TRUE(eventually([&]() { return rig.get("/readyz").status == 200; }));
  EXPECT_EQ(rig.stop(), 0);
}

TEST(Crash, ManyDeathsLeakNoDescriptorAndNoDirectory) {
  Rig rig;
  rig.start();
  ASSERT_TRUE(rig.serving());
  const auto one = [&rig](const std::string& name, std::optional<Victim> victim) {
    Trial trial(rig, name);
    std::thread client([&]() { trial.drive(); });
    EXPECT_TRUE(eventually([&]() { return trial.effects() == 1; })) << trial.trace();
    if (victim) {
      for (const auto pid : rig.find(*victim)) ::kill(pid, SIGKILL);
    }
    client.join();
    EXPECT_TRUE(isOutcome(trial.state())) << trial.trace();
  };
  one("first", std::nullopt);
  const auto settled = [&rig]() {
    return rig.find(Victim::kSession).empty() && rig.find(Victim::kPty).size() == 1 &&
           rig.find(Victim::kFront).size() == 1 && rig.scratchIsEmpty();
  };
  ASSERT_TRUE(eventually(settled));
  const auto broker = rig.descriptors(Victim::kBroker);
  const auto launcher = rig.descriptors(Victim::kLauncher);
  if (!broker || !launcher)
    GTEST_SKIP() << "descriptors of processes that are not dumpable: only root may count them";
  for (const auto victim :
       {Victim::kFront, Victim::kSession, Victim::kKeeper, Victim::kPty, Victim::kCommand}) {
    SCOPED_TRACE(nameOf(victim));
    for (int i = 0; i < 3; ++i) {
      one(std::string(nameOf(victim)) + std::to_string(i), victim);
      EXPECT_TRUE(eventually([&]() { return rig.find(Victim::kSession).empty() && rig.scratchIsEmpty(); }));
    }
    // And once more in peace, after which a spare pty worker waits again.
    one(std::string(nameOf(victim)) + "-last", std::nullopt);
    EXPECT_TRUE(eventually(settled));
    EXPECT_TRUE(eventually([&]() {
      return *rig.descriptors(Victim::kBroker) == *broker && *rig.descriptors(Victim::kLauncher) == *launcher;
    })) << "broker "
        << *broker << " to " << *rig.descriptors(Victim::kBroker) << ", launcher " << *launcher << " to "
        << *rig.descriptors(Victim::kLauncher);
  }
}

}  // namespace
}  // namespace factionos::test
