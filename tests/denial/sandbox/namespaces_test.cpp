// Namespaces and mount plans where the kernel gives them, and the same guarantees where it does not.
#include "sandbox/namespaces.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/enter.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox {
namespace {

using testing::commandPolicy;
using testing::failureOf;
using testing::inChild;
using testing::Notes;
using testing::openErrno;
using testing::Outcome;

bool usable(int NamespaceSupport::*kind) {
  return inChild([kind](Notes&) { return probeNamespaces().*kind == 0 ? 0 : 1; }).exitStatus == 0;
}

Policy everythingIfAvailable() {
  Policy policy = commandPolicy();
  policy.files.scope = FileScope::kListedOnly;
  policy.files.rules = {allowPath("/usr", access::kReadExec, "test")};
  policy.namespaces = {.user = Need::kIfAvailable,
                       .mount = Need::kIfAvailable,
                       .network = Need::kIfAvailable,
                       .ipc = Need::kIfAvailable,
                       .uts = Need::kIfAvailable};
  return policy;
}

bool names(const Posture& posture, std::string_view label) {
  return std::find(posture.missing.begin(), posture.missing.end(), label) != posture.missing.end();
}

// As in many containers. A namespace of processes without a /proc of its own would show those of the machine.
TEST(Namespaces, ProcessesHaveNoneWhereAPartOfProcIsHidden) {
  if (!usable(&NamespaceSupport::pid) || !usable(&NamespaceSupport::mount)) ABSENT("no user namespaces");
  const Outcome outcome = inChild([](Notes& notes) {
    enterNamespaces({.user = Need::kRequired, .mount = Need::kRequired});
    notes.numbers[0] = probeNamespaces().pid;
    if (mount("tmpfs", "/proc/tty", "tmpfs", 0, "size=4096") != 0) return 1;
    notes.numbers[1] = probeNamespaces().pid;
    notes.numbers[2] = probeNamespaces().mount;
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], EPERM);
  EXPECT_EQ(outcome.notes.numbers[2], 0);
}

TEST(Namespaces, TheUserIsMappedToItselfNeverToRoot) {
  if (!usable(&NamespaceSupport::user)) ABSENT("no user namespaces");
  const Outcome outcome = inChild([](Notes& notes) {
    const uid_t before = geteuid();
    const NamespacePosture posture = enterNamespaces({.user = Need::kRequired});
    notes.numbers[0] = posture.user;
    notes.numbers[1] = geteuid() == before;
    notes.numbers[2] = setuid(0) == 0 ? 0 : errno;
    std::ifstream groups("/proc/self/setgroups");
    std::string word;
    groups >> word;
    notes.numbers[3] = word == "deny";
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 1);
  EXPECT_EQ(outcome.notes.numbers[1], 1);
  EXPECT_EQ(outcome.notes.numbers[2], EINVAL) << "0 is not mapped";
  EXPECT_EQ(outcome.notes.numbers[3], 1);
}

// ---- Without user namespaces

// Each way a system withholds them.
enum class Withheld { kByFilter, kByLimit, kByMountDenied, kByMapDenied };

// False if the way itself needs what is not there.
bool withhold(Withheld way) {
  switch (way) {
    case Withheld::kByFilter:
      testing::pretend(
          {refuse({"unshare", {{SYS_unshare, {masked(0, CLONE_NEWUSER, CLONE_NEWUSER)}}}}, EPERM, "test")});
      return true;
    case Withheld::kByLimit: {
      if (!enterNamespaces({.user = Need::kIfAvailable}).user) return false;
      const Fd limit(open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC));
      return limit && write(limit.get(), "0", 1) == 1;
    }
    case Withheld::kByMountDenied:  // as AppArmor does: unshare and maps succeed, the rights are not there
      testing::pretend({refuse({"mount", {{SYS_mount, {}}}}, EACCES, "test")});
      return true;
    case Withheld::kByMapDenied:
      testing::pretend({refuse({"write", {{SYS_openat, {masked(2, O_ACCMODE, O_WRONLY)}}}}, EACCES, "test")});
      return true;
  }
  return false;
}

class WithoutNamespaces : public ::testing::TestWithParam<Withheld> {};
INSTANTIATE_TEST_SUITE_P(EachWay, WithoutNamespaces,
                         ::testing::Values(Withheld::kByFilter, Withheld::kByLimit, Withheld::kByMountDenied,
                                           Withheld::kByMapDenied));

TEST_P(WithoutNamespaces, P51_TheRequiredGuaranteesStandAndThePostureSaysWhatIsMissing) {
  const Withheld way = GetParam();
  if (!usable(&NamespaceSupport::mount) && way != Withheld::kByFilter) ABSENT("no namespaces to withhold");
  constexpr int kNotArranged = 9;
  const Outcome outcome = inChild([way](Notes& notes) {
    if (!withhold(way)) return kNotArranged;
    Policy policy = everythingIfAvailable();
    policy.mounts = {mounts::newRoot(1 << 20), mounts::pivotRoot()};
    const Posture posture = enter(policy);
    notes.numbers[0] = posture.namespaces.mount;
    notes.numbers[1] = names(posture, "mount_namespace_refused");
    notes.numbers[2] = names(posture, "mounts_not_applied");
    notes.numbers[3] = openErrno("/etc/passwd", O_RDONLY);
    notes.numbers[4] = openErrno("/usr", O_RDONLY | O_DIRECTORY);
    notes.numbers[5] = posture.seccompMode;
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0) << "events " << outcome.events.size();
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], 1);
  EXPECT_EQ(outcome.notes.numbers[2], 1);
  EXPECT_EQ(outcome.notes.numbers[3], EACCES);
  EXPECT_EQ(outcome.notes.numbers[4], 0);
  EXPECT_EQ(outcome.notes.numbers[5], 2);
}

