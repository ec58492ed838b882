#include "live_broker.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace factionos::test {
namespace {

std::string userHome() {
  const char* home = std::getenv("HOME");
  return home == nullptr ? "/" : home;
}

}  // namespace

void becomeOrdinaryUser() {
  if (::geteuid() != 0) return;
  const char* name = std::getenv("FACTIONOS_TEST_USER");
  const auto* entry = ::getpwnam(name != nullptr ? name : "nobody");
  if (entry == nullptr || ::initgroups(entry->pw_name, entry->pw_gid) != 0 ||
      ::setresgid(entry->pw_gid, entry->pw_gid, entry->pw_gid) != 0 ||
      ::setresuid(entry->pw_uid, entry->pw_uid, entry->pw_uid) != 0) {
    std::perror("can't become the test user");
    std::exit(1);
  }
  ::setenv("HOME", entry->pw_dir, 1);
}

std::string uniqueKey() {
  static std::atomic<int> counter{0};
  return "key-" + std::to_string(++counter);
}

LiveBroker::LiveBroker(Setup setup)
    : kernel_(setup.kernel), served_(setup.broker), extraEnvironment_(setup.environment) {
  ::umask(022);
  std::string pattern = "/var/tmp/factionos-test.XXXXXX";
  root_ = ::mkdtemp(pattern.data());
  home_ = root_ + "/home";
  workspace_ = root_ + "/ws";
  std::filesystem::create_directory(workspace_);
  writeFile(root_ + "/passphrase", "correct horse battery staple\n");
  ::chmod((root_ + "/passphrase").c_str(), 0600);
  const auto made = setup.key == Setup::Key::kSealed
                        ? cli({"init", "--passphrase-file", root_ + "/passphrase"})
                        : cli({"init", "--no-passphrase"});
  EXPECT_EQ(made.status, 0) << made.err;
  initOutput_ = made.out;
  if (!setup.limits.empty()) {
    auto config = readFile(home_ + "/config.toml");
    const std::string table = "[limits]\n";
    config.insert(config.find(table) + table.size(), setup.limits + "\n");
    writeFile(home_ + "/config.toml", config);
  }
  if (!setup.engine.empty()) setup.engines += "\ndocker = \"" + setup.engine + "\"";
  if (!setup.engines.empty()) {
    auto config = readFile(home_ + "/config.toml");
    const std::string table = "[engines]\n";
    config.insert(config.find(table) + table.size(), setup.engines + "\n");
    writeFile(home_ + "/config.toml", config);
  }
  if (!setup.config.empty())
    writeFile(home_ + "/config.toml", readFile(home_ + "/config.toml") + "\n" + setup.config);
  const auto added = cli({"workspace", "add", "demo", workspace_});
  EXPECT_EQ(added.status, 0) << added.err;
  if (!setup.policy.empty()) writeFile(home_ + "/policy.toml", setup.policy);
  start();
}

LiveBroker::~LiveBroker() {
  if (broker_) stop();
  std::error_code error;
  // A test that failed may have left modes that stop removal; that is told by the next run's full disk at
  // worst.
  std::filesystem::remove_all(root_, error);
}

std::vector<std::string> LiveBroker::environment() const {
  std::vector<std::string> all{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + userHome(),
                               "FACTIONOS_HOME=" + home_, "TERM=dumb", "LANG=C.UTF-8"};
  all.insert(all.end(), extraEnvironment_.begin(), extraEnvironment_.end());
  return all;
}

void LiveBroker::start() {
  std::vector<std::string> arguments{served_};
  if (served_.empty()) arguments = {FACTIONOS_CLI, "serve"};
  if (kernel_ == Setup::Kernel::kNoUserNamespaces)
    arguments.insert(arguments.begin(), FACTIONOS_WITHOUT_NAMESPACES);
  arguments.insert(arguments.end(), {"--listen", "127.0.0.1:0", "--print-address"});
  if (broker_) earlierLog_ += broker_->err();
  broker_ = std::make_unique<Process>(arguments, environment(), root_);
  const auto line = broker_->waitForLine("127.0.0.1:");
  ASSERT_FALSE(line.empty()) << broker_->err();
  port_ = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  ASSERT_TRUE(eventually([this]() { return request(port_, "GET", "/healthz", "", {}).status == 200; }))
      << broker_->err();
}

void LiveBroker::stop() {
  broker_->signal(SIGTERM);
  const auto ended = broker_->finish();
  EXPECT_TRUE(ended.status == 0 || ended.status == 256 + SIGKILL || ended.status == 1)
      << ended.status << ended.err;
  earlierLog_ += ended.err;
  broker_.reset();
}

