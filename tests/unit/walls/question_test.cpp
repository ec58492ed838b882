// What an operator types, and what is printed in answer.
#include "broker/walls/question.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "broker/walls/answer_text.h"
#include "sandbox/descriptors.h"

namespace factionos::walls {
namespace {

namespace explain = sandbox::explain;
namespace fs = std::filesystem;

session::CommandScope scope() {
  session::CommandScope command;
  command.workspace = "/srv/demo";
  command.temporary = "/tmp";
  command.home = "/tmp/.home";
  command.terminal = "/dev/pts/session";
  return command;
}

TEST(Question, APathIsMeantFromTheWorkspace) {
  EXPECT_EQ(fileTarget("a/b", scope()), "/srv/demo/a/b");
  EXPECT_EQ(fileTarget("/etc/passwd", scope()), "/etc/passwd");
  EXPECT_EQ(fileTarget("$HOME/x", scope()), "/tmp/.home/x");
  EXPECT_EQ(fileTarget("$TMPDIR", scope()), "/tmp");
  EXPECT_EQ(fileTarget("$HOMELESS", scope()), "/srv/demo/$HOMELESS");
  EXPECT_EQ(fileTarget("", scope()), std::nullopt);
  EXPECT_EQ(fileTarget(std::string_view("a\0b", 3), scope()), std::nullopt);
}

TEST(Question, APeerIsAnAddressAPathOrAName) {
  const auto tcp = peerTarget("tcp:4519", scope());
  ASSERT_TRUE(tcp);
  EXPECT_EQ(std::get<explain::TcpPort>(*tcp).port, 4519);
  EXPECT_TRUE(std::get<explain::TcpPort>(*tcp).loopback);
  const auto far = peerTarget("tcp:192.0.2.1:443", scope());
  ASSERT_TRUE(far);
  EXPECT_FALSE(std::get<explain::TcpPort>(*far).loopback);
  const auto six = peerTarget("udp:[::1]:53", scope());
  ASSERT_TRUE(six);
  EXPECT_TRUE(std::get<explain::UdpPort>(*six).version6);
  const auto path = peerTarget("unix:run/sock", scope());
  ASSERT_TRUE(path);
  EXPECT_EQ(std::get<explain::UnixPath>(*path).path, "/srv/demo/run/sock");
  const auto name = peerTarget("unix:@x", scope());
  ASSERT_TRUE(name);
  EXPECT_EQ(std::get<explain::AbstractName>(*name).name, "x");
  for (const char* wrong :
       {"", "80", "tcp:", "tcp:x", "tcp:65536", "tcp:host:80", "tcp:1:2:3", "unix:", "ftp:21", "tcp:80 "})
    EXPECT_FALSE(peerTarget(wrong, scope())) << wrong;
}

class Asked : public testing::Test {
 protected:
  Asked() {
    char pattern[] = "/tmp/factionos-asked-XXXXXX";
    root_ = fs::canonical(mkdtemp(pattern));
    fs::create_directories(root_ / ".git/hooks");
    fs::create_directories(root_ / "tools/canary");
    std::ofstream(root_ / ".git/config") << "[core]\n\thooksPath = tools/canary\n";
    std::ofstream(root_ / "tools/canary/x") << "x";
    std::ofstream(root_ / "file") << "x";
    handle_ = sandbox::Fd(open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    world_.workspace = root_;
    world_.workspaceHandle = handle_.get();
    world_.landlockAbi = 7;
  }
  ~Asked() override { fs::remove_all(root_); }

  explain::Answer file(const char* profile, explain::Operation operation, const std::string& target) {
    const walls::Question question = ask(*findProfile(profile), world_);
    return explain::Explainer(question.scene).file(operation, *fileTarget(target, question.command));
  }

  fs::path root_;
  sandbox::Fd handle_;
  World world_;
};

TEST_F(Asked, EachKindOfRuleIsNamed) {
  using explain::Layer;
  using explain::Operation;
  const auto read = file("command", Operation::kRead, "file");
  EXPECT_EQ(verdictOf(read), Verdict::kAllowed);
  EXPECT_EQ(read.layer, Layer::kLandlock);
  EXPECT_NE(read.rule.find("the workspace"), std::string::npos);
  EXPECT_TRUE(file("command", Operation::kExecute, "/usr/bin/env").rule.starts_with("/usr: "));
  const auto guarded = file("command", Operation::kCreate, ".git/hooks/new");
  EXPECT_EQ(verdictOf(guarded), Verdict::kDenied);
  EXPECT_EQ(guarded.layer, Layer::kMounts);
  EXPECT_EQ(guarded.error, EROFS);
  EXPECT_EQ(guarded.rule, "mounted read-only: the protected .git/hooks");
  EXPECT_EQ(file("command", Operation::kWrite, "tools/canary/x").rule, "mounted read-only: a protected path");
  const auto kept = file("command-plain", Operation::kCreate, ".git/hooks/new");
  EXPECT_EQ(verdictOf(kept), Verdict::kDenied);
  EXPECT_EQ(kept.layer, Layer::kSupervisor);
  EXPECT_EQ(kept.error, EACCES);
  EXPECT_EQ(file("command", Operation::kCreate, ".envrc").layer, Layer::kSupervisor);
  EXPECT_EQ(verdictOf(file("command-plain", Operation::kCreate, "notes")), Verdict::kAllowed);
  EXPECT_EQ(file("command", Operation::kRead, "/var/log").layer, Layer::kMounts);
  EXPECT_EQ(file("command-plain", Operation::kRead, "/var/log").layer, Layer::kLandlock);
  EXPECT_EQ(verdictOf(file("command", Operation::kRead, "none")), Verdict::kFails);
#ifndef FACTIONOS_SANITIZED  // its run-time opens files
  const auto trapped = file("pty", Operation::kRead, "file");
  EXPECT_TRUE(trapped.ends);
  EXPECT_EQ(trapped.layer, Layer::kSeccomp);
#endif
}

// SPEC 7: a person's paths are on no screen, nor what was asked about.
TEST_F(Asked, NoPathOfAPersonIsPrinted) {
  using explain::Operation;
  for (const char* profile : {"command", "command-plain"}) {
    for (const char* target : {"file", ".git/hooks/new", "none", "$TMPDIR/x", "../canary", "tools/canary/new",
                               "/var/log/canary"}) {
      for (const Operation operation : {Operation::kRead, Operation::kCreate, Operation::kExecute}) {
        const auto answer = file(profile, operation, target);
        for (const std::string& text : {asText(answer), asJson(answer)}) {
          EXPECT_EQ(text.find(root_.filename().string()), std::string::npos) << text;
          EXPECT_EQ(text.find("canary"), std::string::npos) << text;
        }
      }
    }
  }
}

TEST(Answer, SaysWhatTheProcessSees) {
  EXPECT_EQ(asText({.allowed = true}), "allowed\n  no rule is against it\n");
  EXPECT_EQ(asText({.error = EACCES, .layer = explain::Layer::kLandlock, .rule = "r", .reason = "w"}),
            "denied (EACCES)\n  by    landlock\n  rule  r\n  why   w\n");
  EXPECT_EQ(asJson({.ends = true, .layer = explain::Layer::kSeccomp, .rule = "r", .reason = "w"}),
            "{\"verdict\":\"denied\",\"seen\":\"it is "
            "ended\",\"layer\":\"seccomp\",\"rule\":\"r\",\"reason\":\"w\"}\n");
}

}  // namespace
}  // namespace factionos::walls