TEST_P(WithoutNamespaces, RequiredMeansRequired) {
  const Withheld way = GetParam();
  if (!usable(&NamespaceSupport::mount) && way != Withheld::kByFilter) ABSENT("no namespaces to withhold");
  const auto failure = failureOf([way] {
    if (!withhold(way)) return;
    Policy policy = everythingIfAvailable();
    policy.namespaces.mount = Need::kRequired;
    enter(policy);
  });
  EXPECT_TRUE(failure.step == static_cast<unsigned>(Step::kUserNamespace) ||
              failure.step == static_cast<unsigned>(Step::kNamespaces))
      << failure.step << " " << failure.reason;
}

// ---- With them

TEST(Namespaces, ANetworkOfItsOwnReachesNoListenerOutside) {
  if (!usable(&NamespaceSupport::network)) ABSENT("no network namespaces");
  const Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size);
  listen(listener.get(), 4);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const auto reach = [address](Loopback loopback, Need network) {
    return inChild([address, loopback, network](Notes& notes) {
      enterNamespaces({.user = Need::kRequired, .network = network, .loopback = loopback});
      const Fd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const int result = connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
      notes.numbers[0] = result == 0 ? 0 : errno;
      const Fd server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      notes.numbers[1] = bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
      return 0;
    });
  };
  EXPECT_EQ(reach(Loopback::kDown, Need::kOff).notes.numbers[0], 0) << "control";
  EXPECT_EQ(reach(Loopback::kDown, Need::kRequired).notes.numbers[0], ENETUNREACH);
  const Outcome up = reach(Loopback::kUp, Need::kRequired);
  EXPECT_EQ(up.notes.numbers[0], ECONNREFUSED) << "a loopback of its own answers, with nobody there";
  EXPECT_EQ(up.notes.numbers[1], 0) << "the same port is free in it";
}

TEST(Namespaces, APidNamespaceNeedsAFork) {
  const auto failure = failureOf([] {
    Policy policy = commandPolicy();
    policy.namespaces.pid = Need::kIfAvailable;
    enter(policy);
  });
  EXPECT_EQ(failure.reason, "pid_namespace_needs_fork");
}

