#include "tests/integration/front/front_process.h"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace factionos::front::test {
namespace {

constexpr uid_t kNobody = 65534;

int must(int result) {
  if (result < 0) throw std::system_error(errno, std::generic_category());
  return result;
}

// A worker accepts only a socketpair that its own user made: this thread is that user for a moment.
void socketPairOf(uid_t user, int ends[2]) {
  if (geteuid() == 0) must(static_cast<int>(syscall(SYS_setresuid, -1, user, -1)));
  const int made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
  if (getuid() == 0) must(static_cast<int>(syscall(SYS_setresuid, -1, 0, -1)));
  must(made);
}

[[noreturn]] void become(int program, int line, int events, std::optional<rlim_t> descriptorLimit) {
  // Out of the way of 3 and 4 first.
  const int high[3] = {fcntl(program, F_DUPFD_CLOEXEC, 10), fcntl(line, F_DUPFD_CLOEXEC, 10),
                       fcntl(events, F_DUPFD_CLOEXEC, 10)};
  const int null = open("/dev/null", O_RDWR);
  for (int standard = 0; standard <= 2; ++standard) dup2(null, standard);
  dup2(high[1], 3);
  dup2(high[2], 4);
  syscall(SYS_close_range, 5, 9, 0);
  if (descriptorLimit) {
    const rlimit limit{*descriptorLimit, *descriptorLimit};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (getuid() == 0 && (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
                        setresuid(kNobody, kNobody, kNobody) != 0)) {
    _exit(126);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char name[] = "front";
  char* arguments[] = {name, nullptr};
  char* environment[] = {nullptr};
  fexecve(high[0], arguments, environment);
  _exit(127);
}

}  // namespace

FrontProcess::FrontProcess(std::optional<rlim_t> descriptorLimit) {
  const sandbox::Fd program(must(open(FACTIONOS_FRONT_PATH, O_RDONLY | O_CLOEXEC)));
  int ends[2];
  socketPairOf(kNobody, ends);
  line_ = sandbox::Fd(ends[0]);
  const sandbox::Fd theirs(ends[1]);
  auto pipe = sandbox::makePipe();
  eventsOut_ = std::move(pipe.read);
  pid_ = must(fork());
  if (pid_ == 0) become(program.get(), theirs.get(), pipe.write.get(), descriptorLimit);
}

FrontProcess::~FrontProcess() {
  if (reaped_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

long FrontProcess::residentKiB() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  return -1;
}

ExitStatus FrontProcess::wait() {
  const sandbox::Fd handle(must(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0))));
  pollfd ended{handle.get(), POLLIN, 0};
  if (poll(&ended, 1, 20000) != 1)
    throw std::system_error(ETIMEDOUT, std::generic_category(), "the front lives on");
  int status = 0;
  must(waitpid(pid_, &status, 0));
  reaped_ = true;
  if (WIFSIGNALED(status)) return {-1, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

std::vector<sandbox::Event> FrontProcess::events() {
  std::vector<sandbox::Event> all;
  pollfd readable{eventsOut_.get(), POLLIN, 0};
  while (poll(&readable, 1, 0) == 1 && (readable.revents & POLLIN) != 0) {
    sandbox::EventBytes bytes{};
    if (read(eventsOut_.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) break;
    if (const auto event = sandbox::parseEvent(bytes)) all.push_back(*event);
  }
  return all;
}

}  // namespace factionos::front::test
