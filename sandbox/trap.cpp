#include <csignal>

#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/events.h"
#include "sandbox/seccomp.h"
#include "sandbox/setup_error.h"

namespace factionos::sandbox {
namespace {

// Runs in whatever state the process was caught in: writes and ends, nothing else. SIGSYS is blocked
// meanwhile, so a filter that refuses even this ends the process by the signal itself.
void reportAndEnd(int, siginfo_t* info, void*) {
  const auto number = static_cast<std::uint32_t>(info->si_syscall);
  writeEvent(kEventDescriptor, {EventCode::kTrapped, {number, info->si_arch, 0}});
  while (true) syscall(SYS_exit_group, kTrapExitStatus);
}

}  // namespace

void installTrapHandler() {
  struct sigaction action {};
  action.sa_sigaction = reportAndEnd;
  action.sa_flags = SA_SIGINFO;
  sigfillset(&action.sa_mask);
  checked(Step::kSeccomp, sigaction(SIGSYS, &action, nullptr), "trap_handler_refused");
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGSYS);
  checked(Step::kSeccomp, sigprocmask(SIG_UNBLOCK, &set, nullptr), "trap_handler_refused");
}

}  // namespace factionos::sandbox