int statusOf(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The whole of what a command gets: a root of its own, its own proc, one writable directory with a read-only
// part.
class MountPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!usable(&NamespaceSupport::mount) || !usable(&NamespaceSupport::pid))
      ABSENT("no mount or pid namespaces");
    std::string pattern = std::filesystem::temp_directory_path() / "factionos-plan-XXXXXX";
    ground_ = mkdtemp(pattern.data());
    chmod(ground_.c_str(), 0777);
    for (const char* const part : {"/.git", "/.git/hooks", "/work"}) {
      std::filesystem::create_directories(ground_ + part);
      chmod((ground_ + part).c_str(), 0777);
    }
    std::ofstream(ground_ + "/.git/hooks/kept") << "kept";
    std::filesystem::create_symlink("/etc", ground_ + "/link");
  }
  void TearDown() override {
    if (!ground_.empty()) std::filesystem::remove_all(ground_);
  }

  std::vector<MountStep> plan() const {
    return {mounts::newRoot(1 << 20),
            mounts::system("/usr", "programs"),
            mounts::symlink("usr/bin", "/bin"),
            mounts::symlink("usr/lib", "/lib"),
            mounts::symlink("usr/lib64", "/lib64"),
            mounts::proc(Need::kIfAvailable, "its own"),
            mounts::device("/dev/null", "discards"),
            mounts::tmpfs("/tmp", 1 << 20, 01777, "private"),
            mounts::bind(ground_, "/work", Writable::kYes, "the workspace"),
            mounts::bind(ground_ + "/.git", "/work/.git", Writable::kYes, "a mount point cannot be renamed"),
            mounts::bind(ground_ + "/.git/hooks", "/work/.git/hooks", Writable::kNo, "hooks run on the host"),
            mounts::pivotRoot()};
  }

  // Runs `body` as a grandchild: namespaces by the parent, the rest by a process inside the pid namespace.
  Outcome inside(const std::function<void(Notes&, const Posture&)>& body) {
    return inChild([this, &body](Notes& notes) {
      Policy policy = commandPolicy();
      policy.namespaces = {.user = Need::kRequired, .pid = Need::kRequired, .mount = Need::kRequired};
      policy.mounts = plan();
      const NamespacePosture namespaces = enterNamespaces(policy.namespaces);
      const pid_t child = fork();
      if (child == 0) {
        try {
          body(notes, enterInside(policy, namespaces));
          _exit(0);
        } catch (const SetupError& error) {
          notes.numbers[30] = static_cast<std::int64_t>(error.step());
          notes.numbers[31] = error.error();
          _exit(3);
        }
      }
      return statusOf(child);
    });
  }

  std::string ground_;
};

TEST_F(MountPlan, TheRootHoldsWhatThePlanNamesAndNothingElse) {
  const Outcome outcome = inside([](Notes& notes, const Posture& posture) {
    notes.numbers[0] = posture.mountsApplied;
    notes.numbers[1] = openErrno("/etc/passwd", O_RDONLY);
    notes.numbers[2] = openErrno("/usr/bin/env", O_RDONLY);
    notes.numbers[3] = openErrno("/usr/x", O_WRONLY | O_CREAT);
    notes.numbers[4] = openErrno("/dev/null", O_WRONLY);
    notes.numbers[5] = openErrno("/tmp/x", O_WRONLY | O_CREAT);
    notes.numbers[6] = openErrno("/dev/zero", O_RDONLY);
    notes.numbers[7] = openErrno("/work/new", O_WRONLY | O_CREAT);
    notes.numbers[8] = getpid();
    notes.numbers[9] = openErrno("/x", O_WRONLY | O_CREAT);
    notes.numbers[10] = openErrno("/../../../../../etc/passwd", O_RDONLY);
  });
  ASSERT_EQ(outcome.exitStatus, 0) << "step " << outcome.notes.numbers[30] << " errno "
                                   << outcome.notes.numbers[31];
  EXPECT_EQ(outcome.notes.numbers[0], 1);
  EXPECT_EQ(outcome.notes.numbers[1], ENOENT);
  EXPECT_EQ(outcome.notes.numbers[2], 0);
  EXPECT_EQ(outcome.notes.numbers[3], EROFS);
  EXPECT_EQ(outcome.notes.numbers[4], 0);
  EXPECT_EQ(outcome.notes.numbers[5], 0);
  EXPECT_EQ(outcome.notes.numbers[6], ENOENT);
  EXPECT_EQ(outcome.notes.numbers[7], 0);
  EXPECT_EQ(outcome.notes.numbers[8], 1) << "the first of its pid namespace";
  EXPECT_EQ(outcome.notes.numbers[10], ENOENT);
  EXPECT_TRUE(std::filesystem::exists(ground_ + "/new")) << "the workspace is the real one";
  EXPECT_FALSE(std::filesystem::exists("/usr/x"));
}

