// Landlock on the real kernel: each right with an allowed neighbour, ports, scopes, and kernels that lack
// some of it.
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/families.h"
#include "sandbox/self_check.h"
#include "sandbox/support.h"
#include "sandbox/syscalls.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox {
namespace {

using testing::commandPolicy;
using testing::failureOf;
using testing::inChild;
using testing::Notes;
using testing::Outcome;

// A directory that anybody may write, with two subdirectories of the same content.
class Ground {
 public:
  Ground() {
    std::string pattern = std::filesystem::temp_directory_path() / "factionos-ground-XXXXXX";
    root_ = mkdtemp(pattern.data());
    open(root_);
    for (const char* const part : {"/granted", "/other"}) {
      std::filesystem::create_directory(root_ + part);
      open(root_ + part);
      for (const char* const name : {"/file", "/victim", "/moved"}) {
        std::ofstream(root_ + part + name) << "content";
        open(root_ + part + name);
      }
      std::filesystem::create_directory(root_ + part + "/directory");
      open(root_ + part + "/directory");
      std::filesystem::copy_file("/bin/true", root_ + part + "/program");
      open(root_ + part + "/program");
    }
  }
  ~Ground() { std::filesystem::remove_all(root_); }
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;
  [[nodiscard]] std::string granted(const char* name) const { return root_ + "/granted" + name; }
  [[nodiscard]] std::string other(const char* name) const { return root_ + "/other" + name; }

