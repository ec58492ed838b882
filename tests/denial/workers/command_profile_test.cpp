// What a command can't do, in both kernel stories: each act is tried inside of the real profile, and outside
// as the control.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"

namespace factionos::test {
namespace {

class CommandProfile : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, CommandProfile, testing::Values(Story::kNamespaces, Story::kForbidden),
                         storyName);

// ---- files

TEST_P(CommandProfile, P8_ALinkOutOfTheWorkspaceLeadsNowhere) {
  Box box(GetParam());
  box.world().write(box.world().outside + "/secret", "canary");
  ASSERT_EQ(symlink((box.world().outside + "/secret").c_str(), (box.world().workspace + "/link").c_str()), 0);
  EXPECT_EQ(Box::control({"read", box.world().workspace + "/link"}), "ok");
  EXPECT_EQ(box.inside({"read", "link"}), box.hidden());
  EXPECT_EQ(box.broker.run(argv({"cat", "link"}, GetParam())).output.find("canary"), std::string::npos);
  box.world().write(box.world().workspace + "/own", "mine");
  EXPECT_EQ(box.inside({"read", "own"}), "ok");
}

TEST_P(CommandProfile, P14_OwnStateIsOutOfReach) {
  Box box(GetParam());
  box.world().write(box.world().home + "/state/broker.db", "canary");
  for (const char* file : {"/state/broker.db", "/tokens/operator", "/state/audit.log"}) {
    box.world().write(box.world().home + file, "canary");
    EXPECT_EQ(Box::control({"read", box.world().home + file}), "ok");
    EXPECT_EQ(box.inside({"read", box.world().home + file}), box.hidden()) << file;
    EXPECT_EQ(box.inside({"write", box.world().home + file}), box.hidden()) << file;
  }
  EXPECT_EQ(box.inside({"list", box.world().home}), box.hidden());
  EXPECT_EQ(World::read(box.world().home + "/state/broker.db"), "canary");
}

TEST_P(CommandProfile, NothingOutsideIsReadOrMade) {
  Box box(GetParam());
  box.world().write(box.world().outside + "/file", "canary");
  EXPECT_EQ(Box::control({"write", box.world().outside + "/file"}), "ok");
  EXPECT_EQ(box.inside({"read", box.world().outside + "/file"}), box.hidden());
  EXPECT_EQ(box.inside({"write", box.world().outside + "/new"}), box.hidden());
  EXPECT_EQ(box.inside({"mkdir", box.world().outside + "/directory"}), box.hidden());
  EXPECT_EQ(box.inside({"truncate", box.world().outside + "/file"}), box.hidden());
  EXPECT_EQ(box.inside({"list", box.world().scratch}), box.hidden());
  EXPECT_FALSE(World::exists(box.world().outside + "/new"));
  EXPECT_FALSE(World::exists(box.world().outside + "/directory"));
  EXPECT_NE(World::read(box.world().outside + "/file"), "");
}

TEST_P(CommandProfile, TheMachinesTmpIsNotTheCommands) {
  Box box(GetParam());
  const std::string file = "/tmp/factionos-canary-" + std::to_string(getpid());
  box.world().write(file, "canary");
  EXPECT_EQ(box.inside({"read", file}), box.hidden());
  const std::string made = "/tmp/factionos-made-" + std::to_string(getpid());
  EXPECT_EQ(box.inside({"write", made}), box.namespaces() ? "ok" : "EACCES");
  EXPECT_FALSE(World::exists(made));
  unlink(file.c_str());
}

TEST_P(CommandProfile, SystemDirectoriesAreReadOnly) {
  Box box(GetParam());
  EXPECT_EQ(box.inside({"read", "/etc/passwd"}), "ok");
  EXPECT_NE(box.inside({"write", "/usr/bin/factionos-made"}), "ok");
  EXPECT_NE(box.inside({"write", "/etc/factionos-made"}), "ok");
  EXPECT_NE(box.inside({"mkdir", "/factionos-made"}), "ok");
}

TEST_P(CommandProfile, AnotherSessionsFilesAreOutOfReach) {
  Box box(GetParam());
  const auto other =
      box.broker.start(shell("echo canary > $TMPDIR/mine; echo at $TMPDIR/mine; read go", GetParam()));
  other->expectOutput("mine\r\n");
  if (box.namespaces()) {
    EXPECT_EQ(box.inside({"read", "/tmp/mine"}), "ENOENT");
  } else {
    const auto scratch = std::filesystem::directory_iterator(box.world().scratch)->path().string();
    ASSERT_TRUE(World::exists(scratch + "/tmp/mine"));
    EXPECT_EQ(box.inside({"read", scratch + "/tmp/mine"}), "EACCES");
  }
  other->kill();
}

TEST_P(CommandProfile, OtherTerminalsAndThePtmxAreOutOfReach) {
  Box box(GetParam());
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_EQ(unlockpt(master), 0);
  const std::string terminal = ptsname(master);
  EXPECT_EQ(Box::control({"write", "/dev/ptmx"}), "ok");
  EXPECT_EQ(box.inside({"write", terminal}), "EACCES");
  EXPECT_EQ(box.inside({"write", "/dev/ptmx"}), "EACCES");
  EXPECT_NE(box.inside({"list", "/dev/pts"}), box.namespaces() ? "" : "ok");
  EXPECT_EQ(box.inside({"write", "/dev/tty"}).back(), 'k');
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    EXPECT_EQ(box.inside({"read", device}), "ok") << device;
  }
  close(master);
}

