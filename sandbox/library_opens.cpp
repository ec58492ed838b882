#include "sandbox/library_opens.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "sandbox/seccomp_eval.h"
#include "sandbox/setup_error.h"

namespace factionos::sandbox {
namespace {

constexpr std::uint32_t kWithinPage = 4095;  // no architecture has smaller pages
constexpr std::uint32_t kFlags = O_RDONLY | O_CLOEXEC;
constexpr std::size_t kMostPlaces = 64;  // a filter's jump goes 255 steps at most

// Whose opens the child is making; memory that its parent sees.
struct Places {
  std::array<std::uint32_t, kMostPlaces> found{};
  std::size_t count = 0;
};
struct Seen {
  Places librarys;
  Places programs;
};
Places* noting = nullptr;

void failWith(ucontext_t& context, int error) {
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RAX] = -error;
#elif defined(__aarch64__)
  context.uc_mcontext.regs[0] = static_cast<std::uint64_t>(-error);
#endif
}

void note(int, siginfo_t* info, void* context) {
  if (noting->count < kMostPlaces) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_call_addr);
    noting->found[noting->count++] = static_cast<std::uint32_t>(address) & kWithinPage;
  }
  failWith(*static_cast<ucontext_t*>(context), ENOENT);
}

void stopAtOpens() {
  struct sigaction action {};
  action.sa_sigaction = note;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGSYS);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  SeccompPolicy policy;
  policy.unlisted = Verdict::allow();
  policy.foreignEntry = Verdict::allow();
  policy.rules = {trap({"opens", {{SYS_openat, {is32(2, kFlags)}}}}, "to see where it returns to")};
  checked(Step::kNoNewPrivileges, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs_refused");
  loadProgram(compile(policy), Listener::kNone);
}

// Of things that are nowhere; nothing is opened in any case.
[[noreturn]] void letOpen(Seen& seen) noexcept {
  try {
    noting = &seen.librarys;
    stopAtOpens();
    static_cast<void>(dlopen("factionos-none.so", RTLD_LAZY));
    static_cast<void>(newlocale(LC_ALL_MASK, "none.UTF-8", nullptr));
    noting = &seen.programs;
    static_cast<void>(open("/none", O_RDONLY | O_CLOEXEC));
    static_cast<void>(openat(AT_FDCWD, "/none", O_RDONLY | O_CLOEXEC));
    if (FILE* const file = std::fopen("/none", "re"); file != nullptr) std::fclose(file);
    static_cast<void>(syscall(SYS_openat, AT_FDCWD, "/none", O_RDONLY | O_CLOEXEC, 0));
    _exit(0);
  } catch (const std::exception&) {
    _exit(1);
  }
}

std::vector<std::uint32_t> sorted(const Places& places) {
  std::vector<std::uint32_t> all(places.found.begin(),
                                 places.found.begin() + static_cast<std::ptrdiff_t>(places.count));
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool endedWell(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
}

sock_filter load(std::size_t offset) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)};
}

}  // namespace

std::vector<std::uint32_t> libraryOpens() {
  void* const memory = mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {};
  Seen& seen = *new (memory) Seen;
  const pid_t child = fork();
  if (child == 0) letOpen(seen);
  std::vector<std::uint32_t> places;
  if (child > 0 && endedWell(child))
    std::ranges::set_difference(sorted(seen.librarys), sorted(seen.programs), std::back_inserter(places));
  munmap(memory, sizeof(Seen));
  return places;
}

seccomp_data libraryOpen() {
  return callData(SYS_openat, {static_cast<std::uint64_t>(AT_FDCWD), 0, kFlags});
}

Program withoutOpens(const Program& program, std::span<const std::uint32_t> places) {
  if (places.empty()) return program;
  const auto count = static_cast<std::uint8_t>(std::min(places.size(), kMostPlaces));
  const seccomp_data meant = libraryOpen();
  // Low words, on little-endian machines. Whatever is different goes on behind the last of these steps, which
  // allows.
  std::vector<sock_filter> steps;
  const auto unless = [&steps, count](std::size_t offset, std::uint32_t value, unsigned stepsToPlaces) {
    const auto past = static_cast<std::uint8_t>(stepsToPlaces + count + 1U);
    steps.push_back(load(offset));
    steps.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, past, value});
  };
  unless(offsetof(seccomp_data, nr), static_cast<std::uint32_t>(meant.nr), 6);
  unless(offsetof(seccomp_data, arch), meant.arch, 4);
  unless(offsetof(seccomp_data, args) + 2 * sizeof meant.args[0], kFlags, 2);
  steps.push_back(load(offsetof(seccomp_data, instruction_pointer)));
  steps.push_back({BPF_ALU | BPF_AND | BPF_K, 0, 0, kWithinPage});
  for (std::uint8_t i = 0; i < count; ++i) {
    const auto toTheLast = static_cast<std::uint8_t>(count - i - 1);
    const std::uint8_t otherwise = toTheLast == 0 ? 1 : 0;
    steps.push_back({BPF_JMP | BPF_JEQ | BPF_K, toTheLast, otherwise, places[i]});
  }
  steps.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
  steps.insert(steps.end(), program.instructions.begin(), program.instructions.end());
  return {std::move(steps)};
}

}  // namespace factionos::sandbox