 private:
  static void open(const std::string& path) { chmod(path.c_str(), 0777); }
  std::string root_;
};

Policy filePolicy(std::vector<FileRule> rules) {
  Policy policy = commandPolicy();
  policy.files.scope = FileScope::kListedOnly;
  policy.files.rules = std::move(rules);
  return policy;
}

int openErrno(const std::string& path, int flags) {
  const Fd opened(open(path.c_str(), flags | O_CLOEXEC, 0600));
  return opened ? 0 : errno;
}

int result(int returned) {
  return returned == 0 ? 0 : errno;
}

int execErrno(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    execl(path.c_str(), "program", nullptr);
    _exit(errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

// One act that needs one right, on names below a directory.
struct Right {
  const char* name;
  Access access;
  int sinceAbi;
  int (*act)(const std::string& directory);
};

int makeNode(const std::string& path, mode_t kind) {
  return result(mknod(path.c_str(), kind | 0600, 0));
}

const Right kRights[] = {
    {"read_file", access::kReadFile, 1,
     [](const std::string& d) { return openErrno(d + "/file", O_RDONLY); }},
    {"write_file", access::kWriteFile, 1,
     [](const std::string& d) { return openErrno(d + "/file", O_WRONLY); }},
    {"read_dir", access::kReadDir, 1,
     [](const std::string& d) { return openErrno(d + "/directory", O_RDONLY); }},
    {"execute", access::kExecute | access::kReadFile, 1,
     [](const std::string& d) { return execErrno(d + "/program"); }},
    {"remove_file", access::kRemoveFile, 1,
     [](const std::string& d) { return result(unlink((d + "/victim").c_str())); }},
    {"remove_dir", access::kRemoveDir, 1,
     [](const std::string& d) { return result(rmdir((d + "/directory").c_str())); }},
    {"make_reg", access::kMakeReg, 1, [](const std::string& d) { return makeNode(d + "/new", S_IFREG); }},
    {"make_dir", access::kMakeDir, 1,
     [](const std::string& d) { return result(mkdir((d + "/new").c_str(), 0700)); }},
    {"make_sym", access::kMakeSym, 1,
     [](const std::string& d) { return result(symlink("x", (d + "/new").c_str())); }},
    {"make_fifo", access::kMakeFifo, 1, [](const std::string& d) { return makeNode(d + "/new", S_IFIFO); }},
    {"make_sock", access::kMakeSock, 1, [](const std::string& d) { return makeNode(d + "/new", S_IFSOCK); }},
    {"truncate", access::kTruncate, 3,
     [](const std::string& d) { return result(truncate((d + "/file").c_str(), 0)); }},
    {"refer", access::kRefer | access::kMakeReg | access::kRemoveFile, 2,
     [](const std::string& d) {
       return result(rename((d + "/moved").c_str(), (d + "/directory/moved").c_str()));
     }},
};

TEST(Landlock, EachRightIsGrantedWhereListedAndNowhereElse) {
  const int abi = landlockAbi();
  if (abi == 0) ABSENT("no Landlock");
  for (const Right& right : kRights) {
    if (abi < right.sinceAbi) {
      if (testing::mustHaveAll()) ADD_FAILURE() << right.name << " needs ABI " << right.sinceAbi;
      continue;
    }
    const Ground ground;
    const bool refers = right.access.has(access::kRefer);
    const auto act = [&right, &ground, refers](Notes& notes) {
      // execve of a dynamic program opens its libraries: they are granted in every case.
      Policy policy = filePolicy({allowPath(ground.granted(""), right.access, "test"),
                                  allowPath("/usr", access::kReadExec, "test"),
                                  allowPathIfPresent("/lib", access::kReadExec, "test"),
                                  allowPathIfPresent("/lib64", access::kReadExec, "test")});
      if (refers) {
        policy.files.rules.push_back(
            allowPath(ground.other(""), right.access - access::kRefer, "all but the one"));
      }
      enter(policy);
      notes.numbers[0] = right.act(ground.granted(""));
      notes.numbers[1] = right.act(ground.other(""));
      return 0;
    };
    const Outcome outcome = inChild(act);
    ASSERT_EQ(outcome.exitStatus, 0) << right.name;
    EXPECT_EQ(outcome.notes.numbers[0], 0) << right.name << " where it is granted";
    // A move that wants nothing but the right to refer is said to cross devices.
    EXPECT_EQ(outcome.notes.numbers[1], refers ? EXDEV : EACCES) << right.name;
    const Outcome control = inChild([&right, &ground](Notes& notes) {
      notes.numbers[0] = right.act(ground.other(""));
      return 0;
    });
    EXPECT_EQ(control.notes.numbers[0], 0) << "control of " << right.name;
  }
}

TEST(Landlock, TheOracleIsTheFile) {
  if (landlockAbi() < 3) ABSENT("Landlock below ABI 3");
  const Ground ground;
  inChild([&ground](Notes&) {
    enter(filePolicy({allowPath(ground.granted(""), access::kReadWrite, "test")}));
    truncate(ground.granted("/file").c_str(), 0);
    truncate(ground.other("/file").c_str(), 0);
    unlink(ground.other("/victim").c_str());
    return 0;
  });
  EXPECT_EQ(std::filesystem::file_size(ground.granted("/file")), 0U);
  EXPECT_EQ(std::filesystem::file_size(ground.other("/file")), 7U);
  EXPECT_TRUE(std::filesystem::exists(ground.other("/victim")));
}

TEST(Landlock, AnEmptyListDeniesEveryOpen) {
  if (landlockAbi() == 0) ABSENT("no Landlock");
  const Outcome outcome = inChild([](Notes& notes) {
    notes.numbers[0] = openErrno("/dev/null", O_RDONLY);
    enter(filePolicy({}));
    notes.numbers[1] = openErrno("/dev/null", O_RDONLY);
    notes.numbers[2] = openErrno("/", O_RDONLY | O_DIRECTORY);
    notes.numbers[3] = openErrno("/proc/self/status", O_RDONLY);
    return 0;
  });
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(outcome.notes.numbers[i], EACCES) << i;
}

TEST(Landlock, AnOpenDescriptorAndASingleFileCanBeGranted) {
  if (landlockAbi() == 0) ABSENT("no Landlock");
  const Ground ground;
  const Outcome outcome = inChild([&ground](Notes& notes) {
    const Fd directory(open(ground.granted("").c_str(), O_PATH | O_CLOEXEC));
    Policy policy =
        filePolicy({allowDescriptor(directory.get(), access::kReadFile, "test"),
                    allowPath(ground.other("/file"), access::kReadWrite, "file rights are picked out"),
                    allowPathIfPresent("/no/such/path", access::kRead, "test"),
                    allowPath("/dev/null", access::kDevice, "test")});
    policy.keep.push_back(directory.get());
    enter(policy);
    notes.numbers[0] = openErrno(ground.granted("/file"), O_RDONLY);
    notes.numbers[1] = openErrno(ground.other("/file"), O_RDWR);
    notes.numbers[2] = openErrno("/dev/null", O_WRONLY);
    notes.numbers[3] = openErrno(ground.other("/victim"), O_RDONLY);
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], 0);
  EXPECT_EQ(outcome.notes.numbers[2], 0);
  EXPECT_EQ(outcome.notes.numbers[3], EACCES);
}

TEST(Landlock, ARuleThatCannotHoldIsFatal) {
  if (landlockAbi() == 0) ABSENT("no Landlock");
  const auto failure = [](FileRule rule) { return failureOf([&rule] { enter(filePolicy({rule})); }); };
  EXPECT_EQ(failure(allowPath("/no/such/path", access::kRead, "test")).reason, "landlock_path_unusable");
  EXPECT_EQ(failure(allowPath("/etc/passwd", access::kMakeDir, "not a right of files")).reason,
            "landlock_rule_empty");
  EXPECT_EQ(failure(allowDescriptor(999, access::kRead, "closed")).reason, "landlock_path_unusable");
}

// ---- TCP
// ------------------------------------------------------------------------------------------------------------

int bindErrno(std::uint16_t port) {
  const Fd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return result(bind(made.get(), reinterpret_cast<sockaddr*>(&address), sizeof address));
}

int connectErrno(std::uint16_t port) {
  const Fd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return result(connect(made.get(), reinterpret_cast<sockaddr*>(&address), sizeof address));
}

Fd listenAnywhere(std::uint16_t& port) {
  Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  listen(listener.get(), 8);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return listener;
}

Policy networkPolicy(TcpRules tcp) {
  Policy policy = commandPolicy();
  std::erase_if(policy.seccomp.rules,
                [](const SeccompRule& rule) { return rule.family.name == "socketsBut"; });
  policy.tcp = std::move(tcp);
  return policy;
}

TEST(Landlock, TcpPortsAreThoseListed) {
  if (landlockAbi() < 4) ABSENT("Landlock below ABI 4");
  std::uint16_t open = 0;
  std::uint16_t closed = 0;
  const Fd first = listenAnywhere(open);
  const Fd second = listenAnywhere(closed);
  const Outcome outcome = inChild([open, closed](Notes& notes) {
    notes.numbers[0] = connectErrno(closed);
    enter(networkPolicy({Need::kRequired, {{0, 0}}, {{open, open}}}));
    notes.numbers[1] = connectErrno(open);
    notes.numbers[2] = connectErrno(closed);
    notes.numbers[3] = bindErrno(0);
    notes.numbers[4] = bindErrno(43210);
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], 0);
  EXPECT_EQ(outcome.notes.numbers[2], EACCES);
  EXPECT_EQ(outcome.notes.numbers[3], 0);
  EXPECT_EQ(outcome.notes.numbers[4], EACCES);
}

TEST(Landlock, EveryPortButOne) {
  if (landlockAbi() < 4) ABSENT("Landlock below ABI 4");
  std::uint16_t open = 0;
  std::uint16_t own = 0;
  const Fd first = listenAnywhere(open);
  const Fd second = listenAnywhere(own);
  const Outcome outcome = inChild([open, own](Notes& notes) {
    enter(networkPolicy({Need::kRequired, {{0, 65535}}, everyPortBut(own)}));
    notes.numbers[0] = connectErrno(open);
    notes.numbers[1] = connectErrno(own);
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], EACCES);
  EXPECT_EQ(everyPortBut(0).size(), 1U);
  EXPECT_EQ(everyPortBut(65535).size(), 1U);
}

// ---- Scopes
// ---------------------------------------------------------------------------------------------------------

int connectAbstract(const std::string& name) {
  const Fd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return result(connect(made.get(), reinterpret_cast<sockaddr*>(&address), size));
}

TEST(Landlock, P20_AnAbstractSocketOutsideIsOutOfReach) {
  if (landlockAbi() < 6) ABSENT("Landlock below ABI 6");
  const std::string name = "factionos-test-" + std::to_string(getpid());
  const Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener.get(), 4), 0);
  const Outcome outcome = inChild([&name](Notes& notes) {
    notes.numbers[0] = connectAbstract(name);
    enter(networkPolicy({}));
    notes.numbers[1] = connectAbstract(name);
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], EPERM);
}

TEST(Landlock, ASignalOutsideIsDeniedAndInsideWorks) {
  if (landlockAbi() < 6) ABSENT("Landlock below ABI 6");
  const Outcome outcome = inChild([](Notes& notes) {
    const pid_t outside = fork();
    if (outside == 0) {
      while (true) pause();
    }
    notes.numbers[0] = result(::kill(outside, 0));
    const pid_t inside = fork();
    if (inside == 0) {
      enter(commandPolicy());
      notes.numbers[1] = result(::kill(outside, SIGKILL));
      const pid_t own = fork();
      if (own == 0) {
        while (true) pause();
      }
      notes.numbers[2] = result(::kill(own, SIGKILL));
      waitpid(own, nullptr, 0);
      _exit(0);
    }
    waitpid(inside, nullptr, 0);
    notes.numbers[3] = waitpid(outside, nullptr, WNOHANG);  // 0: the signal did not arrive
    ::kill(outside, SIGKILL);
    waitpid(outside, nullptr, 0);
    return 0;
  });
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], EPERM);
  EXPECT_EQ(outcome.notes.numbers[2], 0);
  EXPECT_EQ(outcome.notes.numbers[3], 0);
}

