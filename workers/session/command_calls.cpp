#include "workers/session/command_calls.h"

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sandbox/families.h"
#include "sandbox/landlock.h"

namespace factionos::session {
namespace {

using sandbox::Family;
using sandbox::is32;
using sandbox::masked;
namespace families = sandbox::families;

constexpr std::uint32_t kInit = 1;               // the keeper, in a pid namespace
constexpr std::uint32_t kIoPriorityProcess = 1;  // IOPRIO_WHO_PROCESS and _USER of the kernel's ioprio.h
constexpr std::uint32_t kIoPriorityUser = 3;

std::vector<int> socketFamilies(Network network, const sandbox::NamespacePosture& namespaces,
                                int landlockAbi) {
  std::vector<int> allowed;
  if (mayUseUnixSockets(namespaces, landlockAbi)) allowed.push_back(AF_UNIX);
  if (network != Network::kNone) allowed.insert(allowed.end(), {AF_INET, AF_INET6, AF_NETLINK});
  return allowed;
}

Family plain(std::string_view name, std::initializer_list<int> numbers) {
  Family family{name, {}};
  for (const int number : numbers) family.calls.push_back({number, {}});
  return family;
}

// TCP Fast Open connects within a send.
Family fastOpen() {
  constexpr std::uint32_t kFlag = MSG_FASTOPEN;
  return {"fastOpen",
          {{SYS_sendto, {masked(3, kFlag, kFlag)}},
           {SYS_sendmsg, {masked(2, kFlag, kFlag)}},
           {SYS_sendmmsg, {masked(3, kFlag, kFlag)}}}};
}

// The argument is a number other than 0: it has a bit.
void addUnlessZero(Family& family, int number, unsigned argument) {
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint64_t one = std::uint64_t{1} << bit;
    family.calls.push_back({number, {masked(argument, one, one)}});
  }
}

// prlimit64 on any process but the caller.
Family limitsOfOthers() {
  Family family{"limitsOfOthers", {}};
  addUnlessZero(family, SYS_prlimit64, 0);
  return family;
}

// Priorities of everything that this user runs.
Family prioritiesOfAll() {
  return {"prioritiesOfAll",
          {{SYS_setpriority, {is32(0, PRIO_USER)}}, {SYS_ioprio_set, {is32(0, kIoPriorityUser)}}}};
}

Family schedulingOfInit() {
  return {"schedulingOfInit",
          {{SYS_sched_setaffinity, {is32(0, kInit)}},
           {SYS_sched_setparam, {is32(0, kInit)}},
           {SYS_sched_setscheduler, {is32(0, kInit)}},
           {SYS_sched_setattr, {is32(0, kInit)}},
           {SYS_setpriority, {is32(0, PRIO_PROCESS), is32(1, kInit)}},
           {SYS_ioprio_set, {is32(0, kIoPriorityProcess), is32(1, kInit)}}}};
}

// Of any process, thread or group but the caller and its own.
Family schedulingOfOthers() {
  Family family{"schedulingOfOthers", {}};
  for (const int number :
       {SYS_sched_setaffinity, SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_setattr}) {
    addUnlessZero(family, number, 0);
  }
  for (const int number : {SYS_setpriority, SYS_ioprio_set}) addUnlessZero(family, number, 1);
  return family;
}

// Named by numbers that any process of the same user can guess or list.
Family sharedIpc() {
  return plain("sharedIpc",
               {SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl,
                SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink});
}

Family lineDisciplines() {
  return {"lineDisciplines", {{SYS_ioctl, {is32(1, TIOCSETD)}}}};
}

// What the kernel judges by the uid alone, on processes and files that nothing else hides.
void refuseWhatIsShared(sandbox::SeccompPolicy& policy, const sandbox::NamespacePosture& namespaces) {
  using sandbox::refuse;
  if (namespaces.pid) {
    policy.rules.push_back(refuse(schedulingOfInit(), EPERM, "the keeper has to be awake"));
  } else {
    policy.rules.push_back(
        refuse(schedulingOfOthers(), EPERM, "every process of this user could be made to starve"));
  }
  if (!namespaces.ipc)
    policy.rules.push_back(refuse(sharedIpc(), EPERM, "memory and queues of other processes"));
  if (!namespaces.mount) {
    policy.rules.push_back(
        refuse(families::attributesByPath(), EOPNOTSUPP,
               "attributes of any file of this user; tools take it for a file system without"));
    policy.rules.push_back(
        refuse(families::fileNotification(), EPERM, "watches what others do with their files"));
  }
}

}  // namespace

// AF_UNIX only where no socket of others is in sight: file sockets are hidden by a mount namespace, abstract
// ones by a network namespace or by Landlock's scope.
bool mayUseUnixSockets(const sandbox::NamespacePosture& namespaces, int landlockAbi) {
  return namespaces.mount && (namespaces.network || landlockAbi >= sandbox::kAbiOfScopes);
}

sandbox::SeccompPolicy commandCalls(Network network, const sandbox::NamespacePosture& namespaces,
                                    int landlockAbi) {
  using sandbox::refuse;
  sandbox::SeccompPolicy policy;
  policy.unlisted = sandbox::Verdict::allow();
  policy.foreignEntry = sandbox::Verdict::fail(ENOSYS);
  policy.rules = {
      refuse(families::mounting(), EPERM, "a mount would show what is hidden, or hide what is guarded"),
      refuse(families::namespaceCalls(), EPERM, "a new user namespace brings every capability back"),
      refuse(families::cloneNamespaces(), EPERM, "the same by clone"),
      refuse(families::clone3(), ENOSYS, "its flags can't be read by a filter; libc falls back to clone"),
      refuse(families::ioUring(), ENOSYS, "a second way to every call; libraries fall back"),
      refuse(families::kernelSurface(), EPERM, "wide kernel interfaces that no build needs"),
      refuse(families::administration(), EPERM, "the machine's own affairs"),
      refuse(families::fileHandles(), EPERM, "opens files without walking a path"),
      refuse(families::terminalInjection(), EPERM, "types into the terminal of whoever shares it"),
      refuse(families::fileSystemControls(), EPERM,
             "makes names, and locks files, that no rule of a file system's rights sees"),
      refuse(lineDisciplines(), EPERM, "loads a driver between terminal and program"),
      refuse(families::personalities(), EPERM, "changes what the kernel means by a call"),
      refuse(families::socketsBut(socketFamilies(network, namespaces, landlockAbi)), EACCES,
             "the network profile's families alone"),
      refuse(limitsOfOthers(), EPERM,
             "lowering another's limits ends it; Landlock does not look at this call"),
      refuse(prioritiesOfAll(), EPERM, "slows down everything else of this user"),
      refuse(families::setIdModes(), EPERM, "whoever executes such a file becomes the broker's user"),
      refuse(families::openByStructure(), ENOSYS,
             "its mode can't be read by a filter; callers fall back to openat"),
      refuse(families::memoryFiles(), ENOSYS,
             "memory that no limit sees, code without a file; callers fall back"),
      refuse(families::newerThanKnown(), ENOSYS, "calls that nobody has judged yet"),
  };
  if (network == Network::kFull)
    policy.rules.push_back(refuse(fastOpen(), EOPNOTSUPP, "connects past Landlock's port rules"));
  refuseWhatIsShared(policy, namespaces);
  return policy;
}

}  // namespace factionos::session
