// What an approval covers: the program and script operands, hashed from the descriptor that is then executed.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

namespace factionos::test {
namespace {

std::string digestOf(const Broker::PreparedAnswer& answer, const std::string& label) {
  for (const auto& [name, digest] : answer.digests) {
    if (name == label) return digest;
  }
  return "none";
}

std::string deny(Broker& broker, const CommandLine& command) {
  return broker.prepare(command).denial;
}

TEST(Digest, ASystemProgramIsKnownByItsRealPath) {
  Broker broker;
  const auto answer = broker.prepare(argv({"true"}));
  EXPECT_EQ(answer.denial, "");
  EXPECT_EQ(answer.program, "/usr/bin/true");
  EXPECT_EQ(answer.label, "true");
  EXPECT_EQ(digestOf(answer, "program").size(), 64U);
  EXPECT_EQ(digestOf(broker.prepare(argv({"/usr/bin/true"})), "program"), digestOf(answer, "program"));
}

TEST(Digest, AShellLineIsTheProgramSh) {
  Broker broker;
  const auto answer = broker.prepare(shell("true"));
  EXPECT_EQ(answer.program, "sh");
  EXPECT_EQ(answer.label, "sh");
  EXPECT_EQ(answer.digests.size(), 1U);
}

TEST(Digest, TheDigestIsTheFilesOwn) {
  Broker broker;
  broker.world.write(broker.world.workspace + "/script", "#!/bin/sh\necho hello\n", 0755);
  const auto answer = broker.prepare(argv({"./script"}));
  // b2sum -l 256
  EXPECT_EQ(digestOf(answer, "program"), "7fd6dfa687b43de009da8f1f3ba8a4a96fc637031ae7cb7d76ddaa494a73c080");
}

TEST(Digest, P71_ARewrittenScriptHasAnotherDigest) {
  Broker broker;
  const std::string script = broker.world.workspace + "/script";
  broker.world.write(script, "#!/bin/sh\necho one\n", 0755);
  const auto before = broker.prepare(argv({"./script"}));
  EXPECT_EQ(before.program, "workspace");
  EXPECT_EQ(before.label, "script");
  broker.world.write(script, "#!/bin/sh\necho two\n", 0755);
  const auto after = broker.prepare(argv({"./script"}));
  EXPECT_NE(digestOf(before, "program"), digestOf(after, "program"));
  EXPECT_EQ(digestOf(before, "interpreter"), digestOf(after, "interpreter"));
}

TEST(Digest, P71_AnOperandThatIsRewrittenHasAnotherDigest) {
  Broker broker;
  broker.world.write(broker.world.workspace + "/job.sh", "echo one\n");
  const auto before = broker.prepare(argv({"sh", "-e", "job.sh", "missing", "/etc/passwd"}));
  EXPECT_EQ(before.digests.size(), 2U);
  broker.world.write(broker.world.workspace + "/job.sh", "echo two\n");
  const auto after = broker.prepare(argv({"sh", "-e", broker.world.workspace + "/job.sh"}));
  EXPECT_NE(digestOf(before, "operand:1"), digestOf(after, "operand:1"));
  EXPECT_NE(digestOf(after, "operand:1"), "none");
}

std::string startPrepared(Broker& broker, Broker::PreparedAnswer& prepared) {
  auto request = prepared.session.startRequest();
  request.initWindow().setCols(80);
  request.getWindow().setRows(24);
  return broker.wait(request.send().then([](auto&& got) { return denialText(got.getDenial()); }));
}

TEST(Digest, WhatIsRewrittenAfterPrepareDoesNotRun) {
  Broker broker;
  const std::string script = broker.world.workspace + "/script";
  for (const char* target : {"script", "job"}) {
    broker.world.write(script, "#!/bin/sh\n. ./job\n", 0755);
    broker.world.write(broker.world.workspace + "/job", "echo approved\n");
    auto prepared = broker.prepare(argv({"./script", "job"}));
    ASSERT_EQ(prepared.denial, "");
    broker.world.write(broker.world.workspace + "/" + target, "#!/bin/sh\necho swapped > proof\n");
    EXPECT_TRUE(startPrepared(broker, prepared).starts_with("approval_drift/digest_changed/"));
    EXPECT_FALSE(World::exists(broker.world.workspace + "/proof"));
  }
}

TEST(Digest, WhatIsReplacedAfterPrepareDoesNotRun) {
  Broker broker;
  const std::string script = broker.world.workspace + "/script";
  broker.world.write(script, "#!/bin/sh\necho approved > proof\n", 0755);
  auto prepared = broker.prepare(argv({"./script"}));
  broker.world.write(broker.world.workspace + "/other", "#!/bin/sh\necho swapped > proof\n", 0755);
  ASSERT_EQ(std::rename((broker.world.workspace + "/other").c_str(), script.c_str()), 0);
  EXPECT_TRUE(startPrepared(broker, prepared).starts_with("approval_drift/digest_changed/"));
  EXPECT_FALSE(World::exists(broker.world.workspace + "/proof"));
}

TEST(Digest, WaitingForAnApprovalHoldsNobodyUp) {
  Broker broker;
  const std::string script = broker.world.workspace + "/script";
  broker.world.write(script, "#!/bin/sh\n", 0755);
  auto prepared = broker.prepare(argv({"./script"}));
  ASSERT_EQ(prepared.denial, "");
  const rpc::OwnFd writer(open(script.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_GE(writer.get(), 0);
  EXPECT_TRUE(startPrepared(broker, prepared).starts_with("approval_drift/digest_changed/"));
}

TEST(Digest, AWriterWaitsUntilTheHashedScriptRuns) {
  Broker broker;
  const std::string script = broker.world.workspace + "/script";
  broker.world.write(script, "#!/bin/sh\necho ready; read go\n", 0755);
  const auto running = broker.start(argv({"./script"}));
  running->expectOutput("ready");
  // The read lease: an open for writing that may not wait fails.
  EXPECT_EQ(open(script.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
  EXPECT_EQ(errno, EWOULDBLOCK);
  for (int i = 0; i < 500; ++i) {
    const rpc::OwnFd writer(open(script.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (writer.get() >= 0) break;
    broker.wait(broker.loop.timer().afterDelay(10 * kj::MILLISECONDS));
  }
  EXPECT_EQ(running->input("\n"), "");
  EXPECT_EQ(running->finish().code, 0);
}

// A script that its interpreter opens by its path: a lease does not keep another from taking its place.
TEST(Digest, AScriptThatIsReplacedWhileItStartsEndsTheCommand) {
  Broker broker;
  const std::string& workspace = broker.world.workspace;
  broker.world.write(workspace + "/run.sh", "sleep 20\n");
  for (const char* swap : {"evil.sh", "run.sh"}) {
    broker.world.write(workspace + "/evil.sh", "echo swapped; sleep 20\n");
    const auto running = broker.start(argv({"sh", "run.sh"}));
    ASSERT_EQ(running->result.denial, "");
    // Away and, the second time, back: the path then names the approved file again.
    ASSERT_EQ(rename((workspace + "/run.sh").c_str(), (workspace + "/aside").c_str()), 0);
    if (std::string(swap) == "run.sh") {
      ASSERT_EQ(rename((workspace + "/aside").c_str(), (workspace + "/run.sh").c_str()), 0);
    } else {
      ASSERT_EQ(rename((workspace + "/evil.sh").c_str(), (workspace + "/run.sh").c_str()), 0);
    }
    const Result& result = running->finish();
    EXPECT_EQ(result.reason, schema::EndReason::APPROVAL_DRIFT);
    EXPECT_EQ(result.signal, SIGKILL);
    broker.world.write(workspace + "/run.sh", "sleep 20\n");
  }
}

TEST(Digest, AScriptThatIsReplacedAndEndsAtOnceIsToldAsDrift) {
  Broker broker;
  const std::string& workspace = broker.world.workspace;
  broker.world.write(workspace + "/run.sh", "read go\n");
  broker.world.write(workspace + "/evil.sh", "true\n");
  const auto running = broker.start(argv({"sh", "run.sh"}));
  ASSERT_EQ(rename((workspace + "/evil.sh").c_str(), (workspace + "/run.sh").c_str()), 0);
  EXPECT_EQ(running->input("\n"), "");
  EXPECT_EQ(running->finish().reason, schema::EndReason::APPROVAL_DRIFT);
}

TEST(Digest, WhatACommandDoesToItsOperandsIsNoDrift) {
  Broker broker;
  const std::string& workspace = broker.world.workspace;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"rm", "file"},
                                                {"sed", "-i", "s/a/b/", "file"},
                                                {"mv", "file", "other"},
                                                {"sh", "-c", "rm file", "file"},
                                                {"sh", "job.sh", "file"}}) {
    broker.world.write(workspace + "/file", "a\n");
    broker.world.write(workspace + "/job.sh", "rm $1\n");
    const Result result = broker.run(argv(words));
    EXPECT_EQ(result.code, 0) << words.front() << result.denial;
    EXPECT_EQ(result.reason, schema::EndReason::EXITED) << words.front();
  }
}

class Script : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, Script, testing::Values(Story::kNamespaces, Story::kForbidden), storyName);

TEST_P(Script, RunsByItsHashedInterpreterWithItsArguments) {
  Broker broker;
  broker.world.write(broker.world.workspace + "/script",
                     "#!/bin/sh -e\necho \"$1|$2|$-\"; false; echo not-reached\n", 0755);
  const Result result = broker.run(argv({"./script", "a b", "c"}, GetParam()));
  EXPECT_EQ(result.denial, "");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.output.starts_with("a b|c|e")) << result.output;
  EXPECT_EQ(result.output.find("not-reached"), std::string::npos);
}

// No lease can be had on another user's file.
TEST_P(Script, OfAnotherUserRunsAsItWasHashed) {
  Broker broker;
  const std::string path = broker.world.workspace + "/run.sh";
  // Longer than a shell reads at once.
  const auto script = [](const char* last) {
    return "#!/bin/sh\necho $0; read go\n" + std::string(200'000, '#') + "\necho " + last + "\n";
  };
  if (!writeAsAnother(path, script("approved")) && lacks("root for the tests")) GTEST_SKIP();
  const auto running = broker.start(argv({"./run.sh"}, GetParam()));
  ASSERT_EQ(running->result.denial, "");
  running->expectOutput("/proc/self/fd/");
  writeAsAnother(path, script("swapped!"));
  EXPECT_EQ(running->input("\n"), "");
  EXPECT_NE(running->finish().output.find("approved"), std::string::npos) << running->result.output;
}

TEST_P(Script, ABinaryOfAnotherUserIsACopyBesideIt) {
  Broker broker;
  std::filesystem::create_directory(broker.world.workspace + "/bin");
  if (!writeAsAnother(broker.world.workspace + "/bin/tool", World::read("/usr/bin/readlink")) &&
      lacks("root for the tests"))
    GTEST_SKIP();
  const Result result = broker.run(argv({"bin/tool", "/proc/self/exe"}, GetParam()));
  EXPECT_EQ(result.denial, "");
  EXPECT_TRUE(result.output.starts_with(broker.world.workspace + "/bin/#")) << result.output;
}

TEST_P(Script, OfAnotherUserThatIsRewrittenBeforeTheStartDoesNotRun) {
  Broker broker;
  const std::string path = broker.world.workspace + "/run.sh";
  if (!writeAsAnother(path, "#!/bin/sh\necho approved\n") && lacks("root for the tests")) GTEST_SKIP();
  auto prepared = broker.prepare(argv({"./run.sh"}, GetParam()));
  ASSERT_EQ(prepared.denial, "");
  writeAsAnother(path, "#!/bin/sh\necho swapped!\n");
  EXPECT_TRUE(startPrepared(broker, prepared).starts_with("approval_drift/digest_changed/"));
}

TEST_P(Script, ViaEnvFindsItsOwnDirectory) {
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Broker broker;
  broker.world.write(broker.world.workspace + "/tools/run.py",
                     "#!/usr/bin/env python3\nimport helper\nprint(helper.NAME)\n", 0755);
  broker.world.write(broker.world.workspace + "/tools/helper.py", "NAME = 'found'\n");
  const Result result = broker.run(argv({"tools/run.py"}, GetParam()));
  EXPECT_EQ(result.output, "found\r\n");
  const auto prepared = broker.prepare(argv({"tools/run.py"}));
  EXPECT_EQ(digestOf(prepared, "interpreter"), digestOf(broker.prepare(argv({"python3"})), "program"));
}

TEST_P(Script, ABinaryOfTheWorkspaceRuns) {
  Broker broker;
  std::filesystem::copy_file("/usr/bin/true", broker.world.workspace + "/tool");
  const Result result = broker.run(argv({"./tool"}, GetParam()));
  EXPECT_EQ(result.denial, "");
  EXPECT_EQ(result.code, 0);
}

TEST(Program, ABareNameIsNeverAFileOfTheWorkspace) {
  Broker broker;
  broker.world.write(broker.world.workspace + "/true", "#!/bin/sh\nexit 9\n", 0755);
  EXPECT_EQ(broker.run(argv({"true"})).code, 0);
  broker.world.write(broker.world.workspace + "/only-here", "#!/bin/sh\nexit 9\n", 0755);
  EXPECT_EQ(deny(broker, argv({"only-here"})), "program_not_found/search_path");
}

TEST(Program, NothingOutsideIsStarted) {
  Broker broker;
  broker.world.write(broker.world.outside + "/tool", "#!/bin/sh\n", 0755);
  EXPECT_EQ(deny(broker, argv({broker.world.outside + "/tool"})),
            "program_outside/system_or_profile_directory");
  EXPECT_EQ(deny(broker, argv({"../outside/tool"})), "program_outside/workspace_only");
  ASSERT_EQ(symlink((broker.world.outside + "/tool").c_str(), (broker.world.workspace + "/link").c_str()), 0);
  EXPECT_EQ(deny(broker, argv({"./link"})), "program_outside/workspace_only");
  EXPECT_EQ(deny(broker, argv({broker.world.workspace + "/link"})), "program_outside/workspace_only");
}

TEST(Program, OfPathsOutsideNothingIsTold) {
  Broker broker;
  const World& world = broker.world;
  world.write(world.outside + "/tool", "#!/bin/sh\n", 0755);
  for (const std::string& path : {world.outside + "/tool", world.outside + "/absent", world.outside,
                                  world.home + "/state/broker.db", world.home, std::string("/absent"),
                                  "/usr/.." + world.outside + "/tool", std::string("/usr/../absent/tool")}) {
    EXPECT_EQ(deny(broker, argv({path})), "program_outside/system_or_profile_directory") << path;
  }
  ASSERT_EQ(symlink(world.outside.c_str(), (world.workspace + "/out").c_str()), 0);
  for (const std::string& path : {std::string("out/tool"), std::string("out/absent"), std::string("./out"),
                                  world.workspace + "/out/tool", world.workspace + "/out/absent"}) {
    EXPECT_EQ(deny(broker, argv({path})), "program_outside/workspace_only") << path;
  }
}

TEST(Program, AWriteLeaseHoldsNobodyUp) {
  Broker broker;
  signal(SIGIO, SIG_IGN);
  const std::string path = broker.world.workspace + "/victim";
  broker.world.write(path, "#!/bin/sh\n", 0755);
  const rpc::OwnFd holder(open(path.c_str(), O_RDWR | O_CLOEXEC));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"./victim"}, {"sh", "victim"}}) {
    ASSERT_EQ(fcntl(holder.get(), F_SETLEASE, F_WRLCK), 0);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(deny(broker, argv(words)), "program_busy/write_lease");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    ASSERT_EQ(fcntl(holder.get(), F_SETLEASE, F_UNLCK), 0);
  }
}

TEST(Program, AProfileDirectoryMakesItsProgramsStartable) {
  Broker broker;
  broker.world.write(broker.world.outside + "/tool", "#!/bin/sh\necho profile\n", 0755);
  CommandLine command = argv({broker.world.outside + "/tool"});
  command.programPaths = {broker.world.outside};
  EXPECT_EQ(broker.run(command).output, "profile\r\n");
  command.programPaths = {"/"};
  EXPECT_EQ(deny(broker, command), "request_invalid/command_spec");
}

TEST(Program, AReadableDirectoryGivesNoProgram) {
  for (const Story story : {Story::kNamespaces, Story::kForbidden}) {
    Broker broker;
    const std::string tool = broker.world.outside + "/tool";
    broker.world.write(tool, "#!/bin/sh\necho ran\n", 0755);
    CommandLine started = argv({tool}, story);
    started.readPaths = {broker.world.outside};
    EXPECT_EQ(deny(broker, started), "program_outside/system_or_profile_directory");
    CommandLine command = shell("head -c 2 " + tool + " && echo && " + tool + " || echo refused $?", story);
    command.readPaths = {broker.world.outside};
    const std::string output = broker.run(command).output;
    EXPECT_TRUE(output.starts_with("#!\r\n")) << output;
    EXPECT_TRUE(output.ends_with("refused 126\r\n")) << output;
    command.programPaths = {broker.world.outside};  // the control
    EXPECT_TRUE(broker.run(command).output.ends_with("ran\r\n"));
  }
}

TEST(Program, WhatIsNoProgramIsRefusedByKind) {
  Broker broker;
  const std::string& workspace = broker.world.workspace;
  broker.world.write(workspace + "/data", "text\n", 0644);
  EXPECT_EQ(deny(broker, argv({"./data"})), "program_not_executable/execute_permission");
  broker.world.write(workspace + "/text", "text\n", 0755);
  EXPECT_EQ(deny(broker, argv({"./text"})), "program_format/binary_or_script");
  EXPECT_EQ(deny(broker, argv({"./absent"})), "program_not_found/program_path");
  EXPECT_EQ(deny(broker, argv({workspace})), "program_not_regular/regular_file");
  ASSERT_EQ(mkfifo((workspace + "/fifo").c_str(), 0755), 0);
  EXPECT_EQ(deny(broker, argv({"./fifo"})), "program_not_regular/regular_file");
  broker.world.write(workspace + "/lost", "#!/no/such/interpreter\n", 0755);
  EXPECT_EQ(deny(broker, argv({"./lost"})), "interpreter_refused/program_outside");
  broker.world.write(workspace + "/nested", "#!" + workspace + "/lost\n", 0755);
  EXPECT_EQ(deny(broker, argv({"./nested"})), "interpreter_refused/binary");
  EXPECT_EQ(deny(broker, argv({})), "request_invalid/exactly_one_of_argv_and_shell");
}

TEST(Program, ShellsWithoutAScriptAreInteractive) {
  Broker broker;
  broker.world.write(broker.world.workspace + "/job.sh", "true\n");
  EXPECT_TRUE(broker.prepare(argv({"sh"})).interactive);
  EXPECT_TRUE(broker.prepare(argv({"bash", "-i"})).interactive);
  EXPECT_FALSE(broker.prepare(argv({"sh", "job.sh"})).interactive);
  EXPECT_FALSE(broker.prepare(argv({"sh", "-c", "true"})).interactive);
  EXPECT_TRUE(broker.prepare(argv({"more", "job.sh"})).interactive) << "it takes commands beside a file";
  EXPECT_FALSE(broker.prepare(argv({"env", "true"})).interactive) << "what it starts is another's to judge";
  EXPECT_FALSE(broker.prepare(argv({"ls"})).interactive);
}

}  // namespace
}  // namespace factionos::test