pid_t LiveBroker::child(const std::string& name) const {
  for (const auto pid : descendants(broker_->pid())) {
    auto comm = readFile("/proc/" + std::to_string(pid) + "/comm");
    if (!comm.empty()) comm.pop_back();
    if (comm == name) return pid;
  }
  return 0;
}

Finished LiveBroker::cli(std::vector<std::string> arguments, const std::string& input) {
  arguments.insert(arguments.begin(), FACTIONOS_CLI);
  return runProcess(arguments, environment(), root_, input);
}

std::unique_ptr<Process> LiveBroker::startCli(std::vector<std::string> arguments, const std::string& input) {
  arguments.insert(arguments.begin(), FACTIONOS_CLI);
  return std::make_unique<Process>(arguments, environment(), root_, input);
}

std::string LiveBroker::token(const std::string& scopes, const std::string& name) {
  const auto label = name.empty() ? "t" + std::to_string(std::hash<std::string>{}(scopes) % 100000) : name;
  auto& kept = tokens_[label];
  if (kept.empty()) {
    std::vector<std::string> arguments{"token", "create", label, "--scope", scopes};
    if (initOutput_.find("sealed") != std::string::npos)
      arguments.insert(arguments.end(), {"--passphrase-file", root_ + "/passphrase"});
    const auto made = cli(arguments);
    EXPECT_EQ(made.status, 0) << made.err;
    kept = made.out.substr(0, made.out.find('\n'));
  }
  return kept;
}

Reply LiveBroker::get(const std::string& target, const std::string& token) {
  return request(port_, "GET", target, "", {{"Authorization", "Bearer " + token}});
}

Reply LiveBroker::post(const std::string& target, const std::string& body, const std::string& token,
                       const std::string& key) {
  Headers headers{{"Authorization", "Bearer " + token}};
  if (!key.empty()) headers.emplace_back("Idempotency-Key", key);
  return request(port_, "POST", target, body.empty() ? "{}" : body, headers);
}

std::string LiveBroker::body(const std::string& command, const std::string& approval) const {
  return R"({"workspace":"demo",)" + command + approval + "}";
}

Reply LiveBroker::propose(const std::string& command, const std::string& token, const std::string& key) {
  return post("/v1/terminal/run", body(command, ""), token, key);
}

Finished LiveBroker::approve(const std::string& id, std::uint64_t revision) {
  std::vector<std::string> arguments{"approve", id, "--revision", std::to_string(revision), "--yes"};
  if (initOutput_.find("sealed") != std::string::npos)
    arguments.insert(arguments.end(), {"--passphrase-file", root_ + "/passphrase"});
  return cli(arguments);
}

Reply LiveBroker::execute(const std::string& command, const std::string& token, const std::string& key,
                          const std::string& id, std::uint64_t revision) {
  return post("/v1/terminal/run",
              body(command, R"(,"approval":{"actionId":")" + id + R"(","expectedRevision":)" +
                                std::to_string(revision) + "}"),
              token, key);
}

Reply LiveBroker::run(const std::string& command, const std::string& token, const std::string& key) {
  const auto proposed = propose(command, token, key);
  EXPECT_EQ(proposed.status, 202) << proposed.body;
  const auto id = proposed.at("/action/id");
  const auto approved = approve(id);
  EXPECT_EQ(approved.status, 0) << approved.err;
  return execute(command, token, key, id);
}

Reply LiveBroker::ended(const std::string& session, const std::string& token) {
  Reply reply;
  eventually(
      [&]() {
        reply = get("/v1/terminal/sessions/" + session + "?waitMs=1000", token);
        return reply.status != 200 || reply.at("/session/state") == "ended";
      },
      60);
  return reply;
}

Reply LiveBroker::outcome(const std::string& command, const std::string& token, const std::string& key) {
  const auto started = run(command, token, key);
  EXPECT_EQ(started.status, 201) << started.body;
  return ended(started.at("/session/id"), token);
}

Reply LiveBroker::untilOutput(const std::string& session, const std::string& text, const std::string& token) {
  Reply reply;
  EXPECT_TRUE(eventually([&]() {
    reply = get("/v1/terminal/sessions/" + session, token);
    return outputOf(reply).find(text) != std::string::npos;
  })) << reply.body;
  return reply;
}

std::string outputOf(const Reply& session) {
  return session.at("/session/output/text") + session.at("/session/output/head") +
         session.at("/session/output/tail");
}

}  // namespace factionos::test