// ---- what others execute

class ProtectedPaths : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, ProtectedPaths, testing::Values(Story::kNamespaces), storyName);

TEST_P(ProtectedPaths, P10_GitCannotBeMovedOutOfTheWay) {
  Box box(GetParam());
  box.world().write(box.world().workspace + "/.git/hooks/pre-commit.sample", "#!/bin/sh\n", 0755);
  box.world().write(box.world().workspace + "/.git/config", "[core]\n");
  box.world().write(box.world().workspace + "/.git/index", "index");
  const Result result =
      box.broker.run(shell("mv .git .git2 && mkdir -p .git/hooks && echo moved", GetParam()));
  EXPECT_EQ(result.output.find("moved"), std::string::npos);
  EXPECT_TRUE(World::exists(box.world().workspace + "/.git/index"));
  EXPECT_FALSE(World::exists(box.world().workspace + "/.git2"));
  EXPECT_EQ(box.inside({"rename", ".git", ".git2"}), "EBUSY");
  EXPECT_EQ(box.inside({"write", ".git/hooks/pre-commit"}), "EROFS");
  EXPECT_EQ(box.inside({"write", ".git/config"}), "EROFS");
  EXPECT_EQ(box.inside({"rename", ".git/hooks", ".git/hooks2"}), "EBUSY");
  EXPECT_EQ(box.inside({"unlink", ".git/config"}), "EBUSY");
  EXPECT_EQ(box.inside({"write", ".git/index"}), "ok");
  EXPECT_FALSE(World::exists(box.world().workspace + "/.git/hooks/pre-commit"));
}

TEST_P(ProtectedPaths, P4_HooksNamedByConfigurationAreReadOnly) {
  Box box(GetParam());
  box.world().write(box.world().workspace + "/.git/config", "[core]\n\thooksPath = .githooks ; ours\n");
  box.world().write(box.world().workspace + "/.githooks/readme", "x");
  EXPECT_EQ(box.inside({"write", ".githooks/pre-commit"}), "EROFS");
  EXPECT_FALSE(World::exists(box.world().workspace + "/.githooks/pre-commit"));
}

TEST_P(ProtectedPaths, NoDirectoryOnTheWayCanBeMovedAside) {
  Box box(GetParam());
  const std::string& workspace = box.world().workspace;
  box.world().write(workspace + "/.git/config", "\xef\xbb\xbf[core]\nhooksPath = tools/git/hooks\n");
  box.world().write(workspace + "/tools/git/hooks/x", "x");
  box.world().write(workspace + "/.git/modules/lib/foo/config", "[core]\n");
  box.world().write(workspace + "/.git/modules/lib/foo/hooks/x", "x");
  EXPECT_EQ(box.inside({"write", "tools/git/hooks/pre-commit"}), "EROFS");
  EXPECT_EQ(box.inside({"write", ".git/modules/lib/foo/config"}), "EROFS");
  for (const std::string directory :
       {"tools", "tools/git", ".git/modules", ".git/modules/lib", ".git/modules/lib/foo"}) {
    // Beside it, so that only what the directory itself is can be in the way.
    const std::string plain = directory + "-plain";
    box.world().write(workspace + "/" + plain + "/x", "x");
    EXPECT_EQ(box.inside({"rename", directory, directory + "2"}), "EBUSY") << directory;
    EXPECT_EQ(box.inside({"exchange", plain, directory}), "EBUSY") << directory;
    EXPECT_EQ(box.inside({"rename", plain, directory}), "EBUSY") << directory;
    EXPECT_EQ(box.inside({"rmdir", directory}), "EBUSY") << directory;
    EXPECT_FALSE(World::exists(workspace + "/" + directory + "2"));
    EXPECT_EQ(box.inside({"rename", plain, directory + "2"}), "ok");  // the control
  }
  EXPECT_EQ(box.inside({"write", "tools/new"}), "ok");
  EXPECT_EQ(box.inside({"write", ".git/modules/lib/foo/index"}), "ok");
}

