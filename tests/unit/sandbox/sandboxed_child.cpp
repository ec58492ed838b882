#include "tests/unit/sandbox/sandboxed_child.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/families.h"
#include "sandbox/self_check.h"
#include "sandbox/syscalls.h"

namespace factionos::sandbox::testing {
namespace {

constexpr uid_t kNobodysUid =
    64321;  // used by no distribution: its process count and files are the test's alone

struct Shared {
  Notes notes;
  std::array<char, 64> reason;
};

Shared* mapShared() {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("mmap");
  return static_cast<Shared*>(memory);
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
  prctl(PR_SET_NAME, kOldKernel, 0, 0, 0);
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

[[noreturn]] void childMain(int events, Shared& shared, const std::function<int(Notes&)>& body) {
  if (events != kEventDescriptor) dup2(events, kEventDescriptor);
  const int keep[] = {0, 1, 2, kEventDescriptor};
  closeAllBut(keep);
  becomeOrdinary();
  int status = kOtherException;
  try {
    status = body(shared.notes);
  } catch (const SetupError& error) {
    writeEvent(kEventDescriptor, eventOf(error));
    error.reason().copy(shared.reason.data(), shared.reason.size() - 1);
    status = kSetupFailed;
  } catch (...) {
  }
  _exit(status);
}

std::vector<Event> readEvents(int descriptor) {
  std::vector<Event> events;
  EventBytes bytes;
  while (read(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
    if (const auto event = parseEvent(bytes)) events.push_back(*event);
  }
  return events;
}

Outcome run(Shared& shared, const std::function<int(Notes&)>& body) {
  Pipe events = makePipe();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) childMain(events.write.get(), shared, body);
  events.write.reset();
  Outcome outcome;
  outcome.events = readEvents(events.read.get());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) outcome.exitStatus = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.notes = shared.notes;
  return outcome;
}

}  // namespace

bool Outcome::trappedBy(int call) const {
  return exitStatus == kTrapExitStatus && events.size() == 1 && events[0].code == EventCode::kTrapped &&
         events[0].numbers[0] == static_cast<std::uint64_t>(call);
}

Outcome inChild(const std::function<int(Notes&)>& body) {
  Shared* const shared = mapShared();
  Outcome outcome = run(*shared, body);
  munmap(shared, sizeof(Shared));
  return outcome;
}

Failure failureOf(const std::function<void()>& body) {
  Shared* const shared = mapShared();
  const Outcome outcome = run(*shared, [&body](Notes&) {
    body();
    return 0;
  });
  Failure failure;
  if (outcome.exitStatus == kSetupFailed && !outcome.events.empty()) {
    const Event& event = outcome.events.back();
    failure = {static_cast<unsigned>(event.numbers[0]), static_cast<int>(event.numbers[1]),
               shared->reason.data()};
  }
  munmap(shared, sizeof(Shared));
  return failure;
}

Policy workerPolicy() {
  Policy policy;
  policy.name = "test_worker";
  policy.keep = {0, 1, 2, kEventDescriptor};
  policy.seccomp.rules = {
      allow(families::base(), "test"),
      allow(families::readWrite(), "test"),
      allow(families::epollLoop(), "test"),
      allow(families::socketIo(), "test"),
      allow(families::signals(), "test"),
      allow(families::threads(), "test"),
      allow(families::randomness(), "test"),
      allow(families::processInfo(), "test"),
#ifdef FACTIONOS_SANITIZED
      allow(families::sanitizerRuntime(), "test"),
#endif
      refuse(families::filesRead(), EACCES, "test"),
      refuse(families::clone3(), ENOSYS, "test"),
      refuse(families::ioUring(), ENOSYS, "test"),
      refuse(families::terminalIoctls(), ENOTTY, "test"),
      kill(families::tracing(), "test"),
      kill(families::mounting(), "test"),
      kill(families::namespaceCalls(), "test"),
      kill(families::kernelSurface(), "test"),
  };
  return policy;
}

Policy commandPolicy() {
  Policy policy;
  policy.name = "test_command";
  policy.keep = {0, 1, 2, kEventDescriptor};
  policy.files.scope = FileScope::kUnrestricted;
  policy.traps = Traps::kNone;
  policy.memoryExecution = MemoryExecution::kUnrestricted;
  policy.seccomp.unlisted = Verdict::allow();
  policy.seccomp.foreignEntry = Verdict::fail(EPERM);
  policy.seccomp.rules = {
      refuse(families::mounting(), EPERM, "test"),
      refuse(families::tracing(), EPERM, "test"),
      refuse(families::kernelSurface(), EPERM, "test"),
      refuse(families::namespaceCalls(), EPERM, "test"),
      refuse(families::cloneNamespaces(), EPERM, "test"),
      refuse(families::clone3(), ENOSYS, "test"),
      refuse(families::ioUring(), ENOSYS, "test"),
      refuse(families::administration(), EPERM, "test"),
      refuse(families::fileHandles(), EPERM, "test"),
      refuse(families::terminalInjection(), EPERM, "test"),
      refuse(families::personalities(), EPERM, "test"),
      refuse(families::socketsBut({}), EACCES, "test"),
      refuse(families::newerThanKnown(), ENOSYS, "test"),
  };
  return policy;
}

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

void becomeOrdinary() {
  if (geteuid() != 0) return;
  if (setgroups(0, nullptr) != 0 || setresgid(kNobodysUid, kNobodysUid, kNobodysUid) != 0 ||
      setresuid(kNobodysUid, kNobodysUid, kNobodysUid) != 0) {
    _exit(kOtherException);
  }
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // as after an exec
}

// Answers the question for the ABI as an older kernel would. Everything else goes to the real kernel, which
// honours the lesser rights that the question's answer leads to.
void pretendAbi(int abi) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) _exit(1);
  // Nobody's child, so that no keeper of a tree takes it for what was left of one.
  const pid_t between = fork();
  if (between == 0) {
    if (fork() == 0) answerWith(abi, pair[1]);
    _exit(0);
  }
  waitpid(between, nullptr, 0);
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

void pretend(std::initializer_list<SeccompRule> rules) {
  SeccompPolicy policy;
  policy.unlisted = Verdict::allow();
  policy.foreignEntry = Verdict::allow();
  policy.rules = rules;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  loadProgram(compile(policy), Listener::kNone);
}

}  // namespace factionos::sandbox::testing
