#include "broker/home/config.h"

#include <gmock/gmock.h>

#include "tests/unit/home/temp_home.h"

namespace factionos::home {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string problemOf(std::string_view text) {
  auto config = parseConfig(text);
  return config ? "parsed although it must not" : config.problem().text();
}

TEST(Config, EmptyFileAndShippedFileAreTheDefaults) {
  for (const std::string_view text : {std::string_view(), defaultConfigText()}) {
    auto config = parseConfig(text);
    ASSERT_TRUE(config.ok()) << config.problem().text();
    EXPECT_EQ(config->mode, Mode::kUser);
    EXPECT_EQ(config->listen.host, "127.0.0.1");
    EXPECT_EQ(config->listen.port, 4519);
    EXPECT_TRUE(config->workspaces.empty());
    EXPECT_EQ(config->limits.idempotencyTtl, std::chrono::hours(24));
  }
}

// Each commented-out default in the shipped text is what the program takes when it is missing.
TEST(Config, ShippedCommentsTellTheTrueDefaults) {
  std::string text;
  bool workspaceOrPrincipal = false;
  std::istringstream lines{std::string(defaultConfigText())};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# [[")) workspaceOrPrincipal = true;
    if (line.empty()) workspaceOrPrincipal = false;
    const bool setting = line.starts_with("# ") && line.find(" = ") != std::string::npos;
    const bool skipped = workspaceOrPrincipal || line.starts_with("# group") || line.starts_with("# anchor");
    text += (setting && !skipped ? line.substr(2) : line) + "\n";
  }
  auto config = parseConfig(text);
  ASSERT_TRUE(config.ok()) << config.problem().text();
  const Limits defaults;
  EXPECT_EQ(config->limits.maxSessions, defaults.maxSessions);
  EXPECT_EQ(config->limits.maxWaitingActions, defaults.maxWaitingActions);
  EXPECT_EQ(config->limits.commandTimeout, defaults.commandTimeout);
  EXPECT_EQ(config->limits.maxCommandTimeout, defaults.maxCommandTimeout);
  EXPECT_EQ(config->limits.outputCapBytes, defaults.outputCapBytes);
  EXPECT_EQ(config->limits.approvalExpiry, defaults.approvalExpiry);
  EXPECT_EQ(config->limits.idempotencyTtl, defaults.idempotencyTtl);
  EXPECT_EQ(config->listen.port, 4519);
}

TEST(Config, ReadsEverything) {
  auto config = parseConfig(R"(mode = "system"
group = "agents"
listen = "[::1]:0"
allowed_hosts = ["box.example", "box.example:8443"]
allowed_origins = ["https://box.example:8443"]
[[workspace]]
name = "demo"
path = "/srv/demo/"
[[principal]]
name = "alice"
uid = 1000
scopes = ["read", "propose"]
[limits]
max_sessions = 2
command_timeout_seconds = 5
[profile]
program_dirs = ["/opt/tools"]
readable_dirs = ["/srv/data/"]
[engines]
apple = "/usr/local/bin/container"
docker = "/run/docker.sock"
podman = ""

[audit]
anchor = "/var/backups/head"
)");
  ASSERT_TRUE(config.ok()) << config.problem().text();
  EXPECT_EQ(config->mode, Mode::kSystem);
  EXPECT_EQ(config->group, "agents");
  EXPECT_EQ(config->listen.host, "::1");
  EXPECT_EQ(config->listen.port, 0);
  ASSERT_EQ(config->workspaces.size(), 1U);
  EXPECT_EQ(config->workspaces[0].line, 6U);
  ASSERT_EQ(config->principals.size(), 1U);
  EXPECT_EQ(config->principals[0].uid, 1000U);
  EXPECT_EQ(config->principals[0].scopes.text(), "read,propose");
  EXPECT_EQ(config->limits.maxSessions, 2U);
  EXPECT_EQ(config->limits.commandTimeout.count(), 5);
  EXPECT_EQ(config->profile.programDirs.front(), "/opt/tools");
  EXPECT_EQ(config->engines.docker, "/run/docker.sock");
  EXPECT_EQ(config->engines.podman, "");
  EXPECT_EQ(config->engines.apple, "/usr/local/bin/container");
  EXPECT_EQ(config->auditAnchor, "/var/backups/head");
}

// P5: a trailing slash names the same directory.
TEST(Config, P5_TrailingSlashMeansTheSameDirectory) {
  auto config =
      parseConfig("[[workspace]]\nname=\"a\"\npath=\"/srv/demo/\"\n[profile]\nreadable_dirs=[\"/data//\"]\n");
  ASSERT_TRUE(config.ok()) << config.problem().text();
  EXPECT_EQ(config->findWorkspace("a")->path, "/srv/demo");
  EXPECT_EQ(config->profile.readableDirs.front(), "/data");
}

