// Canaries in everything that a session is given, sees and makes. Its output is shown in one place.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/canary/sweep.h"

namespace factionos::test {
namespace {

class Sessions : public Sweep {
 protected:
  void type(const std::string& session, const std::string& text, const std::string& key) {
    EXPECT_EQ(
        post("/v1/terminal/sessions/" + session + "/input", R"({"data":)" + json(text) + "}", key).status,
        200);
  }
  Reply ended(const std::string& session) {
    Reply reply;
    EXPECT_TRUE(eventually([&]() {
      reply = detail(session, "?waitMs=1000");
      return reply.at("/session/state") == "ended";
    })) << reply.body;
    return reply;
  }
};

TEST_F(Sessions, WhatIsPrintedStandsInTheDetailAloneAndWhatIsNotNowhere) {
  const auto printed = plant(Category::kTerminalOutput, "a file that cat prints");
  const auto listed = plant(Category::kTerminalOutput, "a name that ls prints");
  const auto hidden = plant(Category::kFileContents, "a file that nobody prints");
  writeFile(broker_.workspace() + "/printed", printed + "\n");
  std::filesystem::create_directory(broker_.workspace() + "/listed");
  writeFile(broker_.workspace() + "/listed/" + listed, hidden);
  std::filesystem::create_directory(broker_.workspace() + "/" + plant(Category::kWorkspacePath, "a folder"));
  const auto line = plant(Category::kCommand, "a shell line");
  const auto session =
      start(R"("shell":": )" + line +
                "; stty -echo; cat printed; ls listed; env -u PWD; echo ready; read a; stty echo; "
                R"(echo heard; read b; echo done")",
            "session");
  ASSERT_TRUE(shows(session, "ready"));
  searchFiles("while a session runs:");
  type(session, plant(Category::kTerminalInput, "typed unseen") + "\n", "input");
  ASSERT_TRUE(shows(session, "heard"));
  const auto echoed = plant(Category::kTerminalOutput, "typed with an echo");
  type(session, echoed + "\n", "echo");
  const auto output = outputOf(ended(session));
  // Else nothing would be proven by its absence elsewhere.
  for (const auto& each : {printed, listed, echoed}) EXPECT_NE(output.find(each), output.npos) << output;
  EXPECT_EQ(post("/v1/terminal/sessions/" + session + "/restart", "{}", "restart").status, 202);
}

TEST_F(Sessions, ProgramsOperandsAndScriptsLeaveTheirNamesAlone) {
  ended(start(R"("command":["true",")" + plant(Category::kCommand, "an argument") + "\"]", "argument"));
  // The file's own name is the program's label, which consent shows; the path to it is nobody's.
  const auto folder = plant(Category::kWorkspacePath, "a script's folder");
  std::filesystem::create_directory(broker_.workspace() + "/" + folder);
  const auto script = broker_.workspace() + "/" + folder + "/check";
  writeFile(script, "#!/bin/sh\n# " + plant(Category::kFileContents, "a script's text") + "\nexit 3\n");
  ::chmod(script.c_str(), 0755);
  EXPECT_EQ(ended(start(R"("command":["./)" + folder + "/check\"]", "script")).at("/session/exit/code"), "3");
  ended(start(R"("command":["sh","./)" + folder + "/check\"]", "operand"));
  for (const char* before : {"", "./", "../", "/usr/bin/", "/nowhere/"}) {
    const auto program = before + plant(Category::kCommand, "a program that is not there");
    const auto refused = post("/v1/terminal/run", R"({"workspace":"demo","command":[")" + program + "\"]}",
                              program.substr(0, 8));
    EXPECT_GE(refused.status, 400) << refused.body;
    post("/v1/terminal/preview", R"({"workspace":"demo","command":[")" + program + "\"]}", "");
  }
}

TEST_F(Sessions, AScriptThatDriftsAndASessionThatIsKilledTellNothing) {
  const auto script = broker_.workspace() + "/drifting";
  writeFile(script, "#!/bin/sh\n# " + plant(Category::kFileContents, "before") + "\n");
  ::chmod(script.c_str(), 0755);
  const auto id = propose(R"("command":["./drifting"])", "drift");
  writeFile(script, "#!/bin/sh\n# " + plant(Category::kFileContents, "after") + "\n");
  screen({"approve", id, "--revision", "1", "--yes"});
  const auto drifted = post("/v1/terminal/run",
                            R"({"workspace":"demo","command":["./drifting"],"approval":{"actionId":")" + id +
                                R"(","expectedRevision":2}})",
                            "drift");
  EXPECT_EQ(drifted.code(), "approval_drift") << drifted.body;
  const auto killed =
      start(R"("shell":": )" + plant(Category::kCommand, "a killed line") + R"(; sleep 1000")", "kill");
  EXPECT_EQ(post("/v1/terminal/sessions/" + killed + "/kill", "{}", "kill-it").status, 200);
  ended(killed);
  const auto late =
      start(R"("timeoutMs":300,"shell":": )" + plant(Category::kCommand, "a late line") + R"(; sleep 1000")",
            "late");
  ended(late);
}