TEST_P(ProtectedPaths, NoOtherNameOfAProtectedFileCanBeMade) {
  Box box(GetParam());
  const std::string& workspace = box.world().workspace;
  box.world().write(workspace + "/.git/config", "[core]\n");
  box.world().write(workspace + "/.git/hooks/run", "x");
  box.world().write(workspace + "/.git/index", "x");
  box.world().write(workspace + "/.envrc", "x");
  box.world().write(workspace + "/.git/mine", "x");
  for (const char* file : {"config", "hooks"}) {
    const std::string path = ".git/" + std::string(file);
    EXPECT_EQ(box.inside({"rename", path, ".git/other"}), "EBUSY") << file;
    EXPECT_EQ(box.inside({"exchange", ".git/mine", path}), "EBUSY") << file;
  }
  EXPECT_EQ(box.inside({"rename", ".git/mine", ".git/config"}), "EBUSY");
  EXPECT_EQ(box.inside({"link", ".git/config", ".git/other"}), "EXDEV");
  EXPECT_EQ(box.inside({"link", ".envrc", "other"}), "EXDEV");
  EXPECT_EQ(box.inside({"link", ".git/hooks/run", ".git/run"}), "EXDEV");
  EXPECT_EQ(box.inside({"link", ".git/index", ".git/index2"}), "ok");  // the controls
  EXPECT_EQ(box.inside({"rename", ".git/mine", ".git/other"}), "ok");
}

TEST_P(ProtectedPaths, AgentsSettingsThatExistAreReadOnly) {
  Box box(GetParam());
  box.world().write(box.world().workspace + "/.claude/settings.json", "{}");
  box.world().write(box.world().workspace + "/.mcp.json", "{}");
  box.world().write(box.world().workspace + "/.envrc", "");
  EXPECT_EQ(box.inside({"write", ".claude/settings.json"}), "EROFS");
  EXPECT_EQ(box.inside({"write", ".claude/hooks.json"}), "EROFS");
  EXPECT_EQ(box.inside({"write", ".mcp.json"}), "EROFS");
  EXPECT_EQ(box.inside({"rename", ".envrc", "envrc"}), "EBUSY");
  EXPECT_EQ(box.inside({"write", "other.json"}), "ok");
}

TEST_P(ProtectedPaths, P11_NoGhostFileIsLeft) {
  Box box(GetParam());
  box.broker.run(argv({"true"}, GetParam()));
  const auto entries = std::filesystem::directory_iterator(box.world().workspace);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);  // the probe
}

TEST_P(ProtectedPaths, P12_AProtectedNameThatIsALinkDisturbsNothing) {
  Box box(GetParam());
  box.world().write(box.world().workspace + "/settings/real.json", "{}");
  ASSERT_EQ(symlink("settings", (box.world().workspace + "/.claude").c_str()), 0);
  ASSERT_EQ(symlink("/etc", (box.world().workspace + "/.codex").c_str()), 0);
  const Result result = box.broker.run(argv({"echo", "hi"}, GetParam()));
  EXPECT_EQ(result.output, "hi\r\n");
  EXPECT_EQ(box.inside({"rename", ".claude", "claude"}), "EACCES");
  EXPECT_EQ(box.inside({"unlink", ".claude"}), "EACCES");
  EXPECT_EQ(box.inside({"rename", "probe", ".codex"}), "EACCES");
  EXPECT_EQ(box.inside({"write", "settings/real.json"}), "EROFS");
}

