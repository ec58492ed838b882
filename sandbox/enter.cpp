#include "sandbox/enter.h"

#include <algorithm>
#include <cerrno>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/capabilities.h"
#include "sandbox/descriptors.h"
#include "sandbox/self_check.h"

namespace factionos::sandbox {
namespace {

constexpr int kMemoryDenyWriteExecute = 65;        // PR_SET_MDWE, Linux 6.3
constexpr unsigned long kRefuseExecutionGain = 1;  // PR_MDWE_REFUSE_EXEC_GAIN

// The kernel says EINVAL to unshare(CLONE_THREAD) exactly if there is a second thread; with one it changes
// nothing.
[[maybe_unused]] bool singleThreaded() {  // the sanitizers' run-time has threads of its own
  if (unshare(CLONE_THREAD | CLONE_SIGHAND | CLONE_VM) == 0) return true;
  if (errno == EINVAL) return false;
  struct stat tasks {};  // an outer filter may refuse unshare: "." and ".." and one entry a thread
  return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

// Landlock and seccomp hold for the calling thread alone, and for root the kernel would leave too many doors.
void refuseRootAndThreads() {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  checked(Step::kIdentity, getresuid(&real, &effective, &saved), "identity_unreadable");
  if (real == 0 || effective == 0 || saved == 0) throw SetupError(Step::kIdentity, EPERM, "root_refused");
#ifndef FACTIONOS_SANITIZED
  if (!singleThreaded()) throw SetupError(Step::kIdentity, EINVAL, "threads_refused");
#endif
}

void lowerLimits(const Policy& policy) {
  // 1 and not 0: where core_pattern is a pipe the kernel ignores the limit but for the value 1, and for a
  // file 1 is too small as well.
  const Limit noCore{RLIMIT_CORE, 1, "a core dump would hold what was never to be stored"};
  applyLimits({&noCore, 1});
  applyLimits(policy.limits);
}

void buildMounts(const Policy& policy, Posture& posture) {
  if (policy.mounts.empty()) return;
  if (!posture.namespaces.mount) {
    posture.missing.push_back("mounts_not_applied");
    return;
  }
  for (const std::string_view label : applyMounts(policy.mounts)) posture.missing.push_back(label);
  posture.mountsApplied = true;
}

void setNoNewPrivileges(Posture& posture) {
  checked(Step::kNoNewPrivileges, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs_refused");
  posture.noNewPrivileges = true;
}

void hideFromTracers(const Policy& policy, Posture& posture) {
  checked(Step::kDumpable, prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable_refused");
  posture.dumpable = false;
  if (policy.memoryExecution == MemoryExecution::kUnrestricted) return;
  posture.memoryExecutionRefused = prctl(kMemoryDenyWriteExecute, kRefuseExecutionGain, 0, 0, 0) == 0;
  if (!posture.memoryExecutionRefused) posture.missing.push_back("memory_execution_not_refused");
}

void restrictFiles(const Policy& policy, Posture& posture) {
  const LandlockProbe probe = LandlockProbe::before(policy.files);
  posture.landlock = restrictByLandlock({policy.files, policy.tcp, policy.scopes, policy.denialLog});
  probe.after();
  for (const std::string_view label : posture.landlock.missing) posture.missing.push_back(label);
}

void loadFilter(const SeccompPolicy& policy, const Program& program, Traps traps) {
  if (traps == Traps::kReport) installTrapHandler();
  const bool notifies = policy.listenerTo >= 0;
  const Fd listener(loadProgram(program, notifies ? Listener::kWanted : Listener::kNone));
  if (notifies) sendListener(policy.listenerTo, listener);
}

void filterCalls(const Policy& policy, const Program& program, Posture& posture) {
  if (policy.seccomp.scope == SeccompScope::kNone) return;
  loadFilter(policy.seccomp, program, policy.traps);
  posture.seccompMode = 2;
}

// What must happen while everything may still be done: memory files, forks.
struct Prepared {
  Program program;
  NamespaceSupport support;
};

Prepared prepare(const Policy& policy, const NamespacePosture* inherited) {
  Prepared prepared;
  if (policy.seccomp.scope == SeccompScope::kFiltered) {
    prepared.program = compile(withSelfCheck(policy));
  }
  if (inherited == nullptr && anyWanted(policy.namespaces)) prepared.support = probeNamespaces();
  return prepared;
}

// The order is not free. Descriptors first, so that nothing below leaks what was open. Maps can only be
// written while dumpable, and mounts only made with the capabilities of the user namespace and outside of
// Landlock. no_new_privs must stand before Landlock and seccomp. seccomp is last but for the check, because
// it forbids the steps before it.
Posture carryOut(const Policy& policy, const NamespacePosture* inherited) {
  refuseRootAndThreads();
  closeAllBut(policy.keep);
  const Prepared prepared = prepare(policy, inherited);
  Posture posture;
  posture.policy = policy.name;
  lowerLimits(policy);
  posture.namespaces =
      inherited != nullptr ? *inherited : enterNamespaces(policy.namespaces, prepared.support);
  posture.missing = posture.namespaces.missing;
  buildMounts(policy, posture);
  posture.boundingSetDropped = dropCapabilities() == BoundingSet::kDropped;
  posture.capabilitiesDropped = true;
  setNoNewPrivileges(posture);
  hideFromTracers(policy, posture);
  restrictFiles(policy, posture);
  filterCalls(policy, prepared.program, posture);
  checkSelf(policy);
  return posture;
}

}  // namespace

Posture enter(const Policy& policy) {
  if (policy.namespaces.pid != Need::kOff) {
    throw SetupError(Step::kNamespaces, EINVAL, "pid_namespace_needs_fork");
  }
  return carryOut(policy, nullptr);
}

Posture enterInside(const Policy& policy, const NamespacePosture& namespaces) {
  return carryOut(policy, &namespaces);
}

void narrow(const LandlockPolicy& landlock, const SeccompPolicy& seccomp, Traps traps) {
  const bool filters = seccomp.scope == SeccompScope::kFiltered;
  const Program program = filters ? compile(seccomp) : Program{};
  restrictByLandlock(landlock);
  if (filters) loadFilter(seccomp, program, traps);
}

}  // namespace factionos::sandbox