TEST_F(Sessions, SecretsThatTheMaskerKnowsAreShownNowhere) {
  const auto secret = readFile(broker_.home() + "/tokens/deploy").substr(0, Canaries::kLength);
  ASSERT_EQ(secret.substr(0, canaries_.tag().size()), canaries_.tag());
  const auto shaped = "ghp_" + plant(Category::kToken, "a public token's form") + "ABCDEF";
  writeFile(broker_.workspace() + "/known", secret + "\n");
  writeFile(broker_.workspace() + "/secrets", secret + "\n" + shaped + "\n" + token() + "\n");
  // Whole, coloured, byte by byte; and a known value in the encodings that are promised.
  const auto session = start(
      "\"shell\":" +
          json("cat secrets; printf '\\033[1m'; cat secrets; "
               "while read -r line; do printf %s \"$line\" | sed 's/./&\\n/g' | while read -r c; do printf "
               "%s \"$c\"; done; echo; done < secrets; "
               "base64 -w0 known; echo; od -An -tx1 -v known | tr -d ' \\n'; echo; echo ready"),
      "masked");
  ASSERT_TRUE(shows(session, "ready"));
  EXPECT_NE(outputOf(ended(session)).find("[masked:"), std::string::npos);
  auto streamed = broker_.startCli({"run", "--workspace", "demo", "--", "cat", "secrets"});
  const auto asked = streamed->waitForLine("factionos approve act_");
  ASSERT_NE(asked.find("act_"), asked.npos);
  screen({"approve", asked.substr(asked.find("act_"), 30), "--revision", "1", "--yes"});
  const auto done = streamed->finish();
  EXPECT_NE(done.out.find("[masked:"), done.out.npos) << done.out;
  search(done.out + done.err, {Boundary::kCli, {Category::kTerminalOutput}}, "factionos run");
}

// A core would be everything at once. That this kernel would write one is shown by a process of the test's.
TEST_F(Sessions, ACrashLeavesNoCoreAndNothingRaw) {
  const auto witness = ::fork();
  if (witness == 0) {
    ::prctl(PR_SET_DUMPABLE, 1);  // who has changed its user is not
    if (::chdir(root().c_str()) != 0) ::_exit(1);
    ::abort();
  }
  int how = 0;
  ::waitpid(witness, &how, 0);
  const bool kernelWritesCores = WIFSIGNALED(how) && WCOREDUMP(how);
  if (!kernelWritesCores)
    std::puts("this kernel or its limits write no core for anybody: the limits alone are looked at");
  for (const auto& entry : std::filesystem::directory_iterator(root())) {
    if (entry.path().filename().string().starts_with("core")) std::filesystem::remove(entry.path());
  }

  const auto crashed = start(
      R"("shell":": )" + plant(Category::kCommand, "a line that crashes") + R"(; kill -ABRT $$")", "crash");
  ended(crashed);
  const auto session = start(R"("shell":": )" + plant(Category::kCommand, "a line under a crash") +
                                 R"(; stty -echo; echo ready; read a; sleep 1000")",
                             "crashing");
  ASSERT_TRUE(shows(session, "ready"));
  type(session, plant(Category::kTerminalInput, "typed before a crash") + "\n", "typed");
  propose(R"("shell":": )" + plant(Category::kCommand, "a line that waits") + "\"", "waits");
  auto all = descendants(broker_.pid());
  all.push_back(broker_.pid());
  for (const auto pid : all) {
    // The command, once it runs, may not raise what it inherits.
    const auto limits = readFile("/proc/" + std::to_string(pid) + "/limits");
    if (limits.empty()) continue;  // what was about to end when it was listed
    std::istringstream line(limits.substr(limits.find("Max core file size") + 18));
    std::string soft;
    std::string hard;
    line >> soft >> hard;
    for (const auto& each : {soft, hard})
      EXPECT_TRUE(each == "0" || each == "1") << readFile("/proc/" + std::to_string(pid) + "/comm") << each;
  }
  for (const auto pid : all) ::kill(pid, SIGABRT);
  EXPECT_EQ(broker_.process().finish().status, 256 + SIGABRT);
  EXPECT_TRUE(
      eventually([&]() { return std::ranges::none_of(all, [](pid_t pid) { return ::kill(pid, 0) == 0; }); }));
  expectNoCore();
  searchFiles("after a crash:");
  broker_.start();
  expectNoCore();
}

}  // namespace
}  // namespace factionos::test
