#include "broker/policy/policy.h"

#include <set>

#include <gmock/gmock.h>
#include <unistd.h>

#include "broker/policy/grant.h"
#include "tests/unit/home/temp_home.h"
#include "tests/unit/policy/policy_fixture.h"

namespace factionos::policy {
namespace {

using namespace testing;
using home::testing::HomeTest;
using home::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string problemOf(std::string_view text) {
  auto policy = Policy::parse(text, {});
  return policy ? "loaded although it must not" : policy.problem().text();
}

TEST(Policy, NoRuleMatchesIsDeny) {
  const Policy empty = parsed("");
  const Decision decision = empty.evaluate(run(), {});
  EXPECT_EQ(decision.verdict, Verdict::kDeny);
  EXPECT_EQ(decision.cause, Cause::kNoRule);
  EXPECT_EQ(decision.ruleLine, 0U);
  EXPECT_EQ(verdict(empty, of(Family::kGit, "status")), Verdict::kDeny) << "reading too";
}

TEST(Policy, AListIsAllowedOnlyWhereEveryRowIs) {
  const std::string list = "[[rule]]\nfamily = \"terminal\"\noperation = \"list\"\n";
  const std::string allow = list + "decision=\"allow\"\n";
  const auto all = [](const std::string& text) {
    return parsed(text).allowsAll(Family::kTerminal, "list", "ci", kNow);
  };
  EXPECT_TRUE(all(allow));
  EXPECT_FALSE(all("")) << "no rule is deny";
  EXPECT_FALSE(all(list + "decision=\"ask\"\n")) << "nobody is asked about what only reads";
  for (const std::string field :
       {"workspace=\"demo\"", "program=\"sh\"", "network=\"full\"", "profile=\"x\""}) {
    EXPECT_FALSE(all(list + field + "\ndecision=\"deny\"\n" + allow)) << field;
    EXPECT_FALSE(all(list + field + "\ndecision=\"allow\"\n")) << field;
    EXPECT_TRUE(all(allow + list + field + "\ndecision=\"deny\"\n")) << field << " comes too late";
  }
  EXPECT_TRUE(all(list + "principal=\"other\"\ndecision=\"deny\"\n" + allow));
  EXPECT_FALSE(all(list + "principal=\"ci\"\ndecision=\"deny\"\n" + allow));
  EXPECT_TRUE(all("[[rule]]\nfamily=\"git\"\noperation=\"*\"\ndecision=\"deny\"\n" + allow));
}

TEST(Policy, FirstMatchWins) {
  const Policy policy = parsed(rule("workspace=\"demo\"\ndecision=\"deny\"\nreason=\"not here\"\n") +
                               rule("decision=\"ask\"\n"));
  const Decision decision = policy.evaluate(run(), {});
  EXPECT_EQ(decision.verdict, Verdict::kDeny);
  EXPECT_EQ(decision.ruleLine, 1U);
  EXPECT_EQ(decision.reason, "not here");
  Request elsewhere = run();
  elsewhere.subject.workspace = "other";
  EXPECT_EQ(policy.evaluate(elsewhere, {}).ruleLine, 7U);
}

TEST(Policy, EveryFieldOfARuleNarrowsIt) {
  const struct {
    const char* line;
    void (*change)(Subject&);
    const char* field;
  } cases[] = {
      {"workspace = \"demo\"", [](Subject& s) { s.workspace = "other"; }, "workspace"},
      {"workspace = \"demo\"", [](Subject& s) { s.workspace.clear(); }, "workspace"},
      {"principal = \"ci\"", [](Subject& s) { s.principal = "ci2"; }, "principal"},
      {"program = \"/usr/bin/make\"", [](Subject& s) { s.program.path = "/usr/bin/makeX"; }, "program"},
      {"program = \"/usr/bin/make\"", [](Subject& s) { s.program = Program::shellLine(); }, "program"},
      {"program = \"/usr/bin/make\"", [](Subject& s) { s.program = Program::workspace(); }, "program"},
      {"network = \"none\"", [](Subject& s) { s.network = "full"; }, "network"},
      {"profile = \"default\"", [](Subject& s) { s.profile = "wide"; }, "profile"},
  };
  for (const auto& [line, change, field] : cases) {
    const Policy policy = parsed(rule(std::string(line) + "\ndecision = \"ask\"\n"));
    EXPECT_EQ(verdict(policy, run()), Verdict::kAsk) << line;
    Request other = run();
    change(other.subject);
    EXPECT_EQ(verdict(policy, other), Verdict::kDeny) << line;
    EXPECT_EQ(policy.explain(other, {}).steps.at(0).mismatch, field);
  }
  const Policy policy = parsed(rule("decision = \"ask\"\n"));
  EXPECT_EQ(verdict(policy, of(Family::kTerminal, "restart")), Verdict::kDeny);
  EXPECT_EQ(verdict(policy, of(Family::kContainer, "run")), Verdict::kDeny);
}

TEST(Policy, AllowOfAMutationWithoutAnEndDoesNotLoad) {
  for (const char* operation : {"run", "mutating", "*", "restart", "input"}) {
    const std::string text =
        std::string("[[rule]]\nfamily=\"terminal\"\noperation=\"") + operation + "\"\ndecision=\"allow\"\n";
    EXPECT_THAT(problemOf(text), StartsWith("policy.toml:4:10: rule.decision: allows what changes things"))
        << operation;
    EXPECT_TRUE(Policy::parse(text + "until = 2030-04-01T00:00:00Z\n", {}).ok()) << operation;
  }
  EXPECT_FALSE(Policy::parse("[[rule]]\nfamily=\"*\"\noperation=\"*\"\ndecision=\"allow\"\n", {}).ok());
  EXPECT_TRUE(
      Policy::parse("[[rule]]\nfamily=\"*\"\noperation=\"read-only\"\ndecision=\"allow\"\n", {}).ok());
  EXPECT_TRUE(Policy::parse("[[rule]]\nfamily=\"git\"\noperation=\"status\"\ndecision=\"allow\"\n", {}).ok());
}

TEST(Policy, AllowEndsToTheMillisecond) {
  const Policy policy =
      parsed(rule("decision=\"allow\"\nuntil = 2030-03-17T17:46:40Z\n") + rule("decision=\"ask\"\n"));
  Request request = run();
  request.now = kNow - std::chrono::milliseconds(1);
  EXPECT_EQ(verdict(policy, request), Verdict::kAllow);
  request.now = kNow;
  const auto explanation = policy.explain(request, {});
  EXPECT_EQ(explanation.decision.verdict, Verdict::kAsk) << "what has ended is passed over";
  EXPECT_EQ(explanation.steps.at(0).mismatch, "until");
}

TEST(Policy, TimesNeedTheirZone) {
  const auto with = [](const char* until) {
    return Policy::parse(rule(std::string("decision=\"allow\"\nuntil = ") + until + "\n"), {});
  };
  for (const char* good :
       {"2030-01-01T00:00:00Z", "\"2030-01-01T00:00:00Z\"", "\"2030-01-01T02:00:00.5+02:00\""}) {
    EXPECT_TRUE(with(good).ok()) << good;
  }
  for (const char* bad : {"2030-01-01T00:00:00", "2030-01-01", "\"tomorrow\"", "\"\"", "true", "1900000000",
                          "\"2030-02-30T00:00:00Z\"", "\"2030-01-01T00:00:00Z\\nx=1\""}) {
    EXPECT_FALSE(with(bad).ok()) << bad;
  }
  const Policy shifted = parsed(rule("decision=\"allow\"\nuntil = 2030-03-17T19:46:40+02:00\n"));
  Request request = run();
  request.now = kNow - std::chrono::milliseconds(1);
  EXPECT_EQ(verdict(shifted, request), Verdict::kAllow);
  request.now = kNow;
  EXPECT_EQ(verdict(shifted, request), Verdict::kDeny);
}

TEST(Policy, ErrorsNameLineColumnAndFieldAndEchoNothing) {
  const struct {
    std::string text;
    const char* start;
  } cases[] = {
      {"hunter2 = 1\n", "policy.toml:1:1: top level: unknown key"},
      {rule("decision=\"ask\"\nhunter2=\"x\"\n"), "policy.toml:5:1: rule: unknown key"},
      {rule("decision=\"hunter2\"\n"), "policy.toml:4:10: rule.decision: is no decision"},
      {rule(""), "policy.toml:1:1: rule.decision: is missing"},
      {"[[rule]]\noperation=\"run\"\ndecision=\"ask\"\n", "policy.toml:1:1: rule.family: is missing"},
      {"[[rule]]\nfamily=\"hunter2\"\noperation=\"*\"\ndecision=\"ask\"\n",
       "policy.toml:2:8: rule.family: is no fam"},
      {"[[rule]]\nfamily=\"git\"\noperation=\"hunter2\"\ndecision=\"ask\"\n",
       "policy.toml:3:11: rule.operation: is no operation of this family"},
      {"[[rule]]\nfamily=\"*\"\noperation=\"run\"\ndecision=\"ask\"\n",
       "policy.toml:3:11: rule.operation: is named"},
      {rule("decision=\"ask\"\nworkspace=\"hunter2/*\"\n"), "policy.toml:5:11: rule.workspace: is no label"},
      {rule("decision=\"ask\"\nprincipal=\"\"\n"), "policy.toml:5:11: rule.principal: is no label"},
      {rule("decision=\"ask\"\nnetwork=\"hunter2\"\n"),
       "policy.toml:5:9: rule.network: is no network profile"},
      {rule("decision=\"ask\"\nuntil=2030-01-01T00:00:00Z\n"),
       "policy.toml:5:7: rule.until: belongs to allow alone"},
      {rule("decision=\"deny\"\nuntil=2030-01-01T00:00:00Z\n"),
       "policy.toml:5:7: rule.until: belongs to allow"},
      {rule("decision=\"ask\"\nreason=\"hunter2\\u001b\"\n"),
       "policy.toml:5:8: rule.reason: is too long or holds"},
      {rule("decision=\"ask\"\nreason=\"" + std::string(161, 'h') + "\"\n"),
       "policy.toml:5:8: rule.reason: is too"},
      {rule("decision=[\"hunter2\"]\n"), "policy.toml:4:10: rule.decision: must be a string"},
      {"rule = \"hunter2\"\n", "policy.toml:1:8: rule: must be a list of tables"},
      {"[[rule]\nfamily = hunter2\n", "policy.toml:1:8: file: this is not valid TOML"},
  };
  for (const auto& [text, start] : cases) {
    const std::string problem = problemOf(text);
    EXPECT_THAT(problem, StartsWith(start)) << text;
    EXPECT_THAT(problem, HasSubstr("; ")) << "no next step: " << problem;
    EXPECT_THAT(problem, Not(HasSubstr("unter2"))) << text;
  }
}

// P5, and no globs or prefixes: a program is exactly one resolved path.
TEST(Policy, P5_ProgramIsAnExactResolvedPath) {
  TempDir dir;
  home::testing::put(dir / "tool", "x", 0700);
  ASSERT_EQ(::symlink((dir / "tool").c_str(), (dir / "link").c_str()), 0);
  const auto load = [](const std::string& program) {
    return Policy::parse(rule("decision=\"deny\"\nprogram=\"" + program + "\"\n"), {});
  };
  for (const std::string& good : {std::string("*"), std::string("sh"), std::string("workspace"), dir / "tool",
                                  std::string("/opt/not/there/yet")}) {
    EXPECT_TRUE(load(good).ok()) << good;
  }
  for (const std::string& bad :
       {std::string("make"), std::string("./make"), std::string("/usr/bin/make/"), std::string("/usr/bin/*"),
        std::string("/usr//bin/make"), std::string("/usr/bin/../bin/make"), std::string("/"), std::string(""),
        std::string("bash"), std::string("/bin/ma?e"), dir / "link", (dir / "link") + "/"}) {
    EXPECT_FALSE(load(bad).ok()) << bad;
  }
  EXPECT_THAT(load(dir / "link").problem().text(), HasSubstr("symbolic link"));
}

// P88: a shell line is `sh` as a whole; nothing in it makes it look like an allowed program.
TEST(Policy, P88_ShellLineIsJudgedAsShWhateverItSays) {
  const Policy policy =
      parsed(rule("program=\"/usr/bin/make\"\ndecision=\"allow\"\nuntil=2031-01-01T00:00:00Z\n") +
             rule("program=\"sh\"\ndecision=\"deny\"\nreason=\"no shell\"\n"));
  EXPECT_EQ(verdict(policy, run()), Verdict::kAllow) << "the control";
  const Decision decision = policy.evaluate(run(Program::shellLine()), {});
  EXPECT_EQ(decision.verdict, Verdict::kDeny);
  EXPECT_EQ(decision.reason, "no shell");
  // One argv element that looks like a line is no program at all.
  for (const char* odd : {"/usr/bin/make --version & other", "/usr/bin/make\nother", "/usr/bin/make;",
                          "usr/bin/make", "/usr/bin/make/", "", "/usr/bin/../bin/make"}) {
    EXPECT_EQ(verdict(policy, run(Program::system(odd))), Verdict::kDeny) << odd;
  }
  Request smuggled = run(Program{Program::Kind::kShellLine, "/usr/bin/make"});
  EXPECT_EQ(policy.evaluate(smuggled, {}).cause, Cause::kMalformed);
}

TEST(Policy, MalformedRequestsMatchNothing) {
  const Policy policy = parsed(rule("decision=\"ask\"\n"));
  const auto cause = [&](void (*change)(Subject&)) {
    Request request = run();
    change(request.subject);
    return policy.evaluate(request, {}).cause;
  };
  EXPECT_EQ(cause([](Subject&) {}), Cause::kRule);
  EXPECT_EQ(cause([](Subject& s) { s.program = Program::none(); }), Cause::kMalformed);
  EXPECT_EQ(cause([](Subject& s) { s.principal.clear(); }), Cause::kMalformed);
  EXPECT_EQ(cause([](Subject& s) { s.principal = "*"; }), Cause::kMalformed);
  EXPECT_EQ(cause([](Subject& s) { s.workspace = "*"; }), Cause::kMalformed);
  EXPECT_EQ(cause([](Subject& s) { s.network = "bridge"; }), Cause::kMalformed);
}

TEST(Policy, AskWithNobodyToApproveIsDenyWithAReason) {
  const Policy policy = parsed(rule("decision=\"ask\"\n"));
  Request request = run();
  request.approver = Approver::kAbsent;
  const Decision decision = policy.evaluate(request, {});
  EXPECT_EQ(decision.verdict, Verdict::kDeny);
  EXPECT_EQ(decision.cause, Cause::kNoApprover);
  EXPECT_EQ(decision.ruleLine, 1U);
  EXPECT_FALSE(decision.reason.empty());
}

TEST(Policy, UnavailableOperationsAreDeniedBeforeAnyRule) {
  const Policy policy =
      parsed("[[rule]]\nfamily=\"*\"\noperation=\"*\"\ndecision=\"allow\"\nuntil=2031-01-01T00:00:00Z\n");
  EXPECT_EQ(verdict(policy, of(Family::kGit, "commit")), Verdict::kAllow) << "the control";
  for (const auto& [family, name] : {std::pair{Family::kGit, "rebase"},
                                     {Family::kGit, "force-push"},
                                     {Family::kFile, "open"},
                                     {Family::kContainer, "exec"},
                                     {Family::kTerminal, "attach"},
                                     {Family::kRemote, "exec"},
                                     {Family::kHosted, "anything"},
                                     {Family::kGit, "no-such"}}) {
    const Decision decision = policy.evaluate(of(family, name), {});
    EXPECT_EQ(decision.verdict, Verdict::kDeny) << name;
    EXPECT_EQ(decision.cause, Cause::kOperationUnavailable) << name;
  }
}

TEST(Policy, InputResizeAndSignalRestOnTheSessionsApproval) {
  const Policy policy = parsed(std::string(defaultPolicyText()));
  for (const char* name : {"input", "resize", "signal", "kill"}) {
    Request request = of(Family::kTerminal, name);
    EXPECT_EQ(policy.evaluate(request, {}).cause, Cause::kNoSession) << name;
    request.cover = SessionCover::kOwnApprovedSession;
    EXPECT_EQ(policy.evaluate(request, {}).cause, Cause::kSession) << name;
    EXPECT_EQ(verdict(policy, request), Verdict::kAllow) << name;
  }
  Request restart = of(Family::kTerminal, "restart");
  restart.cover = SessionCover::kOwnApprovedSession;
  EXPECT_EQ(verdict(policy, restart), Verdict::kAsk) << "a restart is a decision of its own";
  const Policy denies = parsed("[[rule]]\nfamily=\"terminal\"\noperation=\"input\"\ndecision=\"deny\"\n");
  Request input = of(Family::kTerminal, "input");
  input.cover = SessionCover::kOwnApprovedSession;
  EXPECT_EQ(verdict(denies, input), Verdict::kDeny);
}

TEST(Policy, KillAndSignalAreOneOperation) {
  const Policy policy =
      parsed("[[rule]]\nfamily=\"terminal\"\noperation=\"kill\"\ndecision=\"deny\"\nreason=\"x\"\n");
  Request request = of(Family::kTerminal, "signal");
  request.cover = SessionCover::kOwnApprovedSession;
  EXPECT_EQ(policy.evaluate(request, {}).cause, Cause::kRule);
}

TEST(Policy, ShippedPolicyAsksForEveryMutationAndAllowsWhatReads) {
  const Policy policy = parsed(std::string(defaultPolicyText()));
  for (const Operation& operation : allOperations()) {
    Request request = of(operation.family, std::string(operation.name));
    request.cover = SessionCover::kOwnApprovedSession;
    const Decision decision = policy.evaluate(request, {});
    SCOPED_TRACE(std::string(label(operation.family)) + "/" + std::string(operation.name));
    if (operation.posture != Posture::kAvailable) {
      EXPECT_EQ(decision.verdict, Verdict::kDeny);
    } else if (operation.effect == Effect::kReadOnly || operation.decided == Decided::kBySession) {
      EXPECT_EQ(decision.verdict, Verdict::kAllow);
    } else {
      EXPECT_EQ(decision.verdict, Verdict::kAsk);
    }
  }
}

TEST(Policy, RevisionChangesWithContentAndNotWithLayout) {
  const std::string text = rule("decision=\"ask\"\n");
  const Revision first = Policy::parse(text, {})->revision();
  EXPECT_EQ(first.counter, 1U);
  EXPECT_EQ(Policy::parse("# a comment\n\n" + text, first)->revision(), first);
  EXPECT_EQ(Policy::parse(rule("workspace=\"*\"\ndecision=\"ask\"\n"), first)->revision(), first)
      << "a default written out is the same rule";
  std::set<std::array<std::uint8_t, 32>> seen{first.digest};
  for (const std::string& other :
       {rule("decision=\"deny\"\n"), rule("decision=\"ask\"\nworkspace=\"demo\"\n"),
        rule("decision=\"ask\"\nprincipal=\"demo\"\n"), rule("decision=\"ask\"\nprogram=\"sh\"\n"),
        rule("decision=\"ask\"\nprogram=\"/sh\"\n"), rule("decision=\"ask\"\nnetwork=\"full\"\n"),
        rule("decision=\"ask\"\nprofile=\"demo\"\n"), rule("decision=\"ask\"\nreason=\"demo\"\n"),
        rule("decision=\"allow\"\nuntil=2030-01-01T00:00:00Z\n"),
        rule("decision=\"allow\"\nuntil=2030-01-01T00:00:01Z\n"), text + text, std::string()}) {
    const Revision revision = Policy::parse(other, first)->revision();
    EXPECT_EQ(revision.counter, 2U) << other;
    EXPECT_TRUE(seen.insert(revision.digest).second) << other;
  }
  EXPECT_THAT(first.text(), StartsWith("1-"));
}

TEST(Policy, ExplanationNamesLinesAndFieldsOnly) {
  const Policy policy =
      parsed(rule("workspace=\"hidden-name\"\ndecision=\"deny\"\n") + rule("decision=\"ask\"\n"));
  const std::string text = policy.explain(run(), {}).text();
  EXPECT_THAT(text, HasSubstr("policy.toml:1: passed over: workspace differs"));
  EXPECT_THAT(text, HasSubstr("policy.toml:6: matches"));
  EXPECT_THAT(text, HasSubstr("ask (policy_rule)"));
  EXPECT_THAT(text, Not(HasSubstr("hidden-name")));
  EXPECT_THAT(text, Not(HasSubstr("/usr/bin/make")));
}

TEST(Policy, TooManyRulesDoNotLoad) {
  std::string text;
  for (std::size_t i = 0; i < kMaxRules; ++i) text += rule("decision=\"ask\"\n");
  EXPECT_TRUE(Policy::parse(text, {}).ok());
  EXPECT_FALSE(Policy::parse(text + rule("decision=\"ask\"\n"), {}).ok());
}

// P89: what lies in a workspace is never a policy; the file of the home alone is read, and only when it is
// safe.
TEST_F(HomeTest, P89_OnlyTheHomesOwnFileIsRead) {
  ASSERT_TRUE(home.writeFile(home::Folder::kTop, kPolicyFile, rule("decision=\"deny\"\n"),
                             home::WriteMode::kCreateNew)
                  .ok());
  const std::string workspace = dir / "workspace";
  std::filesystem::create_directories(workspace + "/.factionos");
  for (const char* name : {"/policy.toml", "/.factionos/policy.toml"}) {
    home::testing::put(workspace + name, rule("decision=\"allow\"\nuntil=2031-01-01T00:00:00Z\n"));
  }
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(workspace);
  auto policy = Policy::load(home, {});
  std::filesystem::current_path(before);
  ASSERT_TRUE(policy.ok()) << policy.problem().text();
  EXPECT_EQ(policy->evaluate(run(), {}).verdict, Verdict::kDeny);

  ASSERT_EQ(::chmod((path + "/policy.toml").c_str(), 0644), 0);
  EXPECT_EQ(Policy::load(home, {}).problem().code, ProblemCode::kUnsafe);
  ASSERT_TRUE(home.removeFile(home::Folder::kTop, kPolicyFile).ok());
  EXPECT_THAT(Policy::load(home, {}).problem().text(), HasSubstr("factionos init"));
}

TEST(Operations, TableIsWhole) {
  std::set<std::pair<Family, std::string_view>> seen;
  for (const Operation& operation : allOperations()) {
    const std::string name(operation.name);
    EXPECT_TRUE(seen.insert({operation.family, operation.name}).second) << name;
    EXPECT_EQ(findOperation(operation.family, operation.name), &operation) << name;
    EXPECT_FALSE(operation.mutation.empty()) << name;
    EXPECT_TRUE(operation.rollback == Rollback::kAutomatic || !operation.guidance.empty()) << name;
    if (operation.effect == Effect::kReadOnly) {
      EXPECT_EQ(operation.mutation.text(), "none") << name;
    }
  }
  for (const Family family : {Family::kRemote, Family::kHosted}) {
    EXPECT_EQ(findOperation(family, "whatever")->posture, Posture::kUnavailable);
  }
  EXPECT_EQ(findOperation(Family::kGit, "push")->posture, Posture::kPolicyBlocked);
  EXPECT_EQ(findOperation(Family::kGit, "whatever"), nullptr);
}

}  // namespace
}  // namespace factionos::policy
