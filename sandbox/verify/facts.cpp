#include <cerrno>
#include <csignal>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/verify/run.h"

namespace factionos::sandbox::verify {
namespace {

// Where the kernel has no such entry the processor faults.
bool hasForeign32() {
#ifdef __x86_64__
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    long result = 20;  // getpid of i386
    asm volatile("int $0x80" : "+a"(result) : : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory");
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status);
#else
  return false;
#endif
}

}  // namespace

Facts gatherFacts() {
  Facts facts;
  utsname name{};
  uname(&name);
  facts.kernel = std::string(name.sysname) + " " + name.release + " " + name.machine;
  facts.support = probeKernel();
  facts.foreign32 = hasForeign32();
  facts.gainable = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
  rlimit core{};
  facts.cores = getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max > 1;
  if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2) facts.around = Around::kFiltered;
  return facts;
}

bool Facts::has(Feature feature) const {
  switch (feature) {
    case Feature::kForeign32:
      return foreign32;
    case Feature::kGainablePrivileges:
      return gainable;
    case Feature::kCoreFiles:
      return cores;
    default:
      return verify::has(support, feature);
  }
}

Feature Facts::missing(const Guarantee& guarantee) const {
  return verify::missing(guarantee, [this](Feature feature) { return has(feature); });
}

}  // namespace factionos::sandbox::verify
