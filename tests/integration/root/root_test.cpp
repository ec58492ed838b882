#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http.h"
#include "process.h"
#include "tests/absent.h"

namespace factionos::test {
namespace {

// A home of the ordinary user in a place that it owns; every product command runs as that user, the test
// itself stays root.
class RootTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      ASSERT_FALSE(mustHaveAll() && std::getenv("FACTIONOS_ORDINARY_USER") == nullptr) << "needs root";
      GTEST_SKIP() << "needs root: it mounts, traces and becomes other users";
    }
    const char* name = std::getenv("FACTIONOS_TEST_USER");
    user_ = name != nullptr ? name : "nobody";
    const auto* entry = ::getpwnam(user_.c_str());
    ASSERT_NE(entry, nullptr) << user_;
    uid_ = entry->pw_uid;
    gid_ = entry->pw_gid;
    userHome_ = entry->pw_dir;
    std::string pattern = "/var/tmp/factionos-root.XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    ::chmod(root_.c_str(), 0755);
    home_ = root_ + "/home";
    workspace_ = root_ + "/ws";
    ::mkdir(workspace_.c_str(), 0755);
    ASSERT_EQ(::chown(root_.c_str(), uid_, gid_) + ::chown(workspace_.c_str(), uid_, gid_), 0);
  }

  void TearDown() override {
    if (broker_) {
      broker_->signal(SIGTERM);
      broker_->finish();
    }
    if (mounted_) ::umount2(home_.c_str(), MNT_DETACH);
    std::error_code error;
    if (!root_.empty()) std::filesystem::remove_all(root_, error);
  }

  std::vector<std::string> environment() const {
    return {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + userHome_,
            "FACTIONOS_HOME=" + home_, "LANG=C.UTF-8"};
  }

  std::vector<std::string> asUser(std::vector<std::string> arguments, const std::string& user = {}) const {
    std::vector<std::string> all{"setpriv", "--reuid=" + (user.empty() ? user_ : user),
                                 "--regid=" + std::to_string(gid_), "--clear-groups", "--"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }

  Finished cli(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), FACTIONOS_CLI);
    return runProcess(asUser(arguments), environment(), root_);
  }

  void makeHome() {
    const auto made = cli({"init", "--no-passphrase"});
    ASSERT_EQ(made.status, 0) << made.err;
    const auto added = cli({"workspace", "add", "demo", workspace_});
    ASSERT_EQ(added.status, 0) << added.err;
  }

  void serve(std::vector<std::string> before = {}) {
    auto arguments = before;
    arguments.insert(arguments.end(),
                     {FACTIONOS_CLI, "serve", "--user", user_, "--listen", "127.0.0.1:0", "--print-address"});
    broker_ = std::make_unique<Process>(arguments, environment(), root_);
    const auto line = broker_->waitForLine("127.0.0.1:");
    ASSERT_FALSE(line.empty()) << broker_->err();
    port_ = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
    ASSERT_TRUE(eventually([this]() { return request(port_, "GET", "/healthz", "", {}).status == 200; }));
  }

  std::string token() {
    const auto made = cli({"token", "create", "agent", "--scope", "read,propose"});
    EXPECT_EQ(made.status, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }

  Reply post(const std::string& target, const std::string& body, const std::string& token,
             const std::string& key) const {
    return request(port_, "POST", target, body,
                   {{"Authorization", "Bearer " + token}, {"Idempotency-Key", key}});
  }
  Reply get(const std::string& target, const std::string& token) const {
    return request(port_, "GET", target, "", {{"Authorization", "Bearer " + token}});
  }

  Reply runTrue(const std::string& token, const std::string& key) {
    const std::string command = R"({"workspace":"demo","command":["true"])";
    const auto proposed = post("/v1/terminal/run", command + "}", token, key);
    EXPECT_EQ(proposed.status, 202) << proposed.body;
    const auto id = proposed.at("/action/id");
    EXPECT_EQ(cli({"approve", id, "--revision", "1", "--yes"}).status, 0);
    return post("/v1/terminal/run",
                command + R"(,"approval":{"actionId":")" + id + R"(","expectedRevision":2}})", token, key);
  }

  // The processes of the tree by program name.
  pid_t processOf(const std::string& name) const {
    for (const auto pid : descendants(broker_->pid())) {
      if (readFile("/proc/" + std::to_string(pid) + "/comm") == name + "\n") return pid;
    }
    return 0;
  }

  std::string user_, userHome_, root_, home_, workspace_;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  std::uint16_t port_ = 0;
  bool mounted_ = false;
  std::unique_ptr<Process> broker_;
};

