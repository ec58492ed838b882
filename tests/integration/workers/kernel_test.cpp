// Kernels that lack something: it works with less and says so, or it refuses; never quietly weaker.
#include <algorithm>

#include <gtest/gtest.h>
#include <unistd.h>

#include "harness.h"
#include "tests/absent.h"

namespace factionos::test {
namespace {

bool has(const std::vector<std::string>& labels, const std::string& label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

TEST(Kernel, P51_WithoutUserNamespacesASessionRunsAndSaysWhatItHasNot) {
  Broker broker(Kernel::kNoUserNamespaces);
  auto answer =
      broker.wait(broker.launcher.supportRequest().send().then([](auto&& got) { return kj::mv(got); }));
  EXPECT_FALSE(answer.getSupport().getUserNamespaces());
  EXPECT_FALSE(answer.getSupport().getMountNamespace());
  const Result result = broker.run(shell("echo x > made && mktemp && cat /etc/hostname > /dev/null; exit 3"));
  EXPECT_EQ(result.denial, "");
  EXPECT_EQ(result.code, 3);
  EXPECT_TRUE(has(result.posture, "protected_paths:whole"));
  EXPECT_TRUE(has(result.posture, "proc_shared"));
  EXPECT_TRUE(has(result.posture, "user_namespace_refused"));
}

TEST(Kernel, P51_WithoutUserNamespacesTheWallsStand) {
  Broker broker(Kernel::kNoUserNamespaces);
  broker.world.write(broker.world.outside + "/secret", "canary");
  const Result result = broker.run(argv({"cat", broker.world.outside + "/secret"}));
  EXPECT_EQ(result.output.find("canary"), std::string::npos);
  EXPECT_NE(result.code, 0);
  CommandLine loopback = argv({"true"});
  loopback.network = schema::NetworkProfile::LOOPBACK;
  EXPECT_TRUE(broker.run(loopback).denial.starts_with("sandbox_unavailable/")) << broker.run(loopback).denial;
}

// Those that left its session and ignore signals, too.
void expectTheTreeDies(Broker& broker) {
  const auto running =
      broker.start(shell("(setsid sh -c 'trap \"\" HUP TERM; sleep 1000' &); echo ready; sleep 1001"));
  running->expectOutput("ready");
  running->kill();
  EXPECT_EQ(running->finish().reason, schema::EndReason::KILLED);
  for (const pid_t pid : descendants()) EXPECT_NE(nameOf(pid), "sleep");
}

TEST(Kernel, P51_WithoutUserNamespacesTheTreeDies) {
  Broker broker(Kernel::kNoUserNamespaces);
  expectTheTreeDies(broker);
}

// Here launcher, session and keeper are in layers that scope.
TEST(Kernel, WithoutUserNamespacesFilesMoveAndAreLinkedBetweenDirectories) {
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Broker broker(Kernel::kNoUserNamespaces);
  const Result result =
      broker.run(argv({"/usr/bin/python3", "-c",
                       "import os\nfor at in ('.', os.environ['TMPDIR']):\n"
                       "  os.chdir(at); os.mkdir('a'); os.mkdir('b'); open('a/file', 'w').close()\n"
                       "  os.rename('a/file', 'b/file'); os.link('b/file', 'a/again')\n"
                       "print('moved')"}));
  EXPECT_EQ(result.output, "moved\r\n");
}

TEST(Kernel, WhereAnotherListensCommandsRunAndSayWhatTheyHaveNot) {
  Broker broker(Kernel::kListenerTaken);
  for (const Story story : {Story::kNamespaces, Story::kForbidden}) {
    const Result result = broker.run(
        shell("mkdir made && mkdir .claude && rmdir made .claude; cat < /dev/null; exit 3", story));
    EXPECT_EQ(result.denial, "");
    EXPECT_EQ(result.code, 3);
    EXPECT_TRUE(has(result.posture, "denials:unobserved"));
    EXPECT_FALSE(has(result.posture, "protected_paths:whole"));
    const bool mounted = story == Story::kNamespaces && hasNamespaces();
    EXPECT_TRUE(has(result.posture, mounted ? "protected_paths:existing_only" : "protected_paths:none"));
  }
}

// ---- Some kinds of namespaces and not the others

struct SomeKinds {
  const char* name;
  Kernel kernel;
  const char* refused;            // told by the launcher
  std::vector<std::string> told;  // by the session
  std::vector<std::string> had;   // so not told
};

class KernelWithSomeNamespaces : public testing::TestWithParam<SomeKinds> {
 protected:
  void SetUp() override {
    if (!hasNamespaces()) ABSENT("user namespaces");
  }
};
INSTANTIATE_TEST_SUITE_P(
    Kinds, KernelWithSomeNamespaces,
    testing::Values(SomeKinds{"NoPid",
                              Kernel::kNoPidNamespaces,
                              "pid_namespace:ENOSPC",
                              {"pid_namespace_refused", "proc_shared", "protected_paths:whole"},
                              {"mount_namespace_refused", "shm_shared", "metadata:unguarded"}},
                    SomeKinds{"NoMount",
                              Kernel::kNoMountNamespaces,
                              "mount_namespace:ENOSPC",
                              {"mount_namespace_refused", "proc_shared", "shm_shared", "denials:unobserved",
                               "protected_paths:none"},
                              {"pid_namespace_refused"}}),
    [](const auto& each) { return each.param.name; });

TEST_P(KernelWithSomeNamespaces, ASessionRunsAndSaysWhatItHasNot) {
  Broker broker(GetParam().kernel);
  auto answer =
      broker.wait(broker.launcher.supportRequest().send().then([](auto&& got) { return kj::mv(got); }));
  EXPECT_TRUE(answer.getSupport().getUserNamespaces());
  std::vector<std::string> reasons;
  for (const auto reason : answer.getSupport().getReasons()) reasons.emplace_back(reason.cStr());
  EXPECT_EQ(reasons, std::vector<std::string>{GetParam().refused});
  const Result result = broker.run(shell("echo x > made && mktemp && cat /etc/hostname > /dev/null; exit 3"));
  EXPECT_EQ(result.denial, "");
  EXPECT_EQ(result.code, 3) << result.output;
  for (const std::string& label : GetParam().told) EXPECT_TRUE(has(result.posture, label)) << label;
  for (const std::string& label : GetParam().had) EXPECT_FALSE(has(result.posture, label)) << label;
}

TEST_P(KernelWithSomeNamespaces, TheWallsStandAndTheTreeDies) {
  Broker broker(GetParam().kernel);
  broker.world.write(broker.world.outside + "/secret", "canary");
  const Result result = broker.run(argv({"cat", broker.world.outside + "/secret"}));
  EXPECT_EQ(result.output.find("canary"), std::string::npos);
  EXPECT_NE(result.code, 0);
  const std::string own = std::to_string(getpid());
  EXPECT_NE(broker.run(shell("kill -0 " + own)).code, 0) << "a process outside";
  EXPECT_NE(broker.run(shell("cat /proc/" + own + "/environ")).code, 0);
  expectTheTreeDies(broker);
}

TEST(Kernel, P52_WithoutLandlockNothingRuns) {
  Broker broker(Kernel::kNoLandlock);
  auto answer =
      broker.wait(broker.launcher.supportRequest().send().then([](auto&& got) { return kj::mv(got); }));
  EXPECT_EQ(answer.getSupport().getLandlockAbi(), 0U);
  std::vector<std::string> reasons;
  for (const auto reason : answer.getSupport().getReasons()) reasons.emplace_back(reason.cStr());
  EXPECT_TRUE(has(reasons, "landlock_missing"));
  EXPECT_EQ(broker.run(shell("touch ran")).denial, "sandbox_unavailable/landlock_missing");
  EXPECT_EQ(broker.run(shell("touch ran", Story::kForbidden)).denial, "sandbox_unavailable/landlock_missing");
  EXPECT_FALSE(World::exists(broker.world.workspace + "/ran"));
}

}  // namespace
}  // namespace factionos::test
