// What a process inherits and may use up, and what others see of it.
#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/environment.h"
#include "sandbox/verify/act.h"
#include "sandbox/verify/attempts.h"
#include "sandbox/verify/world.h"

namespace factionos::sandbox::verify {
namespace {

// Above what any profile grants (see the caps that a subject is made with).
constexpr long kDescriptors = 5000;
constexpr long kProcesses = 96;
constexpr off_t kFileBytes = off_t{16} << 20;
constexpr std::size_t kMemoryBytes = std::size_t{768} << 20;

long openMany(Evidence& evidence) {
  std::array<bool, kDescriptors + 256> opened{};
  long result = 0;
  int error = 0;
  for (evidence.value = 0; evidence.value < kDescriptors; ++evidence.value) {
    result = dup(STDIN_FILENO);
    error = errno;
    if (result < 0 || result >= static_cast<long>(opened.size())) break;
    opened[static_cast<std::size_t>(result)] = true;
  }
  for (std::size_t number = 0; number < opened.size(); ++number) {
    if (opened[number]) close(static_cast<int>(number));
  }
  errno = error;
  return result;
}

long startMany(Evidence& evidence) {
  std::array<pid_t, kProcesses> children{};
  long result = 0;
  for (evidence.value = 0; evidence.value < kProcesses; ++evidence.value) {
    result = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (result < 0) break;
    if (result == 0) {
      while (true) pause();
    }
    children[static_cast<std::size_t>(evidence.value)] = static_cast<pid_t>(result);
  }
  const int error = errno;
  for (long each = 0; each < evidence.value; ++each) {
    kill(children[static_cast<std::size_t>(each)], SIGKILL);
    waitpid(children[static_cast<std::size_t>(each)], nullptr, 0);
  }
  errno = error;
  return result;
}

long growFile(const World& world) {
  const Fd file(open((world.workspace + "/large").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file || lseek(file.get(), kFileBytes, SEEK_SET) < 0) return -1;
  return write(file.get(), "x", 1);
}

bool grew(const World& world, const Evidence&) {
  struct stat status {};
  return stat((world.workspace + "/large").c_str(), &status) == 0 && status.st_size > kFileBytes;
}

long mapMuch(Evidence& evidence) {
  void* const memory =
      mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return -1;
  evidence.value = 1;
  return munmap(memory, kMemoryBytes);
}

long readLeak(Evidence& evidence) {
  if (lseek(kLeakDescriptor, 0, SEEK_SET) < 0) return -1;
  const long got = read(kLeakDescriptor, evidence.bytes.data(), kSecretBytes);
  if (got > 0) evidence.size = static_cast<std::size_t>(got);
  return got;
}

long showVariable(const World& world) {
  std::string text = "printf %s \"$" + world.variable + "\" > '" + world.workspace + "/seen'";
  std::string shell = "sh";
  std::string option = "-c";
  char* const arguments[] = {shell.data(), option.data(), text.data(), nullptr};
  std::vector<std::string> environment = world.environment;
  return run("/bin/sh", arguments, environmentPointers(environment).data());
}

// The line of /proc/PID/status, without its name.
std::string statusOf(pid_t pid, const std::string& name) {
  const std::string status = contentOf("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = status.find("\n" + name + ":\t");
  if (at == std::string::npos) return {};
  const std::size_t start = at + name.size() + 3;
  return status.substr(start, status.find('\n', start) - start);
}

bool anyCapability(const World& world, const Evidence&) {
  for (const char* const set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    if (statusOf(world.actor, set).find_first_not_of('0') != std::string::npos) return true;
  }
  return false;
}

bool reached(const World&, const Evidence& evidence, long goal) {
  return evidence.value >= goal;
}

constexpr Act kActs[] = {
    {"open-many", "open thousands of descriptors",
     [](const World&, Evidence& evidence) { return openMany(evidence); },
     [](const World& world, const Evidence& evidence) { return reached(world, evidence, kDescriptors); }},
    {"start-many", "start a hundred processes that stay",
     [](const World&, Evidence& evidence) { return startMany(evidence); },
     [](const World& world, const Evidence& evidence) { return reached(world, evidence, kProcesses); }},
    {"grow-file", "make a file larger than its cap",
     [](const World& world, Evidence&) { return growFile(world); }, grew},
    {"map-much", "take more memory than its cap",
     [](const World&, Evidence& evidence) { return mapMuch(evidence); },
     [](const World& world, const Evidence& evidence) { return reached(world, evidence, 1); }},
    {"use-leaked-descriptor", "read from a descriptor that was open before",
     [](const World&, Evidence& evidence) { return readLeak(evidence); },
     [](const World& world, const Evidence& evidence) {
       return world.secret == std::string_view(evidence.bytes.data(), evidence.size);
     }},
    {"inherit-variable", "hand on a variable of the caller's environment",
     [](const World& world, Evidence&) { return showVariable(world); },
     [](const World& world, const Evidence&) {
       return contentOf(world.workspace + "/seen") == world.variableValue;
     }},
    // Nothing is tried inside: what others see of it is asked.
    {"gain-privileges", "gain rights by executing a set-user-id program (no_new_privs)", nullptr,
     [](const World& world, const Evidence&) { return statusOf(world.actor, "NoNewPrivs") == "0"; }},
    {"hold-capabilities", "hold a capability of its namespace", nullptr, anyCapability, Control::kUnentered},
    {"be-read", "have its memory read by another process of this user", nullptr,
     [](const World& world, const Evidence&) { return memoryOf(world.actor) == world.inActor; }},
    {"dump-core", "leave a core file", nullptr,
     [](const World& world, const Evidence&) {
       rlimit limit{};
       return prlimit(world.actor, RLIMIT_CORE, nullptr, &limit) == 0 && limit.rlim_cur > 1;
     }},
};

}  // namespace

std::span<const Act> resourceActs() {
  return kActs;
}

}  // namespace factionos::sandbox::verify