// ---- Kernels that lack it
// -------------------------------------------------------------------------------------------

SeccompRule withoutLandlock(int error) {
  return refuse({"withoutLandlock", {{calls::kLandlockCreateRuleset, {}}}}, error, "test");
}

TEST(Landlock, P52_WithoutLandlockNothingRunsUnconfined) {
  for (const int error : {ENOSYS, EOPNOTSUPP}) {  // not built in; built in and switched off
    const auto failure = failureOf([error] {
      testing::pretend({withoutLandlock(error)});
      enter(filePolicy({allowPath("/usr", access::kRead, "test")}));
    });
    EXPECT_EQ(failure.step, static_cast<unsigned>(Step::kLandlock));
    EXPECT_EQ(failure.reason, "landlock_missing");
    EXPECT_EQ(failure.error, ENOSYS);
    const auto ofWorker = failureOf([error] {
      testing::pretend({withoutLandlock(error)});
      enter(testing::workerPolicy());
    });
    EXPECT_EQ(ofWorker.reason, "landlock_missing");
    const Outcome probe = inChild([error](Notes& notes) {
      testing::pretend({withoutLandlock(error)});
      notes.numbers[0] = probeKernel().landlockAbi;
      return 0;
    });
    EXPECT_EQ(probe.notes.numbers[0], 0);
  }
}