TEST_F(RootTest, TheBrokerRefusesToRunAsRoot) {
  makeHome();
  const auto refused = runProcess({FACTIONOS_CLI, "serve", "--listen", "127.0.0.1:0"}, environment(), root_);
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("--user"), std::string::npos) << refused.err;
  EXPECT_EQ(runProcess({FACTIONOS_CLI, "serve", "--user", "root"}, environment(), root_).status, 2);
}

TEST_F(RootTest, StartedAsRootItDropsAtOnceAndEveryProcessIsTheUsers) {
  makeHome();
  serve();
  const auto token = this->token();
  ASSERT_EQ(runTrue(token, "k1").status, 201);
  auto all = descendants(broker_->pid());
  all.push_back(broker_->pid());
  ASSERT_GE(all.size(), 3U);
  for (const auto pid : all) {
    std::istringstream status(readFile("/proc/" + std::to_string(pid) + "/status"));
    for (std::string line; std::getline(status, line);) {
      const auto id = "\t" + std::to_string(uid_);
      if (line.starts_with("Uid:")) {
        EXPECT_EQ(line, "Uid:" + id + id + id + id);
      } else if (line.starts_with("CapEff:") || line.starts_with("CapPrm:")) {
        EXPECT_EQ(line.substr(8), "0000000000000000") << pid;
      } else if (line.starts_with("NoNewPrivs:")) {
        EXPECT_EQ(line, "NoNewPrivs:\t1") << pid;
      } else if (line.starts_with("Seccomp:")) {
        EXPECT_EQ(line, "Seccomp:\t2") << pid;
      } else if (line.starts_with("Groups:")) {
        EXPECT_EQ(line.find("\t0 "), std::string::npos);
      }
    }
  }
}

TEST_F(RootTest, NoProcessHoldsAForeignDescriptor) {
  makeHome();
  serve();
  const auto token = this->token();
  // A session that lasts, so that its supervisor and pty worker can be looked at.
  const std::string command = R"({"workspace":"demo","command":["sleep","1000"])";
  const auto id = post("/v1/terminal/run", command + "}", token, "k1").at("/action/id");
  ASSERT_EQ(cli({"approve", id, "--revision", "1", "--yes"}).status, 0);
  ASSERT_EQ(post("/v1/terminal/run",
                 command + R"(,"approval":{"actionId":")" + id + R"(","expectedRevision":2}})", token, "k1")
                .status,
            201);
  for (const std::string name : {"launcher", "front", "pty", "session"}) {
    const auto pid = processOf(name);
    ASSERT_NE(pid, 0) << name;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
      std::error_code error;
      const auto target = std::filesystem::read_symlink(entry.path(), error).string();
      if (error) continue;
      EXPECT_EQ(target.find(home_ + "/"), std::string::npos) << name << " holds " << target;
      const bool own = target == "/dev/null" || target.starts_with("socket:") ||
                       target.starts_with("pipe:") || target.starts_with("anon_inode:");
      const bool scope = name == "session" || name == "launcher" || target.starts_with("/dev/pts/ptmx") ||
                         target.starts_with("/dev/ptmx");
      EXPECT_TRUE(own || scope) << name << " holds " << target;
    }
  }
}

TEST_F(RootTest, TheBrokerNeverExecutesAnythingAfterItsStart) {
  makeHome();
  const auto trace = root_ + "/trace";
  serve({"strace", "-f", "-qq", "-e", "trace=execve,execveat,fork,vfork,clone,clone3", "-e", "signal=none",
         "-o", trace});
  const auto token = this->token();
  ASSERT_EQ(runTrue(token, "k1").status, 201);
  // The broker is strace's child that runs factionosd.
  pid_t broker = 0;
  for (const auto pid : descendants(broker_->pid())) {
    if (readFile("/proc/" + std::to_string(pid) + "/comm") == "factionosd\n") broker = pid;
  }
  ASSERT_NE(broker, 0);
  ::kill(broker, SIGTERM);
  broker_->finish();
  broker_.reset();
  std::istringstream lines(readFile(trace));
  int executed = 0;
  int forked = 0;
  bool control = false;
  for (std::string line; std::getline(lines, line);) {
    const bool ours = line.starts_with(std::to_string(broker) + " ");
    if (ours && line.find("exec") != std::string::npos && line.find("= 0") != std::string::npos) ++executed;
    // A call that another process's line interrupts is told twice; its second half ("resumed") has no
    // arguments.
    const bool starts = line.find("clone(") != std::string::npos ||
                        line.find("clone3(") != std::string::npos || line.find("fork(") != std::string::npos;
    if (ours && starts && line.find("CLONE_THREAD") == std::string::npos &&
        line.find("ENOSYS") == std::string::npos)
      ++forked;
    if (line.find("execveat(") != std::string::npos || line.find("/pty\"") != std::string::npos)
      control = true;
  }
  EXPECT_EQ(executed, 2) << "the CLI, which becomes factionosd; nothing after";
  EXPECT_EQ(forked, 1) << "the launcher alone";
  EXPECT_TRUE(control) << "the same trace shows others that do execute";
}

