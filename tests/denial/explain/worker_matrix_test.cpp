// The same for our own processes: each cell is one call of a fresh child inside of the profile.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/walls/question.h"
#include "matrix_world.h"
#include "sandbox/landlock.h"
#include "tests/unit/sandbox/sandboxed_child.h"
#include "workers/session/protected_paths.h"

namespace factionos::test {
namespace {

namespace explain = sandbox::explain;
using explain::Operation;

constexpr int kNotBack = -1;  // the process did not return from the act: it became another program, or ended

long opened(const std::string& path, int flags) {
  return syscall(SYS_openat, AT_FDCWD, path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
}

long connectedTo(const std::string& path) {
  const long socket = syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const bool abstract = path.front() == '@';
  const std::string name = abstract ? path.substr(1) : path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + (abstract ? 1 : 0), name.data(), name.size());
  return syscall(SYS_connect, socket, &address, offsetof(sockaddr_un, sun_path) + name.size() + 1);
}

long act(const std::string& operation, const std::string& target) {
  if (operation == "read") return opened(target, O_RDONLY);
  if (operation == "write") return opened(target, O_WRONLY);
  if (operation == "create") return opened(target, O_WRONLY | O_CREAT | O_EXCL);
  if (operation == "connect") return connectedTo(target);
  const char* const words[] = {target.c_str(), nullptr};
  return syscall(SYS_execve, target.c_str(), words, nullptr);
}

// What a gofer is entered in: the command's namespaces, as its keeper enters them, and the child of it that
// is within its pid namespace. The process that called ends as that child does.
sandbox::NamespacePosture enterAsKeeper(const walls::Profile& profile,
                                        const sandbox::NamespaceSupport& support) {
  const sandbox::NamespacePosture given = sandbox::enterNamespaces(profile.namespaces(), support);
  if (!given.pid) return given;
  const pid_t child = fork();
  if (child == 0) return given;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}

class WorkerMatrix : public testing::TestWithParam<const char*> {};

TEST_P(WorkerMatrix, EveryAnswerIsTheKernels) {
  SKIP_IF_SANITIZED();
  const World files;
  const MatrixWorld matrix(files);
  const walls::Profile* const profile = walls::findProfile(GetParam());
  ASSERT_NE(profile, nullptr);
  const sandbox::Fd home(open(files.home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  walls::World world;
  world.workspace = files.workspace;
  const sandbox::Fd workspace(open(files.workspace.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  world.workspaceHandle = workspace.get();
  world.scratch = files.scratch;
  world.support = sandbox::probeNamespaces();
  world.landlockAbi = sandbox::landlockAbi();
  world.home = home.get();
  const bool isGofer = profile->role == "gofer";
  walls::Question question = walls::ask(*profile, world);
  const explain::Explainer explainer(std::move(question.scene));
  question.command.terminal = "/dev/null";
  // What a session finds, and not what the question made of it.
  const auto protectedPaths = session::findProtected(workspace.get()).present;
  if (isGofer) {
    for (const std::string& own : {question.command.temporary, question.command.home})
      if (own.starts_with(files.scratch)) std::filesystem::create_directories(own);
  }

  const auto tried = [&](const std::string& operation, const std::string& target) {
    return sandbox::testing::inChild([&](sandbox::testing::Notes& notes) {
      notes.numbers[0] = kNotBack;
      walls::Scene scene;
      scene.support = world.support;
      scene.landlockAbi = world.landlockAbi;
      if (profile->namespaces != nullptr) scene.namespaces = enterAsKeeper(*profile, world.support);
      scene.command = question.command;
      scene.command.protectedPaths.clear();
      if (scene.namespaces.mount) scene.command.protectedPaths = protectedPaths;
      scene.home = open(files.home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
      scene.children = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      scene.programs = open("/usr/bin", O_PATH | O_DIRECTORY | O_CLOEXEC);
      scene.workspace = open(files.workspace.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
      scene.keep = {
          0, 1, 2, sandbox::kEventDescriptor, scene.home, scene.children, scene.programs, scene.workspace};
      sandbox::Policy policy = profile->policy(scene);
      policy.keep.insert(policy.keep.end(), scene.keep.begin(), scene.keep.end());
      if (isGofer) {
        sandbox::enterInside(policy, scene.namespaces);
      } else {
        sandbox::enter(policy);
      }
      const long returned = act(operation, target);
      notes.numbers[0] = returned < 0 ? errno : 0;
      return 0;
    });
  };
  const auto compare = [&](const std::string& operation, const std::string& target,
                           const explain::Answer& answer) {
    const sandbox::testing::Outcome outcome = tried(operation, target);
    const std::string cell = operation + " " + target + ": " + answer.rule + ": " + answer.reason;
    ASSERT_NE(outcome.exitStatus, sandbox::testing::kSetupFailed) << cell;
    const bool ended = outcome.signal == SIGSYS || outcome.exitStatus == sandbox::kTrapExitStatus;
    EXPECT_EQ(answer.ends, ended) << cell;
    if (ended) return;
    const bool became = operation == "exec" && outcome.notes.numbers[0] == kNotBack;
    EXPECT_EQ(answer.error, became ? 0 : outcome.notes.numbers[0]) << cell;
    EXPECT_EQ(answer.allowed, became || outcome.notes.numbers[0] == 0) << cell;
  };

  unsigned cells = 0;
  const std::string& root = files.workspace;
  for (const std::string& target :
       {root + "/file", root + "/new", root + "/script", root + "/no-program", root + "/to-outside", root,
        root + "/.git/config", root + "/.git/hooks/pre-commit", root + "/.git/HEAD", files.home,
        files.home + "/state/database", files.home + "/new", files.outside + "/secret",
        std::string("/etc/passwd"), std::string("/etc/shadow"), std::string("/usr/bin/true"),
        std::string("/dev/null"), std::string("/proc/self/status"), std::string("/nonexistent/file")}) {
    for (const auto& [name, operation] :
         {std::pair{"read", Operation::kRead}, std::pair{"write", Operation::kWrite},
          std::pair{"create", Operation::kCreate}, std::pair{"exec", Operation::kExecute}}) {
      compare(name, target, explainer.file(operation, target));
      // What a child made must not be there for the next.
      unlink((root + "/new").c_str());
      unlink((files.home + "/new").c_str());
      ++cells;
    }
  }
  for (const MatrixPeer& peer : matrix.peers()) {
    if (!peer.target.starts_with("unix:")) continue;
    const auto parsed = walls::peerTarget(peer.target, {});
    ASSERT_TRUE(parsed);
    compare("connect", peer.target.substr(5), explainer.connect(*parsed));
    ++cells;
  }
  std::cout << GetParam() << ": " << cells << " cells compared\n";
}

INSTANTIATE_TEST_SUITE_P(Profiles, WorkerMatrix,
                         testing::Values("broker", "launcher", "front", "pty", "file", "git-read",
                                         "git-write", "container", "probe", "probe-program", "session",
                                         "session-running", "keeper", "gofer", "gofer-plain", "audit-reader"),
                         [](const auto& profile) {
                           std::string name = profile.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace factionos::test