// Also a kernel that knows the calls and then refuses one of them.
TEST(Landlock, P52_ARefusedStepOfLandlockIsFatal) {
  if (landlockAbi() == 0) ABSENT("no Landlock");
  for (const int number : {calls::kLandlockAddRule, calls::kLandlockRestrictSelf}) {
    const auto failure = failureOf([number] {
      testing::pretend({refuse({"refused", {{number, {}}}}, EPERM, "test")});
      enter(filePolicy({allowPath("/usr", access::kRead, "test")}));
    });
    EXPECT_EQ(failure.step, static_cast<unsigned>(Step::kLandlock)) << number;
    EXPECT_EQ(failure.error, EPERM) << number;
  }
}

TEST(Landlock, P53_SysIsNotNeededToKnow) {
  if (landlockAbi() == 0) ABSENT("no Landlock");
  const Outcome outcome = inChild([](Notes& notes) {
    notes.numbers[0] = probeKernel().landlockAbi;
    LandlockPolicy policy;
    policy.scopes = {Need::kOff, Need::kOff};
    for (const char* const path : {"/proc", "/dev"})
      policy.files.rules.push_back(allowPath(path, access::kAll, "test"));
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    restrictByLandlock(policy);
    notes.numbers[2] = openErrno("/sys", O_RDONLY | O_DIRECTORY);
    notes.numbers[1] = probeKernel().landlockAbi;
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[2], EACCES) << "/sys is closed";
  EXPECT_EQ(outcome.notes.numbers[1], outcome.notes.numbers[0]);
  EXPECT_GT(outcome.notes.numbers[1], 0);
}

Fd receiveListener(int socket) {
  char letter = 0;
  iovec content{&letter, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || letter != 'L') return {};
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
  int descriptor = -1;
  memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return Fd(descriptor);
}

// The supervisor's half: answers every question with `abi` until the last process under the filter is gone.
[[noreturn]] void answerWith(int abi, int socket) {
  const int keep[] = {socket};
  closeAllBut(keep);
  const Fd listener = receiveListener(socket);
  while (true) {
    pollfd waiting{listener.get(), POLLIN, 0};
    if (poll(&waiting, 1, -1) != 1 || (waiting.revents & POLLIN) == 0) _exit(0);
    seccomp_notif question{};
    if (ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) continue;
    seccomp_notif_resp answer{question.id, abi, 0, 0};
    ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

// Answers the question for the ABI as an older kernel would. Everything else goes to the real kernel, which
// honours the lesser rights that the question's answer leads to.
void pretendAbi(int abi) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) _exit(1);
  if (fork() == 0) answerWith(abi, pair[1]);
  SeccompPolicy policy;
  policy.unlisted = Verdict::allow();
  policy.foreignEntry = Verdict::allow();
  policy.rules = {notify({"abi", {{calls::kLandlockCreateRuleset, {is32(2, 1)}}}}, "test")};
  const Program program = compile(policy);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(1);
  sendListener(pair[0], Fd(loadProgram(program, Listener::kWanted)));
  close(pair[0]);
  close(pair[1]);
}

struct OldKernel {
  int abi;
  bool truncate, ioctlDev, refer, tcp, scopes;
};

TEST(Landlock, P15_AnOldKernelsPostureNamesWhatIsNotEnforced) {
  if (landlockAbi() < 7) ABSENT("Landlock below ABI 7");
  for (const OldKernel& kernel :
       {OldKernel{1, false, false, false, false, false}, OldKernel{2, false, false, true, false, false},
        OldKernel{3, true, false, true, false, false}, OldKernel{4, true, false, true, true, false},
        OldKernel{5, true, true, true, true, false}, OldKernel{6, true, true, true, true, true},
        OldKernel{7, true, true, true, true, true}}) {
    const Outcome outcome = inChild([&kernel](Notes& notes) {
      pretendAbi(kernel.abi);
      Policy policy = filePolicy({allowPath("/usr", access::kReadExec, "test")});
      policy.scopes = {Need::kIfAvailable, Need::kIfAvailable};
      policy.tcp.need = Need::kIfAvailable;
      const Posture posture = enter(policy);
      const auto missing = [&posture](std::string_view label) {
        return std::find(posture.missing.begin(), posture.missing.end(), label) != posture.missing.end();
      };
      notes.numbers[0] = posture.landlock.abi;
      notes.numbers[1] = missing("landlock_truncate");
      notes.numbers[2] = missing("landlock_ioctl_dev");
      notes.numbers[3] = missing("landlock_refer");
      notes.numbers[4] = missing("landlock_tcp");
      notes.numbers[5] = missing("landlock_scope_signals");
      notes.numbers[6] = missing("landlock_scope_abstract_sockets");
      notes.numbers[7] = openErrno("/etc/passwd", O_RDONLY);
      return 0;
    });
    ASSERT_EQ(outcome.exitStatus, 0) << kernel.abi;
    EXPECT_EQ(outcome.notes.numbers[0], kernel.abi);
    EXPECT_NE(outcome.notes.numbers[1] == 1, kernel.truncate) << kernel.abi;
    EXPECT_NE(outcome.notes.numbers[2] == 1, kernel.ioctlDev) << kernel.abi;
    EXPECT_NE(outcome.notes.numbers[3] == 1, kernel.refer) << kernel.abi;
    EXPECT_NE(outcome.notes.numbers[4] == 1, kernel.tcp) << kernel.abi;
    EXPECT_NE(outcome.notes.numbers[5] == 1, kernel.scopes) << kernel.abi;
    EXPECT_NE(outcome.notes.numbers[6] == 1, kernel.scopes) << kernel.abi;
    EXPECT_EQ(outcome.notes.numbers[7], EACCES) << kernel.abi;
  }
}

TEST(Landlock, P15_WhatAPolicyRequiresIsFatalOnAnOldKernel) {
  if (landlockAbi() < 7) ABSENT("Landlock below ABI 7");
  const auto failureAt = [](int abi, const std::function<void(Policy&)>& change) {
    return failureOf([abi, &change] {
      pretendAbi(abi);
      Policy policy = filePolicy({});
      policy.scopes = {Need::kOff, Need::kOff};
      change(policy);
      enter(policy);
    });
  };
  const auto needsTruncate = [](Policy& policy) { policy.files.mustEnforce = access::kTruncate; };
  const auto needsTcp = [](Policy& policy) { policy.tcp.need = Need::kRequired; };
  const auto needsScope = [](Policy& policy) { policy.scopes.signals = Need::kRequired; };
  EXPECT_EQ(failureAt(2, needsTruncate).reason, "landlock_right_missing");
  EXPECT_EQ(failureAt(3, needsTruncate).step, 0U);
  EXPECT_EQ(failureAt(3, needsTcp).reason, "landlock_tcp_missing");
  EXPECT_EQ(failureAt(4, needsTcp).step, 0U);
  EXPECT_EQ(failureAt(5, needsScope).reason, "landlock_scope_missing");
  EXPECT_EQ(failureAt(6, needsScope).step, 0U);
}

}  // namespace
}  // namespace factionos::sandbox