TEST(Config, OnlyLoopbackIsListenedOn) {
  for (const char* good : {"127.0.0.1:4519", "127.0.0.1:0", "[::1]:65535"}) {
    EXPECT_TRUE(parseListenAddress(good).ok()) << good;
  }
  for (const char* bad : {"0.0.0.0:4519",
                          "[::]:4519",
                          ":4519",
                          "4519",
                          "",
                          "127.0.0.1",
                          "127.0.0.1:",
                          "127.0.0.1:65536",
                          "127.0.0.1:-1",
                          "127.0.0.1:80x",
                          "127.0.0.2:80",
                          "127.1:80",
                          "localhost:80",
                          "::1:80",
                          "0x7f000001:80",
                          "2130706433:80",
                          "192.168.1.5:80",
                          "[::ffff:127.0.0.1]:80",
                          "[fe80::1%lo]:80",
                          "127.0.0.1.nip.io:80",
                          " 127.0.0.1:80",
                          "127.0.0.1 :80"}) {
    auto address = parseListenAddress(bad);
    ASSERT_FALSE(address.ok()) << bad;
    EXPECT_EQ(address.problem().code, ProblemCode::kRefused);
  }
  EXPECT_THAT(problemOf("listen = \"0.0.0.0:4519\""),
              StartsWith("config.toml:1:10: listen: must be a loopback"));
}

TEST(Config, ErrorsNameLineColumnAndFieldAndEchoNothing) {
  const std::string longProgram = "[engines]\napple = \"/" + std::string(4095, 'x') + "\"\n";
  const std::string longSocket = "[engines]\npodman = \"/" + std::string(110, 'x') + "\"\n";
  const struct {
    const char* text;
    const char* start;
  } cases[] = {
      {"listen = \"127.0.0.1:1\"\nsecretkey = \"hunter2\"\n", "config.toml:2:1: top level: unknown key"},
      {"[limits]\nhunter2 = 1\n", "config.toml:2:1: limits: unknown key"},
      {"[limits]\nmax_sessions = 0\n", "config.toml:2:16: limits.max_sessions: is out of range"},
      {"[limits]\nmax_sessions = 257\n", "config.toml:2:16: limits.max_sessions: is out of range"},
      {"[limits]\nmax_sessions = -1\n", "config.toml:2:16: limits.max_sessions: must be a whole number"},
      {"[limits]\nmax_sessions = \"hunter2\"\n",
       "config.toml:2:16: limits.max_sessions: must be a whole number"},
      {"[limits]\nmax_command_timeout_seconds = 5\n",
       "config.toml:1:1: limits.command_timeout_seconds: is longer"},
      {"[[workspace]]\npath = \"/a\"\n", "config.toml:1:1: workspace.name: is missing"},
      {"[[workspace]]\nname = \"hunter2!\"\npath = \"/a\"\n", "config.toml:2:8: workspace.name: is no label"},
      {"[[workspace]]\nname = \"a\"\npath = \"hunter2\"\n",
       "config.toml:3:8: workspace.path: must be an absolute"},
      {"[[workspace]]\nname = \"a\"\npath = \"/a/../hunter2\"\n",
       "config.toml:3:8: workspace.path: must be an abs"},
      {"[[workspace]]\nname=\"a\"\npath=\"/a\"\n[[workspace]]\nname=\"a\"\npath=\"/b\"\n",
       "config.toml:5:6: workspace.name: is used twice"},
      {"[[workspace]]\nname=\"a\"\npath=\"/a\"\nenv=\"hunter2\"\n",
       "config.toml:4:1: workspace: unknown key"},
      {"mode = \"hunter2\"\n", "config.toml:1:8: mode: is neither"},
      {"mode = true\n", "config.toml:1:8: mode: must be a string"},
      {"group = \"x\"\n", "config.toml:1:9: group: means nothing in user mode"},
      {"allowed_hosts = [\"*\"]\n", "config.toml:1:17: allowed_hosts: holds something"},
      {"allowed_hosts = [\"Hunter2\"]\n", "config.toml:1:17: allowed_hosts: holds something"},
      {"allowed_origins = [\"null\"]\n", "config.toml:1:19: allowed_origins: holds something"},
      {"allowed_origins = [\"https://a/hunter2\"]\n", "config.toml:1:19: allowed_origins: holds something"},
      {"workspace = 5\n", "config.toml:1:13: workspace: must be a list of tables"},
      {"limits = \"hunter2\"\n", "config.toml:1:10: limits: must be a table"},
      {"[engines]\ndocker = \"docker.sock\"\n", "config.toml:2:10: engines.docker: must be an absolute path"},
      {longSocket.c_str(), "config.toml:2:10: engines.podman: is longer"},
      {"[engines]\napple = \"container\"\n", "config.toml:2:9: engines.apple: must be an absolute path"},
      {longProgram.c_str(), "config.toml:2:9: engines.apple: is longer"},
      {"[engines]\ncontainerd = \"/x\"\n", "config.toml:2:1: engines: unknown key"},
      {"[audit]\nanchor = \"/x/\"\n", "config.toml:2:10: audit.anchor: is a directory"},
      {"listen = \"hunter2\n", "config.toml:1:18: file: this is not valid TOML"},
      {"[profile]\nprogram_dirs = [\"hunter2\"]\n",
       "config.toml:2:16: profile.program_dirs: must be an absolute"},
      {"[[principal]]\nname=\"a\"\nuid=1\nscopes=[\"read\"]\n",
       "config.toml:3:5: principal.uid: principals by uid"},
  };
  for (const auto& [text, start] : cases) {
    const std::string problem = problemOf(text);
    EXPECT_THAT(problem, StartsWith(start)) << text;
    EXPECT_THAT(problem, HasSubstr("; ")) << "no next step: " << problem;
    EXPECT_THAT(problem, Not(HasSubstr("unter2"))) << text;
  }
}