TEST_F(MountPlan, HooksAreReadOnlyAndCannotBeRenamedAway) {
  const Outcome outcome = inside([](Notes& notes, const Posture&) {
    notes.numbers[0] = openErrno("/work/.git/hooks/new", O_WRONLY | O_CREAT);
    notes.numbers[1] = openErrno("/work/.git/hooks/kept", O_RDONLY);
    notes.numbers[2] = rename("/work/.git", "/work/.git2") == 0 ? 0 : errno;
    notes.numbers[3] = rename("/work/.git/hooks", "/work/.git/hooks2") == 0 ? 0 : errno;
    notes.numbers[4] = openErrno("/work/.git/index", O_WRONLY | O_CREAT);
    notes.numbers[5] =
        mount(nullptr, "/work/.git/hooks", nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0 ? 0 : errno;
    notes.numbers[6] = umount2("/work/.git/hooks", MNT_DETACH) == 0 ? 0 : errno;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], EROFS);
  EXPECT_EQ(outcome.notes.numbers[1], 0);
  EXPECT_EQ(outcome.notes.numbers[2], EBUSY);
  EXPECT_EQ(outcome.notes.numbers[3], EBUSY);
  EXPECT_EQ(outcome.notes.numbers[4], 0);
  EXPECT_EQ(outcome.notes.numbers[5], EPERM);
  EXPECT_EQ(outcome.notes.numbers[6], EPERM);
  EXPECT_FALSE(std::filesystem::exists(ground_ + "/.git/hooks/new"));
  EXPECT_TRUE(std::filesystem::exists(ground_ + "/.git/hooks/kept"));
}

TEST_F(MountPlan, KillingInitEndsTheWholeNamespace) {
  const Outcome outcome = inChild([](Notes& notes) {
    enterNamespaces({.user = Need::kRequired, .pid = Need::kRequired});
    const Pipe alive = makePipe();
    const pid_t init = fork();
    if (init == 0) {
      if (fork() == 0) {
        setsid();
        if (fork() != 0) _exit(0);  // a double fork in a session of its own
      }
      while (true) pause();
    }
    Fd& write = const_cast<Fd&>(alive.write);
    write.reset();
    ::kill(init, SIGKILL);
    statusOf(init);
    char letter = 0;
    notes.numbers[0] =
        read(alive.read.get(), &letter, 1);  // end of file: nobody holds the other end any more
    return 0;
  });
  EXPECT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
}

// ---- Plans that must not work

std::string planFailure(const std::vector<MountStep>& steps) {
  return failureOf([&steps] {
           enterNamespaces({.user = Need::kRequired, .mount = Need::kRequired});
           applyMounts(steps);
         })
      .reason;
}

TEST_F(MountPlan, SymlinksInWhatOthersWriteAreRefused) {
  EXPECT_EQ(planFailure({mounts::newRoot(1 << 20),
                         mounts::bind(ground_ + "/link", "/x", Writable::kNo, "test"), mounts::pivotRoot()}),
            "mount_source_unusable");
  EXPECT_EQ(planFailure({mounts::bind("/usr", ground_ + "/link/x", Writable::kNo, "test")}),
            "mount_target_unusable");
  EXPECT_EQ(planFailure({mounts::bind("/usr", ground_ + "/link", Writable::kNo, "test")}),
            "mount_target_unusable");
}

TEST_F(MountPlan, APlanThatLeavesTheOldRootInReachIsRefused) {
  EXPECT_EQ(planFailure({mounts::newRoot(1 << 20)}), "mount_plan_without_pivot");
  EXPECT_EQ(planFailure({mounts::pivotRoot()}), "mount_plan_without_root");
  EXPECT_EQ(planFailure({mounts::newRoot(0), mounts::pivotRoot()}), "mount_size_missing");
  EXPECT_EQ(planFailure({mounts::newRoot(1 << 20), mounts::directory("relative"), mounts::pivotRoot()}),
            "mount_target_invalid");
  EXPECT_EQ(planFailure({mounts::newRoot(1 << 20), mounts::directory("/a/../b"), mounts::pivotRoot()}),
            "mount_target_invalid");
  EXPECT_EQ(planFailure(
                {mounts::newRoot(1 << 20), mounts::device("/etc/passwd", "no device"), mounts::pivotRoot()}),
            "mount_source_no_device");
}

TEST_F(MountPlan, ABindInPlaceNeedsNoNewRoot) {
  const Outcome outcome = inChild([this](Notes& notes) {
    Policy policy = commandPolicy();
    policy.namespaces = {.user = Need::kRequired, .mount = Need::kRequired};
    policy.mounts = {mounts::bind(ground_ + "/.git/hooks", ground_ + "/.git/hooks", Writable::kNo, "test")};
    enter(policy);
    notes.numbers[0] = openErrno(ground_ + "/.git/hooks/new", O_WRONLY | O_CREAT);
    notes.numbers[1] = openErrno(ground_ + "/.git/index", O_WRONLY | O_CREAT);
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], EROFS);
  EXPECT_EQ(outcome.notes.numbers[1], 0);
}

}  // namespace
}  // namespace factionos::sandbox
