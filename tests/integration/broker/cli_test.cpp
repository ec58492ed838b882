#include <csignal>
#include <filesystem>
#include <fstream>

#include "live_broker.h"

namespace factionos::test {
namespace {

std::string askedFor(Process& run) {
  const auto line = run.waitForLine("factionos approve act_");
  const auto at = line.find("act_");
  return at == std::string::npos ? std::string() : line.substr(at, 30);
}

TEST(Cli, RunProposesWaitsStreamsAndExitsWithTheCommandsStatus) {
  LiveBroker broker;
  auto run = broker.startCli({"run", "--workspace", "demo", "--", "sh", "-c", "echo one; echo two; exit 7"});
  const auto id = askedFor(*run);
  ASSERT_FALSE(id.empty()) << run->err();
  ASSERT_EQ(broker.approve(id).status, 0);
  const auto done = run->finish();
  EXPECT_EQ(done.status, 7);
  EXPECT_EQ(done.out, "one\ntwo\n");
}

TEST(Cli, ARejectedRunExitsWithThree) {
  LiveBroker broker;
  auto run = broker.startCli({"run", "--workspace", "demo", "--", "true"});
  const auto id = askedFor(*run);
  ASSERT_EQ(broker.cli({"reject", id, "--revision", "1", "--yes"}).status, 0);
  EXPECT_EQ(run->finish().status, 3);
}

TEST(Cli, PipedInputReachesTheCommandAndItsEndToo) {
  LiveBroker broker;
  auto run =
      broker.startCli({"run", "--workspace", "demo", "--", "sh", "-c", "stty -echo; cat"}, "piped line\n");
  const auto id = askedFor(*run);
  ASSERT_EQ(broker.approve(id).status, 0);
  const auto done = run->finish();
  EXPECT_EQ(done.status, 0);
  EXPECT_NE(done.out.find("piped line"), std::string::npos);
}

TEST(Cli, AReasonThatIsNoCodeIsRefusedAndNothingIsDecided) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto id = broker.propose(R"("command":["true"])", token, "k1").at("/action/id");
  const auto refused = broker.cli({"reject", id, "--revision", "1", "--yes", "--reason", "a\x1b[31m"});
  EXPECT_NE(refused.status, 0);
  EXPECT_EQ(refused.err.find('\x1b'), std::string::npos);
  EXPECT_EQ(broker.action(id, token).at("/action/state"), "proposed");
  EXPECT_EQ(broker.cli({"reject", id, "--revision", "1", "--yes", "--reason", "not_now"}).status, 0);
}

TEST(Cli, CtrlCIsPassedOn) {
  LiveBroker broker;
  auto run = broker.startCli({"run", "--workspace", "demo", "--", "sh", "-c",
                              "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done"});
  const auto id = askedFor(*run);
  ASSERT_EQ(broker.approve(id).status, 0);
  ASSERT_FALSE(run->waitForLine("ready").empty());
  run->signal(SIGINT);
  const auto done = run->finish();
  EXPECT_EQ(done.status, 5) << done.err;
  EXPECT_NE(done.out.find("caught"), std::string::npos);
}

TEST(Cli, ApproveNeedsTheRevisionOrATerminal) {
  LiveBroker broker;
  const auto id = broker.propose(R"("command":["true"])", broker.token(), "k1").at("/action/id");
  EXPECT_EQ(broker.cli({"approve", id, "--yes"}).status, 2);
  EXPECT_EQ(broker.action(id, broker.token()).at("/action/state"), "proposed");
}

TEST(Cli, P32_RevealShowsTheCommandWithInvisibleCharactersMadeVisible) {
  LiveBroker broker;
  // ESC, right-to-left override, zero width space, line separator, a tag letter.
  const auto id = broker
                      .propose(R"("command":["echo","a\u202eb\u001b[31mc\u200bd\u2028e\udb40\udc72f"])",
                               broker.token(), "k1")
                      .at("/action/id");
  for (const bool asJson : {false, true}) {
    const auto revealed = broker.cli(asJson ? std::vector<std::string>{"reveal", id, "--json"}
                                            : std::vector<std::string>{"reveal", id});
    ASSERT_EQ(revealed.status, 0) << revealed.err;
    for (const std::string shown : {"\\u{202e}", "\\x1b[31m", "\\u{200b}", "\\u{2028}", "\\u{e0072}"}) {
      const auto escaped = asJson ? "\\" + shown : shown;  // JSON doubles the backslash
      EXPECT_NE(revealed.out.find(escaped), std::string::npos) << shown << " in " << revealed.out;
    }
    for (const std::string hidden :
         {"\x1b", "\xe2\x80\xae", "\xe2\x80\x8b", "\xe2\x80\xa8", "\xf3\xa0\x81\xb2"})
      EXPECT_EQ(revealed.out.find(hidden), std::string::npos) << revealed.out;
  }
  // Nor does any card or list show them, as it shows no command at all.
  for (const auto& screen : {broker.cli({"actions"}).out, broker.action(id, broker.token()).body})
    EXPECT_EQ(screen.find("202e"), std::string::npos) << screen;
  ASSERT_EQ(broker.approve(id).status, 0);
  EXPECT_EQ(broker.cli({"reveal", id}).status, 3) << "only while it waits";
}

TEST(Cli, AWrongPassphraseIsRefused) {
  LiveBroker broker({.key = Setup::Key::kSealed});
  writeFile(broker.workspace() + "/wrong", "not the passphrase\n");
  ASSERT_EQ(runProcess({"/bin/chmod", "600", broker.workspace() + "/wrong"}, broker.environment(),
                       broker.workspace())
                .status,
            0);
  EXPECT_EQ(broker.cli({"actions", "--passphrase-file", broker.workspace() + "/wrong"}).status, 3);
}

TEST(Cli, WithoutABrokerEveryCommandSaysSo) {
  LiveBroker broker;
  broker.stop();
  EXPECT_EQ(broker.cli({"status"}).status, 4);
  EXPECT_EQ(broker.cli({"actions"}).status, 4);
  EXPECT_EQ(broker.cli({"run", "--workspace", "demo", "--", "true"}).status, 4);
  const auto offline = broker.cli({"token", "create", "offline", "--scope", "read"});
  EXPECT_EQ(offline.status, 0) << offline.err;
  EXPECT_EQ(broker.cli({"audit", "verify"}).status, 0);
  broker.start();
  EXPECT_EQ(broker.get("/v1/diagnostics", offline.out.substr(0, offline.out.size() - 1)).status, 200);
}

// Who has set HOME means it, for the service as for every other command.
TEST(Cli, TheServiceFindsTheHomeThatInitMade) {
  LiveBroker broker;
  const auto own = broker.workspace() + "-user";
  std::filesystem::create_directory(own);
  std::filesystem::permissions(own, std::filesystem::perms(0700));
  const std::vector<std::string> environment = {"HOME=" + own, "PATH=/usr/bin:/bin"};
  ASSERT_EQ(runProcess({FACTIONOS_CLI, "init", "--no-passphrase"}, environment, own).status, 0);
  ASSERT_TRUE(std::filesystem::exists(own + "/.factionos/config.toml"));
  Process served({FACTIONOS_CLI, "serve", "--listen", "127.0.0.1:0", "--print-address"}, environment, own);
  EXPECT_FALSE(served.waitForLine("127.0.0.1:").empty()) << served.err();
  EXPECT_EQ(runProcess({FACTIONOS_CLI, "status"}, environment, own).status, 0);
  served.signal(SIGTERM);
  EXPECT_EQ(served.finish().status, 0);
}

// Killed at any moment, an init leaves a home that the next one finishes.
TEST(Cli, AnInitThatWasKilledIsDoneAgain) {
  LiveBroker broker;
  const auto home = broker.home() + "-cut";
  const auto options = std::vector<std::string>{"init", "--no-passphrase", "--home", home};
  unsigned cut = 0;
  for (int round = 0; round < 12; ++round) {
    auto init = broker.startCli(options);
    // A moment later in every round: whenever so many of its files are there.
    eventually([&]() {
      std::error_code error;
      const auto all = std::filesystem::recursive_directory_iterator(home, error);
      return !init->running() ||
             (!error && std::distance(std::filesystem::begin(all), std::filesystem::end(all)) >= round);
    });
    init->signal(SIGKILL);
    init->finish();
    if (!std::filesystem::exists(home + "/config.toml")) ++cut;
    const auto again = broker.cli(options);
    if (again.status == 0) {
      EXPECT_NE(again.out.find("audit key"), std::string::npos) << round;
    } else {
      EXPECT_NE(again.err.find("exists already"), std::string::npos) << round << ": " << again.err;
    }
    EXPECT_EQ(broker.cli({"audit", "verify", "--home", home}).status, 0) << round;
    EXPECT_FALSE(std::filesystem::exists(home + "/init.unfinished") && again.status == 0);
    std::filesystem::remove_all(home);
  }
  EXPECT_GT(cut, 0U) << "no round was early enough";
}

TEST(Cli, AHomeThatWasTakenApartIsNotMadeAnew) {
  LiveBroker broker;
  broker.stop();
  const auto config = readFile(broker.home() + "/config.toml");
  std::filesystem::remove(broker.home() + "/config.toml");
  const auto key = readFile(broker.home() + "/operator.key");
  const auto refused = broker.cli({"init", "--no-passphrase"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("operator.key"), std::string::npos) << refused.err;
  EXPECT_EQ(readFile(broker.home() + "/operator.key"), key);
  writeFile(broker.home() + "/config.toml", config);
  std::filesystem::permissions(broker.home() + "/config.toml", std::filesystem::perms(0600));
  broker.start();
}

TEST(Cli, AWorkspaceThatMayNotBeOneIsRefused) {
  LiveBroker broker;
  for (const std::string path : {"/", "/etc", "/usr/bin", "/proc", "/tmp"})
    EXPECT_EQ(broker.cli({"workspace", "add", "bad", path}).status, 3) << path;
  EXPECT_EQ(broker.cli({"workspace", "add", "bad", broker.home()}).status, 3);
  EXPECT_EQ(broker.cli({"workspace", "add", "bad", broker.home() + "/run"}).status, 3);
  EXPECT_EQ(broker.cli({"workspace", "add", "bad", broker.home() + "/.."}).status, 3);
  EXPECT_EQ(broker.cli({"workspace", "add", "bad", ""}).status, 2);
}

TEST(Cli, UnknownCommandsAndOptionsAreUsageErrors) {
  LiveBroker broker;
  EXPECT_EQ(broker.cli({"frobnicate"}).status, 2);
  EXPECT_EQ(broker.cli({"status", "--frobnicate"}).status, 2);
  EXPECT_EQ(broker.cli({"run", "--workspace", "demo"}).status, 2);
}

}  // namespace
}  // namespace factionos::test
