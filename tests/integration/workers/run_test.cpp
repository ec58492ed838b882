// Commands through launcher, session and pty worker, each in its own sandbox.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "harness.h"

namespace factionos::test {
namespace {

class Run : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, Run, testing::Values(Story::kNamespaces, Story::kForbidden), storyName);

bool has(const std::vector<std::string>& labels, const std::string& label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

TEST_P(Run, ATrueCommandEndsWithItsStatus) {
  Broker broker;
  const Result result = broker.run(argv({"/bin/true"}, GetParam()));
  EXPECT_EQ(result.denial, "");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.reason, schema::EndReason::EXITED);
  EXPECT_EQ(result.output, "");
}

TEST_P(Run, AShellLineEndsWithItsStatusAndItsOutput) {
  Broker broker;
  const Result result = broker.run(shell("echo out; echo err >&2; exit 7", GetParam()));
  EXPECT_EQ(result.denial, "");
  EXPECT_EQ(result.code, 7);
  EXPECT_EQ(result.output, "out\r\nerr\r\n");
  EXPECT_EQ(result.toldBytes, result.output.size());
}

TEST_P(Run, ASignalThatEndsTheLeaderIsTold) {
  Broker broker;
  const Result result = broker.run(shell("kill -SEGV $$", GetParam()));
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_EQ(result.reason, schema::EndReason::EXITED);
}

TEST_P(Run, EveryByteOfOutputArrivesBeforeTheEnd) {
  Broker broker;
  const Result result = broker.run(argv({"seq", "1", "100000"}, GetParam()));
  std::string expected;
  for (int i = 1; i <= 100000; ++i) expected += std::to_string(i) + "\r\n";
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.toldBytes, expected.size());
  EXPECT_TRUE(result.output == expected) << result.output.size() << " bytes instead of " << expected.size();
}

TEST_P(Run, P26_TheEnvironmentHoldsListedNamesAlone) {
  setenv("FACTIONOS_TEST_SECRET", "canary", 1);
  Broker broker;
  const Result result = broker.run(argv({"env"}, GetParam()));
  unsetenv("FACTIONOS_TEST_SECRET");
  std::istringstream lines(result.output);
  const std::set<std::string> listed = {"HOME", "LANG",   "LOGNAME", "PATH", "SHELL",
                                        "TERM", "TMPDIR", "USER",    "TZ",   "COLORTERM"};
  std::set<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find('='));
    seen.insert(name);
    EXPECT_TRUE(listed.contains(name) || name.starts_with("LC_")) << name;
  }
  EXPECT_TRUE(seen.contains("PATH") && seen.contains("HOME") && seen.contains("TMPDIR"));
  EXPECT_EQ(result.output.find("canary"), std::string::npos);
}

TEST_P(Run, AProfileAddsVariablesButNoneOfOurs) {
  Broker broker;
  CommandLine command = shell("echo [$CC]", GetParam());
  command.environment = {"CC=clang"};
  EXPECT_EQ(broker.run(command).output, "[clang]\r\n");
  for (const char* forbidden : {"PATH=/tmp", "HOME=/", "LD_PRELOAD=/tmp/x.so", "lower=1", "NOVALUE"}) {
    command.environment = {forbidden};
    EXPECT_EQ(broker.run(command).denial, "request_invalid/command_spec") << forbidden;
  }
}

TEST_P(Run, ACommandStandsInItsWorkspaceAndWritesThere) {
  Broker broker;
  const Result result = broker.run(shell("pwd -P; umask; echo hello > made; cat made", GetParam()));
  EXPECT_EQ(result.output, broker.world.workspace + "\r\n0022\r\nhello\r\n");
  EXPECT_EQ(World::read(broker.world.workspace + "/made"), "hello\n");
}

