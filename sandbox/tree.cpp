#include "sandbox/tree.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/entries.h"
#include "sandbox/setup_error.h"

namespace factionos::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

// Between two rounds, for what was killed to end: far below what a caller's deadline is counted in.
constexpr std::chrono::milliseconds kRound{2};

// 0, or an errno. The null signal asks whether it could be sent, under the same checks.
int askBySignal(int pidfd) {
  return syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0U) == 0 ? 0 : errno;
}

enum class Children { kNone, kSome };

// Takes every ended child off the kernel's hands. Says whether a child that lives is left.
Children reap() {
  while (true) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG | __WALL);
    if (ended > 0 || (ended < 0 && errno == EINTR)) continue;
    return ended == 0 ? Children::kSome : Children::kNone;
  }
}

// Sleeps until a child ends or a round is over. SIGCHLD need not be blocked or handled for it.
void waitRound(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  const auto round = std::min(left, kRound);
  if (round.count() <= 0) return;
  const timespec time{0, static_cast<long>(round.count()) * 1'000'000};
  nanosleep(&time, nullptr);
}

std::vector<pid_t> parsePids(std::string_view text) {
  std::vector<pid_t> pids;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at < end) {
    pid_t pid = 0;
    const auto [next, error] = std::from_chars(at, end, pid);
    if (error == std::errc() && pid > 1) pids.push_back(pid);
    at = error == std::errc() ? next : at + 1;
  }
  return pids;
}

std::string readAll(const char* path) {
  const Fd file(open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file) return text;
  char buffer[4096];
  ssize_t got;
  while ((got = read(file.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

// The direct children of every thread of this process.
std::vector<pid_t> ownChildren() {
  std::vector<pid_t> children;
  const DirectoryStream tasks(opendir("/proc/self/task"));
  if (!tasks) failWithErrno(Step::kTree, "proc_unreadable");
  while (const dirent* const task = readdir(tasks.get())) {
    if (task->d_name[0] == '.') continue;
    const std::string path = "/proc/self/task/" + std::string(task->d_name) + "/children";
    const auto found = parsePids(readAll(path.c_str()));
    children.insert(children.end(), found.begin(), found.end());
  }
  return children;
}

}  // namespace

std::optional<OutsideWitness> OutsideWitness::take(pid_t outside) {
  if (outside <= 0 || outside == getpid()) return std::nullopt;
  Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, outside, 0U)));
  if (!pidfd || askBySignal(pidfd.get()) != 0) return std::nullopt;
  return OutsideWitness(std::move(pidfd));
}

std::optional<ProvenScope> ProvenScope::prove(const OutsideWitness& witness) {
  if (askBySignal(witness.pidfd()) != EPERM) return std::nullopt;
  return ProvenScope(getpid());
}

void becomeSubreaper() {
  checked(Step::kTree, prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "subreaper_refused");
}

TreeEnd killDomain(const ProvenScope& scope, std::chrono::milliseconds deadline) {
  if (scope.provenBy() != getpid()) throw SetupError(Step::kTree, EPERM, "scope_proven_by_another");
  const auto end = Clock::now() + deadline;
  while (true) {
    // Its result tells nothing: the kernel answers 0 also if every process that it looked at was out of reach.
    kill(-1, SIGKILL);
    // Whoever has no child has no descendant: what a dead child leaves becomes a child of a subreaper.
    if (reap() == Children::kNone) return TreeEnd::kEmpty;
    if (Clock::now() >= end) return TreeEnd::kDeadline;
    waitRound(end);
  }
}

TreeEnd killAdopted(std::chrono::milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  while (reap() == Children::kSome) {
    if (Clock::now() >= end) return TreeEnd::kDeadline;
    const std::vector<pid_t> children = ownChildren();
    for (const pid_t child : children) kill(child, SIGKILL);
    waitRound(end);
  }
  return TreeEnd::kEmpty;
}

}  // namespace factionos::sandbox
