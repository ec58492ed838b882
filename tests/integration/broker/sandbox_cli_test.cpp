// factionos sandbox show and explain, as an operator or a script calls them.
#include <filesystem>
#include <fstream>

#include "live_broker.h"

namespace factionos::test {
namespace {

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(SandboxCli, ShowListsProfilesAndPrintsOne) {
  LiveBroker broker;
  const auto list = broker.cli({"sandbox", "show"});
  EXPECT_EQ(list.status, 0);
  EXPECT_TRUE(holds(list.out, "command\t"));
  const auto text = broker.cli({"sandbox", "show", "pty"});
  EXPECT_EQ(text.status, 0);
  EXPECT_TRUE(holds(text.out, "\ncalls: "));
  const auto json = broker.cli({"sandbox", "show", "pty", "--format", "json"});
  EXPECT_TRUE(json.out.starts_with("{\"profile\":\"pty\",")) << json.out;
  EXPECT_EQ(broker.cli({"sandbox", "show", "--json"}).out.substr(0, 13), "{\"profiles\":[");
  EXPECT_EQ(broker.cli({"sandbox", "show", "command", "--here"}).status, 0);
  EXPECT_EQ(broker.cli({"sandbox", "show", "nobody"}).status, 2);
  EXPECT_EQ(broker.cli({"sandbox", "show", "pty", "--format", "xml"}).status, 2);
}

TEST(SandboxCli, ExplainsStatusTellsAllowedDeniedOrOfNoRule) {
  LiveBroker broker;
  std::ofstream(broker.workspace() + "/file") << "x";
  const auto ask = [&broker](std::vector<std::string> words) {
    words.insert(words.begin(), {"sandbox", "explain", "--workspace", "demo"});
    return broker.cli(words);
  };
  EXPECT_EQ(ask({"read", "file"}).status, 0);
  EXPECT_EQ(ask({"create", "new"}).status, 0);
  EXPECT_EQ(ask({"exec", "/bin/true"}).status, 0);
  EXPECT_EQ(ask({"read", "missing"}).status, 1);
  EXPECT_EQ(ask({"write", "/usr/bin/true"}).status, 3);
  EXPECT_EQ(ask({"read", broker.home() + "/state/broker.db"}).status, 3);
  EXPECT_EQ(ask({"connect", "tcp:" + std::to_string(broker.port())}).status, 3);
  EXPECT_EQ(ask({"connect", "unix:" + broker.home() + "/run/operator.sock"}).status, 3);
  EXPECT_EQ(ask({"--profile", "pty", "read", "file"}).status, 3);
  const auto json = ask({"--format", "json", "read", "/var/log"});
  EXPECT_EQ(json.status, 3);
  EXPECT_TRUE(json.out.starts_with("{\"verdict\":\"denied\",")) << json.out;
}

TEST(SandboxCli, ExplainTakesADirectoryAndRefusesWhatIsNone) {
  LiveBroker broker;
  const auto ask = [&broker](const std::string& workspace) {
    return broker.cli({"sandbox", "explain", "--workspace", workspace, "read", "."}).status;
  };
  EXPECT_EQ(ask(broker.workspace()), 0);
  EXPECT_EQ(ask("/etc"), 1);
  EXPECT_EQ(ask(broker.home()), 1);
  EXPECT_EQ(ask("/nonexistent"), 1);
  EXPECT_EQ(broker.cli({"sandbox", "explain", "read", "."}).status, 2);
  EXPECT_EQ(broker.cli({"sandbox", "explain", "--workspace", "demo", "delete", "."}).status, 2);
  EXPECT_EQ(broker.cli({"sandbox", "explain", "--workspace", "demo", "connect", "nowhere"}).status, 2);
  EXPECT_EQ(broker.cli({"sandbox", "explain", "--profile", "nobody", "read", "."}).status, 2);
}

// A machine of CI has none.
TEST(SandboxCli, NeitherNeedsAHome) {
  LiveBroker broker;
  const std::vector<std::string> environment = {"HOME=/nonexistent", "PATH=/usr/bin:/bin"};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {FACTIONOS_CLI, "sandbox"});
    return runProcess(words, environment, broker.home()).status;
  };
  EXPECT_EQ(run({"show", "command"}), 0);
  EXPECT_EQ(run({"explain", "--workspace", broker.workspace(), "read", "."}), 0);
}

}  // namespace
}  // namespace factionos::test