// ---- sockets and networks

TEST_P(CommandProfile, P16_SocketsOfOthersAreOutOfReach) {
  Box box(GetParam());
  const std::string path = box.world().outside + "/engine.sock";
  const Listener engine(path);
  EXPECT_EQ(Box::control({"connect-path", path}), "ok");
  EXPECT_TRUE(engine.heard());
  EXPECT_EQ(box.inside({"connect-path", path}), box.hidden());
  EXPECT_EQ(box.inside({"connect-path", path}, schema::NetworkProfile::FULL), box.hidden());
  EXPECT_FALSE(engine.heard());
  EXPECT_EQ(box.inside({"socketpair"}), "ok");
}

// What systemd-run --user and D-Bus clients do: they ask a manager outside to start something for them.
TEST_P(CommandProfile, P17_NoManagerOutsideStartsAnything) {
  Box box(GetParam());
  std::filesystem::create_directories(box.world().outside + "/systemd");
  const std::string manager = box.world().outside + "/systemd/private";
  const Listener user(manager);
  const Listener bus(box.world().outside + "/bus");
  EXPECT_EQ(Box::control({"connect-path", manager}), "ok");
  EXPECT_TRUE(user.heard());
  for (const std::string& path : {manager, box.world().outside + "/bus"}) {
    EXPECT_EQ(box.inside({"connect-path", path}), box.hidden());
    EXPECT_EQ(box.inside({"connect-path", path}, schema::NetworkProfile::FULL), box.hidden());
  }
  EXPECT_FALSE(user.heard() || bus.heard());
  // And nothing tells where they would be.
  for (const char* name : {"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK"})
    EXPECT_EQ(box.inside({"variable", name}), "ENOENT") << name;
  EXPECT_EQ(box.inside({"variable", "HOME"}), "ok");
}

TEST_P(CommandProfile, P20_AbstractSocketsOfOthersAreOutOfReach) {
  Box box(GetParam());
  const std::string name = "factionos-" + std::to_string(getpid());
  const Listener listener("@" + name);
  EXPECT_EQ(Box::control({"connect-abstract", name}), "ok");
  EXPECT_TRUE(listener.heard());
  // In a network namespace of its own the name is not there; in the machine's, Landlock's scope refuses;
  // without a mount namespace there is no such socket to be had at all.
  EXPECT_EQ(box.inside({"connect-abstract", name}), box.namespaces() ? "ECONNREFUSED" : "EACCES");
  EXPECT_EQ(box.inside({"connect-abstract", name}, schema::NetworkProfile::FULL),
            box.namespaces() ? "EPERM" : "EACCES");
  EXPECT_FALSE(listener.heard());
}

TEST_P(CommandProfile, P24_NothingLeavesWithoutANetwork) {
  Box box(GetParam());
  const Listener tcp(SOCK_STREAM);
  const Listener udp(SOCK_DGRAM);
  EXPECT_EQ(Box::control({"connect-tcp", std::to_string(tcp.port)}), "ok");
  EXPECT_EQ(Box::control({"send-udp", std::to_string(udp.port)}), "ok");
  EXPECT_TRUE(tcp.heard());
  EXPECT_TRUE(udp.heard());
  EXPECT_EQ(box.inside({"connect-tcp", std::to_string(tcp.port)}), "EACCES");
  EXPECT_EQ(box.inside({"connect-mptcp", std::to_string(tcp.port)}), "EACCES");
  EXPECT_EQ(box.inside({"send-udp", std::to_string(udp.port)}), "EACCES");
  EXPECT_FALSE(tcp.heard());
  EXPECT_FALSE(udp.heard());
}

TEST_P(CommandProfile, P23_OddSocketFamiliesAreRefused) {
  Box box(GetParam());
  for (const auto network : {schema::NetworkProfile::NONE, schema::NetworkProfile::FULL}) {
    for (const Words& socket :
         {Words{"17", "3", "0"}, Words{"40", "1", "0"}, Words{"38", "5", "0"}, Words{"16", "3", "9"},
          Words{"2", "3", "1"}, Words{"2", "1", "262"}, Words{"2", "1", "132"}, Words{"44", "3", "0"}}) {
      Words words = socket;
      words.insert(words.begin(), "socket");
      EXPECT_EQ(box.inside(words, network), "EACCES") << socket.front() << " " << socket.back();
    }
  }
}

