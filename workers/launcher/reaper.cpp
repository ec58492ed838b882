#include "workers/launcher/reaper.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/tree.h"

namespace factionos::launcher {
namespace {

// A keeper that lost its session ends its tree by itself, and knows better how; what is still here after this
// long is killed.
constexpr auto kGrace = 2 * kj::SECONDS;
constexpr auto kGraceAtEnd = std::chrono::seconds(3);
constexpr auto kLastDeadline = std::chrono::seconds(10);

std::vector<pid_t> ownChildren() {
  const std::string path = "/proc/self/task/" + std::to_string(gettid()) + "/children";
  const sandbox::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while (file && (got = read(file.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  std::vector<pid_t> children;
  for (std::size_t at = 0; at < text.size();) {
    children.push_back(static_cast<pid_t>(std::strtol(text.c_str() + at, nullptr, 10)));
    const std::size_t space = text.find(' ', at);
    at = space == std::string::npos ? text.size() : space + 1;
  }
  return children;
}

}  // namespace

Reaper::Reaper(rpc::Loop& loop) : loop_(loop), tasks_(*this) {
  sandbox::becomeSubreaper();
  tasks_.add(run());
}

// Without its eyes on its children the launcher could keep no promise: its death ends them.
void Reaper::taskFailed(kj::Exception&&) {
  std::abort();
}

kj::Promise<int> Reaper::watch(pid_t child) {
  auto ended = kj::newPromiseAndFulfiller<int>();
  children_[child] = kj::mv(ended.fulfiller);
  return kj::mv(ended.promise);
}

void Reaper::kill(pid_t child) {
  if (children_.contains(child)) ::kill(child, SIGKILL);
}

kj::Promise<bool> Reaper::stop(pid_t child) {
  if (!children_.contains(child)) return false;
  ::kill(child, SIGSTOP);
  // Of one that stands still already the kernel says it no second time.
  if (stopped_.contains(child)) return true;
  auto stopped = kj::newPromiseAndFulfiller<bool>();
  stopping_[child] = kj::mv(stopped.fulfiller);
  return kj::mv(stopped.promise);
}

kj::Promise<void> Reaper::run() {
  return loop_.onSignal(SIGCHLD).then([this](int) {
    reap();
    return run();
  });
}

void Reaper::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
    stopped_.erase(pid);
    if (WIFCONTINUED(status)) continue;
    if (auto stopping = stopping_.extract(pid)) stopping.mapped()->fulfill(WIFSTOPPED(status));
    if (WIFSTOPPED(status)) {
      if (children_.contains(pid)) stopped_.insert(pid);
      continue;
    }
    adopted_.erase(pid);
    const auto child = children_.find(pid);
    if (child == children_.end()) continue;
    child->second->fulfill(kj::mv(status));
    children_.erase(child);
  }
  sweepSoon();
}

void Reaper::sweepSoon() {
  if (sweep_ == Sweep::kComing) return;
  sweep_ = Sweep::kComing;
  tasks_.add(loop_.timer().afterDelay(kGrace).then([this]() { sweep(); }));
}

// Who was adopted before the last sweep and is still here has had its time.
void Reaper::sweep() {
  sweep_ = Sweep::kIdle;
  std::set<pid_t> adopted;
  for (const pid_t child : ownChildren()) {
    if (children_.contains(child)) continue;
    if (adopted_.contains(child)) ::kill(child, SIGKILL);
    adopted.insert(child);
  }
  adopted_ = std::move(adopted);
  if (!adopted_.empty()) sweepSoon();
}

void Reaper::endAll() {
  for (const auto& [pid, fulfiller] : children_) ::kill(pid, SIGKILL);
  const auto end = std::chrono::steady_clock::now() + kGraceAtEnd;
  while (std::chrono::steady_clock::now() < end) {
    const pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid < 0 && errno == ECHILD) return;
    const timespec pause{0, 5'000'000};
    if (pid == 0) nanosleep(&pause, nullptr);
  }
  sandbox::killAdopted(kLastDeadline);
}

}  // namespace factionos::launcher
