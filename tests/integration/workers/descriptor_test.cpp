// Nobody holds a descriptor that is not its own, and none is left behind.
#include <filesystem>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include "harness.h"

namespace factionos::test {
namespace {

std::size_t countOf(pid_t pid) {
  std::size_t count = 0;
  std::error_code ignored;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", ignored))
    ++count;
  return count;
}

TEST(Descriptors, ACommandHasItsTerminalAlone) {
  Broker broker;
  for (const Story story : {Story::kNamespaces, Story::kForbidden}) {
    // The fourth is ls's own, on the directory that it lists.
    const Result result = broker.run(argv({"ls", "/proc/self/fd"}, story));
    EXPECT_EQ(result.output, "0  1  2  3\r\n");
  }
}

TEST(Descriptors, AScriptHasItselfBesides) {
  Broker broker;
  broker.world.write(broker.world.workspace + "/script",
                     "#!/bin/sh\nfor f in /proc/$$/fd/*; do readlink $f; done\n", 0755);
  const std::string output = broker.run(argv({"./script"})).output;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const bool own = line.starts_with("/dev/pts/") || line == broker.world.workspace + "/script\r";
    EXPECT_TRUE(own) << line;
  }
}

// Kinds of what a worker may hold: /dev/null on 0 to 2, its line, its events, and what its loop made. A
// session has its workspace, the slave side of its terminal and its keeper's line besides; a keeper neither
// line nor loop.
using Kinds = std::map<std::string, int>;

Kinds kindsOf(pid_t pid) {
  const std::optional<std::vector<std::string>> descriptors = descriptorsOf(pid);
  if (!descriptors) return {};
  Kinds kinds;
  for (const std::string& line : *descriptors) {
    std::string target = line.substr(line.find(' ') + 1);
    if (const std::size_t bracket = target.find(":["); bracket != std::string::npos) target.resize(bracket);
    if (target.starts_with("/dev/pts/")) target = "/dev/pts";
    ++kinds[target];
  }
  return kinds;
}

// A capability that is dropped takes its descriptor along, one message later.
Kinds settledKindsOf(Broker& broker, pid_t pid, const Kinds& expected) {
  for (int i = 0; i < 200 && kindsOf(pid) != expected; ++i) {
    broker.wait(broker.loop.timer().afterDelay(10 * kj::MILLISECONDS));
  }
  return kindsOf(pid);
}

TEST(Descriptors, EveryProcessHoldsItsOwnAlone) {
  if (!descriptorsOf(getpid()))
    GTEST_SKIP() << "our workers are not dumpable: only root can list what they hold";
  Broker broker;
  const auto running = broker.start(shell("echo ready; read go"));
  running->expectOutput("ready");
  unsigned seen = 0;
  for (const pid_t pid : descendants()) {
    const std::string name = nameOf(pid);
    Kinds expected;
    // anon_inode: two epoll sets and an eventfd of the loop, a signalfd, and from the session on the eventfd
    // that tells of denials. pipe: the events, and four ends of libuv's own.
    if (pid == broker.launcherPid) {
      expected = {{"/dev/null", 3}, {broker.world.home, 1}, {FACTIONOS_LIBEXEC, 1}, {"anon_inode", 4},
                  {"pipe", 8},      {"socket", 3}};
    } else if (name == "spare") {
      expected = {{"/dev/null", 3}, {"anon_inode", 4}, {"pipe", 5}, {"socket", 1}};
    } else if (name == "pty") {
      expected = {{"/dev/null", 3}, {"/dev/ptmx", 1}, {"anon_inode", 3}, {"pipe", 5}, {"socket", 1}};
    } else if (name == "session") {
      expected = {{"/dev/null", 3},  {"/dev/pts", 1}, {broker.world.workspace, 1},
                  {"anon_inode", 4}, {"pipe", 5},     {"socket", 2}};
    } else if (name == "keeper") {
      expected = {{"/dev/null", 3}, {"anon_inode", 1}, {"pipe", 1}, {"socket", 1}};
      // Without a private /tmp it empties the session's own, where that lies.
      if (!hasNamespaces()) expected[broker.world.scratch] = 1;
    } else if (name == "gofer") {
      expected = {{"/dev/null", 3}, {"anon_inode", 1}, {"anon_inode:seccomp notify", 1}, {"pipe", 1}};
      // What it may ask of the machine's files.
      const passwd* const user = getpwuid(getuid());
      if (hasNamespaces() && user != nullptr && access(user->pw_dir, F_OK) == 0) ++expected[user->pw_dir];
      if (hasNamespaces()) expected.insert({{"/", 1}, {broker.world.home, 1}});
    } else {
      continue;  // the command
    }
    ++seen;
    EXPECT_EQ(settledKindsOf(broker, pid, expected), expected) << name;
  }
  EXPECT_EQ(seen, 6U);
  running->kill();
}

class ManySessions : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, ManySessions, testing::Values(Story::kNamespaces, Story::kForbidden),
                         storyName);

TEST_P(ManySessions, P34_LeaveNoDescriptorAndNoProcessBehind) {
  Broker broker;
  broker.run(argv({"true"}));
  const std::size_t own = countOf(getpid());
  for (int i = 0; i < 220; ++i) {
    const Result result = broker.run(argv({"true"}, GetParam()));
    ASSERT_EQ(result.denial, "") << i;
    ASSERT_EQ(result.code, 0) << i << " " << static_cast<int>(result.reason) << " " << result.signal;
  }
  const auto spareAlone = [&]() {
    const std::vector<pid_t> children = childrenOf(broker.launcherPid);
    return children.size() == 1 && nameOf(children.front()) == "spare";
  };
  const auto settled = [&]() { return countOf(getpid()) <= own && spareAlone(); };
  for (int i = 0; i < 500 && !settled(); ++i)
    broker.wait(broker.loop.timer().afterDelay(10 * kj::MILLISECONDS));
  EXPECT_LE(countOf(getpid()), own);
  EXPECT_TRUE(spareAlone());
  const auto held = descriptorsOf(broker.launcherPid);
  // 0 to 2; line, events, home; programs; the loop's four; four of libuv's pipes; line and events of the
  // spare.
  if (held) {
    EXPECT_EQ(held->size(), 3U + 3U + 1U + 4U + 4U + 2U);
  }
}

}  // namespace
}  // namespace factionos::test