TEST_P(CommandProfile, TheWholeNetworkIsAllButTheApisOwnPort) {
  Box box(GetParam());
  const Listener service(SOCK_STREAM);
  const Listener api(SOCK_STREAM);
  const auto full = schema::NetworkProfile::FULL;
  EXPECT_EQ(box.inside({"connect-tcp", std::to_string(service.port)}, full, api.port), "ok");
  EXPECT_TRUE(service.heard());
  EXPECT_EQ(box.inside({"connect-tcp", std::to_string(api.port)}, full, api.port), "EACCES");
  EXPECT_EQ(box.inside({"fast-open", std::to_string(api.port)}, full, api.port), "EOPNOTSUPP");
  EXPECT_FALSE(api.heard());
  EXPECT_EQ(box.inside({"connect-tcp", std::to_string(api.port)}, full, 0), "ok");
}

TEST_P(CommandProfile, ALoopbackOfItsOwnReachesNobodyElse) {
  Box box(GetParam());
  CommandLine command = argv({"./probe", "nothing"}, GetParam());
  command.network = schema::NetworkProfile::LOOPBACK;
  if (!box.namespaces()) {
    EXPECT_EQ(box.broker.prepare(command).denial, "sandbox_unavailable/loopback_needs_network_namespace");
    return;
  }
  const Listener listener(SOCK_STREAM);
  EXPECT_EQ(box.inside({"connect-tcp", std::to_string(listener.port)}, schema::NetworkProfile::LOOPBACK),
            "ECONNREFUSED");
  EXPECT_FALSE(listener.heard());
  EXPECT_EQ(box.inside({"send-udp", "9"}, schema::NetworkProfile::LOOPBACK), "ok");
}

// ---- processes and the kernel

TEST_P(CommandProfile, P26_OtherProcessesAreOpaque) {
  Box box(GetParam());
  const auto sibling = box.broker.start(argv({"sleep", "1000"}, GetParam()));
  pid_t target = 0;
  for (const pid_t pid : descendants()) {
    if (nameOf(pid) == "sleep") target = pid;
  }
  ASSERT_NE(target, 0);
  const std::string own = std::to_string(getpid());
  const std::string other = std::to_string(target);
  EXPECT_EQ(Box::control({"read", "/proc/" + other + "/environ"}), "ok");
  for (const std::string& pid : {own, other}) {
    const std::string proc = "/proc/" + pid;
    EXPECT_EQ(box.inside({"read", proc + "/environ"}), box.namespaces() ? "ENOENT" : "EACCES");
    EXPECT_EQ(box.inside({"read", proc + "/mem"}), box.namespaces() ? "ENOENT" : "EACCES");
    EXPECT_EQ(box.inside({"kill", pid}), box.namespaces() ? "ESRCH" : "EPERM");
    EXPECT_EQ(box.inside({"ptrace", pid}), box.namespaces() ? "ESRCH" : "EPERM");
  }
  EXPECT_EQ(Box::control({"kill", other}), "ok");
  // Process 1: in its own namespace that is the keeper, which no signal of the command reaches.
  EXPECT_EQ(box.inside({"kill", "1"}), "EPERM");
  EXPECT_EQ(box.inside({"ptrace", "1"}), "EPERM");
  EXPECT_EQ(box.inside({"read", "/proc/1/environ"}), "EACCES");
  sibling->kill();
}

TEST_P(CommandProfile, LimitsAndPrioritiesOfOthersStay) {
  Box box(GetParam());
  const std::string own = std::to_string(getpid());
  EXPECT_EQ(Box::control({"limit-other", own, "look"}), "ok");
  EXPECT_EQ(box.inside({"limit-other", own}), "EPERM");
  EXPECT_EQ(box.inside({"limit-other", "1"}), "EPERM");
  EXPECT_EQ(box.inside({"limit-other", "0"}), "ok");
  EXPECT_EQ(box.inside({"slow-all"}), "EPERM");
  EXPECT_EQ(box.inside({"pin", "1"}), "EPERM");
  EXPECT_EQ(box.inside({"pin", "0"}), "ok");
}

TEST_P(CommandProfile, SharedIpcNeedsANamespace) {
  Box box(GetParam());
  EXPECT_EQ(Box::control({"shared-memory"}), "ok");
  EXPECT_EQ(box.inside({"shared-memory"}), box.namespaces() ? "ok" : "EPERM");
  EXPECT_EQ(box.inside({"line-discipline"}), "EPERM");
}