TEST_F(RootTest, F6_AnotherUserIsRefusedByItsPeerCredentialsEvenOnALooseSocket) {
  makeHome();
  serve();
  for (const auto& path : {home_, home_ + "/run"}) ::chmod(path.c_str(), 0755);
  for (const auto* name : {"/run/api.sock", "/run/operator.sock"}) ::chmod((home_ + name).c_str(), 0666);
  const std::string program =
      "import socket,sys\n"
      "s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
      "s.sendall(b'GET /v1/diagnostics HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n')\n"
      "print(s.recv(100).split(b' ')[1].decode())\n";
  const auto foreign = runProcess({"setpriv", "--reuid=54399", "--regid=54399", "--clear-groups", "--",
                                   "python3", "-c", program, home_ + "/run/api.sock"},
                                  environment(), root_);
  EXPECT_EQ(foreign.out, "403\n") << foreign.err;
  const auto own =
      runProcess(asUser({"python3", "-c", program, home_ + "/run/api.sock"}), environment(), root_);
  EXPECT_EQ(own.out, "200\n") << own.err;
}

TEST_F(RootTest, InSystemModeListedUsersAskAndTheBrokersUserApproves) {
  constexpr const char* kSockets = "/run/factionos";
  if (std::filesystem::exists(kSockets))
    GTEST_SKIP() << "an installed FactionOS uses /run/factionos on this machine";
  makeHome();
  auto config = readFile(home_ + "/config.toml");
  config += "\n[[principal]]\nname = \"ana\"\nuid = 54388\nscopes = [\"read\", \"propose\"]\n";
  const auto group = std::string(::getgrgid(gid_)->gr_name);
  config.insert(0, "mode = \"system\"\ngroup = \"" + group + "\"\n");
  writeFile(home_ + "/config.toml", config);
  ::mkdir(kSockets, 0750);
  ASSERT_EQ(::chown(kSockets, uid_, gid_), 0);
  serve();
  const auto as = [this](const std::string& uid, std::vector<std::string> arguments) {
    std::vector<std::string> all{
        "setpriv", "--reuid=" + uid, "--regid=" + std::to_string(gid_), "--clear-groups",
        "--",      FACTIONOS_CLI};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  };
  EXPECT_EQ(runProcess(as("54389", {"status"}), environment(), root_).status, 3)
      << "an unlisted uid is refused";
  const auto status = runProcess(as("54388", {"status", "--json"}), environment(), root_);
  EXPECT_NE(status.out.find("\"approvalSeparation\":\"separate_uid\""), std::string::npos)
      << status.out << status.err;
  Process run(as("54388", {"run", "--workspace", "demo", "--", "sh", "-c", "exit 6"}), environment(), root_);
  const auto line = run.waitForLine("factionos approve act_");
  ASSERT_FALSE(line.empty()) << run.err();
  const auto id = line.substr(line.find("act_"), 30);
  EXPECT_EQ(cli({"approve", id, "--revision", "1", "--yes"}).status, 0);
  EXPECT_EQ(run.finish().status, 6);
  std::filesystem::remove_all(kSockets);
}

TEST_F(RootTest, D7_AFullDiskRefusesActionsAndHealsWithoutARestart) {
  ::mkdir(home_.c_str(), 0700);
  ASSERT_EQ(
      ::mount("tmpfs", home_.c_str(), "tmpfs", 0,
              ("size=6m,mode=700,uid=" + std::to_string(uid_) + ",gid=" + std::to_string(gid_)).c_str()),
      0);
  mounted_ = true;
  makeHome();
  serve();
  const auto token = this->token();
  ASSERT_EQ(runTrue(token, "k1").status, 201);
  // As root, so that nothing is left at all.
  const auto filler = home_ + "/spool/filler";
  runProcess({"dd", "if=/dev/zero", "of=" + filler, "bs=4k"}, environment(), root_);
  Reply refused;
  ASSERT_TRUE(eventually([&]() {
    static int number = 0;
    refused = post("/v1/terminal/run", R"({"workspace":"demo","command":["true"]})", token,
                   "full-" + std::to_string(++number));
    return refused.status == 503;
  })) << refused.body;
  EXPECT_TRUE(refused.code() == "audit_unavailable" || refused.code() == "state_unavailable") << refused.body;
  EXPECT_EQ(get("/healthz", token).status, 200);
  EXPECT_TRUE(eventually([&]() { return get("/v1/diagnostics", token).status == 200; }));
  std::filesystem::remove(filler);
  EXPECT_TRUE(eventually([&]() { return runTrue(token, "again").status == 201; })) << "without a restart";
  EXPECT_EQ(cli({"audit", "verify"}).status, 0);
}

}  // namespace
}  // namespace factionos::test