TEST_P(Run, TheTerminalIsItsOwnAndHasAName) {
  Broker broker;
  const Result result = broker.run(
      shell("tty; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal > /dev/tty; stty size", GetParam()));
  EXPECT_TRUE(result.output.starts_with("/dev/pts/")) << result.output;
  EXPECT_NE(result.output.find("terminal\r\n24 80\r\n"), std::string::npos) << result.output;
}

TEST_P(Run, TemporaryFilesArePrivateAndGoneAfterwards) {
  Broker broker;
  const Result result = broker.run(
      shell("f=$(mktemp) && echo x > $f && cd && pwd && touch $HOME/y && echo $TMPDIR", GetParam()));
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_TRUE(std::filesystem::is_empty(broker.world.scratch));
  EXPECT_FALSE(World::exists("/tmp/.home"));
  EXPECT_EQ(broker.run(shell("[ -e $HOME/y ] || echo gone", GetParam())).output, "gone\r\n");
}

TEST_P(Run, PostureSaysWhatThisSandboxHasNot) {
  Broker broker;
  const std::vector<std::string> posture = broker.run(argv({"true"}, GetParam())).posture;
  EXPECT_TRUE(has(posture, "limits:watched"));
  const bool namespaces = GetParam() == Story::kNamespaces;
  EXPECT_TRUE(has(posture, "protected_paths:whole"));
  EXPECT_EQ(has(posture, "proc_shared"), !namespaces);
}

TEST_P(Run, SignalsReachTheLeadersGroup) {
  Broker broker;
  const auto running = broker.start(
      shell("trap 'echo got-term; exit 3' TERM; echo ready; while :; do sleep 0.05; done", GetParam()));
  running->expectOutput("ready");
  EXPECT_EQ(running->signal(SIGTERM), "");
  const Result& result = running->finish();
  EXPECT_NE(result.output.find("got-term"), std::string::npos);
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(running->signal(SIGTERM), "ended");
  EXPECT_EQ(running->signal(SIGSEGV), "signal_refused");
}

TEST_P(Run, OneSessionRunsOneCommandOnce) {
  Broker broker;
  const auto running = broker.start(argv({"true"}, GetParam()));
  running->finish();
  auto request = running->session.startRequest();
  request.initWindow().setCols(80);
  request.getWindow().setRows(24);
  EXPECT_EQ(broker.wait(request.send().then([](auto&& got) { return denialText(got.getDenial()); })),
            "not_prepared/prepare_first");
  auto again = running->session.prepareRequest();
  again.initCommand().setShell("true");
  EXPECT_EQ(broker.wait(again.send().then([](auto&& got) { return denialText(got.getDenial()); })),
            "already_prepared/one_command");
}

TEST_P(Run, AWindowOutOfRangeIsRefused) {
  Broker broker;
  auto prepared = broker.prepare(argv({"true"}, GetParam()));
  auto request = prepared.session.startRequest();
  request.initWindow().setCols(0);
  request.getWindow().setRows(24);
  EXPECT_EQ(broker.wait(request.send().then([](auto&& got) { return denialText(got.getDenial()); })),
            "window_invalid/window_1_to_1000");
}

TEST(ScratchDirectory, GoesWhateverACommandLeavesInIt) {
  Broker broker;
  const Result result = broker.run(
      shell("mkdir -p $TMPDIR/x/y $TMPDIR/mod/a@v1/b $HOME/z && touch $TMPDIR/mod/a@v1/b/file && chmod 0 "
            "$TMPDIR/x && "
            "chmod 0555 $TMPDIR/mod/a@v1/b $TMPDIR/mod/a@v1 $TMPDIR/mod && chmod 0 $HOME/z $HOME && "
            "cd $TMPDIR && "
            "i=0; while [ $i -lt 300 ]; do mkdir d && cd -P d || break; i=$((i+1)); done; echo made",
            Story::kForbidden));
  EXPECT_NE(result.output.find("made"), std::string::npos) << result.output;
  EXPECT_TRUE(std::filesystem::is_empty(broker.world.scratch));
}

}  // namespace
}  // namespace factionos::test
