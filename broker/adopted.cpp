#include "broker/adopted.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace factionos::broker {
namespace {

constexpr int kPauseMs = 10;

// The kernel's list is a line of pids. A child of a child that dies meanwhile shows up in the next round.
void killListed(int task) {
  const sandbox::Fd list(::openat(task, "children", O_RDONLY | O_CLOEXEC));
  if (!list) return;
  std::string text;
  char chunk[4096];
  for (ssize_t size = 0; (size = ::read(list.get(), chunk, sizeof chunk)) > 0;)
    text.append(chunk, static_cast<std::size_t>(size));
  std::string_view rest(text);
  while (!rest.empty()) {
    pid_t pid = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
    if (parsed.ec == std::errc() && pid > 1) ::kill(pid, SIGKILL);
    const auto space = rest.find(' ');
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  }
}

}  // namespace

AdoptedChildren::AdoptedChildren()
    : task_(::open(("/proc/self/task/" + std::to_string(::syscall(SYS_gettid))).c_str(),
                   O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!task_) throw std::system_error(errno, std::system_category(), "can't open the list of children");
}

bool AdoptedChildren::endAll(std::chrono::milliseconds limit) const {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < deadline) {
    killListed(task_.get());
    for (;;) {
      const pid_t reaped = ::waitpid(-1, nullptr, WNOHANG);
      if (reaped < 0 && errno == ECHILD) return true;
      if (reaped <= 0) break;
    }
    ::poll(nullptr, 0, kPauseMs);
  }
  return false;
}

sandbox::Family adoptedChildren() {
  sandbox::Family family{"adoptedChildren", {{SYS_wait4, {}}, {SYS_waitid, {}}}};
  // One process by its pid: not a group, not everybody, not init.
  for (const auto& block : sandbox::rangeBlocks(0, 2, 0x7fffffff, 32))
    family.calls.push_back({SYS_kill, {block}});
  return family;
}

}  // namespace factionos::broker
