#include "broker/policy/grant.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/policy/policy_fixture.h"

namespace factionos::policy {
namespace {

using namespace testing;

Grant grant(Subject subject, Time until = kNow + kHour) {
  return {"grt_1", std::move(subject), kNow - kHour, until, "operator"};
}

class Grants : public ::testing::Test {
 protected:
  Policy policy = parsed(rule("program=\"/usr/bin/curl\"\ndecision=\"deny\"\n") + rule("decision=\"ask\"\n"));
  GrantList grants;
};

TEST_F(Grants, TurnAskIntoAllowForExactlyTheirScope) {
  ASSERT_TRUE(grants.add(grant(run().subject)).ok());
  const Decision decision = policy.evaluate(run(), grants);
  EXPECT_EQ(decision.verdict, Verdict::kAllow);
  EXPECT_EQ(decision.cause, Cause::kGrant);
  EXPECT_EQ(decision.grantId, "grt_1");
  const std::vector<void (*)(Subject&)> changes{
      [](Subject& s) { s.workspace = "other"; },
      [](Subject& s) { s.principal = "other"; },
      [](Subject& s) { s.program = Program::system("/usr/bin/cmake"); },
      [](Subject& s) { s.program = Program::shellLine(); },
      [](Subject& s) { s.program = Program::workspace(); },
      [](Subject& s) { s.network = "full"; },
      [](Subject& s) { s.profile = "wide"; },
  };
  for (const auto change : changes) {
    Request other = run();
    change(other.subject);
    EXPECT_EQ(policy.evaluate(other, grants).verdict, Verdict::kAsk);
  }
}

TEST_F(Grants, NeverTurnDenyIntoAllow) {
  const Subject denied = run(Program::system("/usr/bin/curl")).subject;
  ASSERT_TRUE(grants.add(grant(denied)).ok());
  EXPECT_EQ(policy.evaluate(run(Program::system("/usr/bin/curl")), grants).verdict, Verdict::kDeny);
  GrantList own;
  ASSERT_TRUE(own.add(grant(run().subject)).ok());
  EXPECT_EQ(parsed("").evaluate(run(), own).verdict, Verdict::kDeny) << "no rule is a deny too";
}

TEST_F(Grants, ServeWhereNobodyCanApproveNow) {
  ASSERT_TRUE(grants.add(grant(run().subject)).ok());
  Request request = run();
  request.approver = Approver::kAbsent;
  EXPECT_EQ(policy.evaluate(request, grants).verdict, Verdict::kAllow);
}

TEST_F(Grants, EndAndAreTakenAway) {
  ASSERT_TRUE(grants.add(grant(run().subject)).ok());
  Request request = run();
  request.now = kNow + kHour;
  EXPECT_EQ(policy.evaluate(request, grants).verdict, Verdict::kAsk);
  request.now = kNow - kHour - std::chrono::milliseconds(1);
  EXPECT_EQ(policy.evaluate(request, grants).verdict, Verdict::kAsk) << "the clock went back before it began";
  EXPECT_TRUE(grants.removeExpired(kNow).empty());
  EXPECT_TRUE(grants.revoke("grt_1"));
  EXPECT_FALSE(grants.revoke("grt_1"));
  EXPECT_EQ(policy.evaluate(run(), grants).verdict, Verdict::kAsk);
  ASSERT_TRUE(grants.add(grant(run().subject)).ok());
  EXPECT_EQ(grants.removeExpired(kNow + kHour).size(), 1U);
  EXPECT_TRUE(grants.all().empty());
}

TEST_F(Grants, NameOneMutationExactly) {
  const std::vector<void (*)(Grant&)> wrong{
      [](Grant& g) { g.until = g.created; },
      [](Grant& g) { g.id.clear(); },
      [](Grant& g) { g.subject.operation = "no-such"; },
      [](Grant& g) { g.subject.operation = "*"; },
      [](Grant& g) { g.subject.operation = "preview"; },
      [](Grant& g) { g.subject.operation = "attach"; },
      [](Grant& g) { g.subject.operation = "input"; },
      [](Grant& g) { g.subject.family = Family::kRemote; },
      [](Grant& g) { g.subject.principal = "*"; },
      [](Grant& g) { g.subject.principal.clear(); },
      [](Grant& g) { g.subject.workspace = "*"; },
      [](Grant& g) { g.subject.program = Program::none(); },
      [](Grant& g) { g.subject.program = Program::system("*"); },
      [](Grant& g) { g.subject.program = Program::system("make"); },
      [](Grant& g) { g.subject.network.clear(); },
      [](Grant& g) { g.subject.network = "*"; },
  };
  for (const auto change : wrong) {
    Grant bad = grant(run().subject);
    change(bad);
    EXPECT_FALSE(grants.add(bad).ok()) << bad.subject.operation << " " << bad.subject.program.path;
  }
  EXPECT_TRUE(grants.all().empty());
  EXPECT_TRUE(grants.add(grant(run().subject)).ok());
  EXPECT_EQ(grants.add(grant(run().subject)).problem().code, ProblemCode::kExists);
}

}  // namespace
}  // namespace factionos::policy