TEST(Config, PrincipalsAreCheckedOneByOne) {
  const std::string head = "mode=\"system\"\n";
  const std::string good = "[[principal]]\nname=\"a\"\nuid=1\nscopes=[\"read\"]\n";
  EXPECT_TRUE(parseConfig(head + good).ok());
  EXPECT_THAT(problemOf(head + good + good), HasSubstr("principal.name: is used twice"));
  EXPECT_THAT(problemOf(head + good + "[[principal]]\nname=\"b\"\nuid=1\nscopes=[\"read\"]\n"),
              HasSubstr("principal.uid: is used twice"));
  EXPECT_THAT(problemOf(head + "[[principal]]\nname=\"a\"\nscopes=[\"read\"]\n"),
              HasSubstr("principal.uid: is missing"));
  EXPECT_THAT(problemOf(head + "[[principal]]\nname=\"a\"\nuid=4294967295\nscopes=[\"read\"]\n"),
              HasSubstr("principal.uid: is out of range"));
  EXPECT_THAT(problemOf(head + "[[principal]]\nname=\"a\"\nuid=1\nscopes=[]\n"),
              HasSubstr("principal.scopes: is empty"));
  EXPECT_THAT(problemOf(head + "[[principal]]\nname=\"a\"\nuid=1\nscopes=[\"root\"]\n"),
              HasSubstr("principal.scopes: holds an unknown scope"));
  EXPECT_THAT(problemOf(head + "[[principal]]\nname=\"a\"\nuid=1\nscopes=[\"read\",\"read\"]\n"),
              HasSubstr("principal.scopes"));
}

class ConfigFile : public HomeTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(home.writeFile(Folder::kTop, kConfigFile, defaultConfigText(), WriteMode::kCreateNew).ok());
  }
};

TEST_F(ConfigFile, AddingAWorkspaceKeepsEveryByteThatWasThere) {
  const std::string before = get(path + "/config.toml");
  ASSERT_TRUE(addWorkspace(home, "demo", "/srv/demo").ok());
  ASSERT_TRUE(addWorkspace(home, "odd", "/srv/a \"b\\c\" é").ok());
  const std::string after = get(path + "/config.toml");
  EXPECT_THAT(after, StartsWith(before));
  EXPECT_EQ(modeOf(path + "/config.toml"), 0600U);
  auto config = loadConfig(home);
  ASSERT_TRUE(config.ok()) << config.problem().text();
  EXPECT_EQ(config->findWorkspace("demo")->path, "/srv/demo");
  EXPECT_EQ(config->findWorkspace("odd")->path, "/srv/a \"b\\c\" é");
}

TEST_F(ConfigFile, AddingWhatDoesNotFitChangesNothing) {
  ASSERT_TRUE(addWorkspace(home, "demo", "/srv/demo").ok());
  const std::string before = get(path + "/config.toml");
  EXPECT_EQ(addWorkspace(home, "demo", "/srv/other").problem().code, ProblemCode::kExists);
  EXPECT_FALSE(addWorkspace(home, "no label", "/srv/x").ok());
  EXPECT_FALSE(addWorkspace(home, "x", "relative").ok());
  EXPECT_FALSE(addWorkspace(home, "x", "/srv/x\n[limits]").ok());
  EXPECT_FALSE(addWorkspace(home, "x", "/srv/x/").ok());
  EXPECT_FALSE(addWorkspace(home, "x", "/srv/\xff\xfe").ok());
  EXPECT_EQ(get(path + "/config.toml"), before);
}

TEST_F(ConfigFile, InlineWorkspacesAreNotBrokenByAppending) {
  put(path + "/config.toml", "workspace = [{name = \"a\", path = \"/srv/a\"}]\n");
  ASSERT_TRUE(loadConfig(home).ok());
  EXPECT_FALSE(addWorkspace(home, "b", "/srv/b").ok());
  EXPECT_EQ(loadConfig(home)->workspaces.size(), 1U);
}

TEST_F(ConfigFile, MissingFileNamesInit) {
  ASSERT_TRUE(home.removeFile(Folder::kTop, kConfigFile).ok());
  EXPECT_THAT(loadConfig(home).problem().text(), HasSubstr("factionos init"));
}

}  // namespace
}  // namespace factionos::home