TEST_P(CommandProfile, TheKeeperAndTheSessionAreOutOfReach) {
  Box box(GetParam());
  const auto running = box.broker.start(
      shell("echo keeper $PPID; kill -9 $PPID; kill -STOP $PPID; echo survived", GetParam()));
  running->finish();
  EXPECT_NE(running->result.output.find("survived"), std::string::npos);
  EXPECT_EQ(running->result.reason, schema::EndReason::EXITED);
}

TEST_P(CommandProfile, P28_NobodyTypesIntoATerminal) {
  Box box(GetParam());
  EXPECT_EQ(box.inside({"tiocsti"}), "EPERM");
  EXPECT_EQ(box.inside({"tiocsti-high"}), "EPERM");
  EXPECT_EQ(box.inside({"tioclinux"}), "EPERM");
}

TEST_P(CommandProfile, P21_IoUringIsNotThere) {
  Box box(GetParam());
  EXPECT_EQ(box.inside({"io-uring"}), "ENOSYS");
}

TEST_P(CommandProfile, EscapesAreRefusedByErrno) {
  Box box(GetParam());
  const std::map<std::string, std::string> expected = {
      {"open-tree", "EPERM"}, {"unshare-user", "EPERM"}, {"clone-user", "EPERM"}, {"clone3", "ENOSYS"},
      {"bpf", "EPERM"},       {"keyctl", "EPERM"},       {"perf", "EPERM"},       {"userfaultfd", "EPERM"},
      {"handle", "EPERM"},    {"personality", "EPERM"}};
  for (const auto& [act, error] : expected) EXPECT_EQ(box.inside({act}), error) << act;
  EXPECT_EQ(box.inside({"mount", "/tmp"}), "EPERM");
  EXPECT_EQ(box.inside({"umount", "/tmp"}), "EPERM");
  if (hasNamespaces()) {
    EXPECT_EQ(Box::control({"unshare-user"}), "ok");
  }
  EXPECT_EQ(Box::control({"personality"}), "ok");
#ifdef __x86_64__
  // Where the kernel has no such entry the processor refuses it.
  EXPECT_EQ(box.inside({"int80"}), Box::control({"int80"}) == "ok" ? "ENOSYS" : "");
  EXPECT_EQ(box.inside({"x32"}), "ENOSYS");
#endif
}

// A secret in the command's line, environment and input: no command line on the machine shows it but that of
// the command itself.
TEST_P(CommandProfile, P27_NothingOfARequestShowsInAnyCommandLine) {
  Box box(GetParam());
  const std::string secret = "canary-" + std::to_string(getpid()) + "-of";  // of no other test that runs
  CommandLine command =
      shell(": " + secret + "-line; echo $TOKEN; while read -r line; do :; done", GetParam());
  command.environment = {"TOKEN=" + secret + "-variable"};
  const auto running = box.broker.start(command);
  running->expectOutput(secret + "-variable");
  EXPECT_EQ(running->input(secret + "-input\n"), "");
  const auto ours = descendants();
  unsigned seen = 0;
  bool readable = false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    const std::string line = World::read("/proc/" + name + "/cmdline");
    const bool below = std::find(ours.begin(), ours.end(), pid) != ours.end();
    const auto program = nameOf(pid);
    const bool ofOurs = program == "launcher" || program == "session" || program == "keeper" ||
                        program == "gofer" || program == "pty";
    if (below && !ofOurs) {
      EXPECT_EQ(line.find(secret + "-variable"), std::string::npos) << program;
      EXPECT_EQ(line.find(secret + "-input"), std::string::npos) << program;
      readable = readable || line.find(secret + "-line") != std::string::npos;
      continue;  // the command, whose line is its own
    }
    ++seen;
    EXPECT_EQ(line.find(secret), std::string::npos) << program;
    if (below) {
      EXPECT_EQ(line.find(box.world().workspace), std::string::npos) << program;
    }
  }
  EXPECT_TRUE(readable) << "the control: a line that holds it is found";
  EXPECT_GT(seen, 2U);  // launcher, session and pty worker at least
  running->kill();
  running->finish();
}

}  // namespace
}  // namespace factionos::test
