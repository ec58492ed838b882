// The changes that belong to no run, and the broker's death in the middle of each.
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "process.h"
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
           // A key of its own each time: until the rule holds the request is only proposed, and would stay
           // so.
           eventually([&rig, asked = 0]() mutable {
             const auto reply =
                 rig.post("/v1/terminal/run", R"({"workspace":"demo","shell":"true","network":"full"})",
                          "denied" + std::to_string(++asked));
             return reply.status == 403 || reply.status == 0;
           });
         },
     .inState = nullptr,
     .inAudit = nullptr},
    {.step = Step::kQueue,
     .prepare = [](Rig&) {},
     .ask =
         [](Rig& rig) {
           rig.post("/v1/queue/tasks",
                    R"({"workspace":"demo","executable":{"kind":"container","template":"t"}})", "task");
         },
     .inState = [](Rig& rig) -> std::size_t { return rig.get("/v1/queue/tasks").has("/tasks/0") ? 1 : 0; },
     .inAudit = [](const Rig& rig) { return recordsOf(rig, "container", "task", "none"); }},
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
        Step::kExited, Step::kLaunchScoped, Step::kReconcile, Step::kRead,
        // Written once a minute, by the clock that only goes forward: passes the same writes as kReply.
        Step::kLived})
    covered[static_cast<std::size_t>(step)] = true;
  for (const auto& act : kActs) covered[static_cast<std::size_t>(act.step)] = true;
  for (std::size_t i = 0; i < covered.size(); ++i) EXPECT_TRUE(covered[i]) << nameOf(static_cast<Step>(i));
}

}  // namespace
}  // namespace factionos::test
