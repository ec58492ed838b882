#include "workers/probe/asking.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/enter.h"
#include "workers/common/descriptors.h"
#include "workers/common/signals.h"
#include "workers/probe/policy.h"

namespace factionos::probe {
namespace {

using sandbox::checked;
using sandbox::Step;

constexpr int kNotExecuted = 127;
constexpr auto kKillRound = std::chrono::seconds(1);

struct Ends {
  int printed = -1;
  int failure = -1;
};

// No variable of ours, no descriptor of ours but its own file, which a script's interpreter reads by its
// number: standard input and error are /dev/null since this process began.
[[noreturn]] void become(const Ends& ends, pid_t parent) noexcept {
  try {
    checked(Step::kIdentity, setsid(), "session_refused");
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) _exit(kNotExecuted);
    worker::defaultSignals();
    checked(Step::kDescriptors, dup2(ends.printed, STDOUT_FILENO), "pipe_refused");
    sandbox::Policy policy = programPolicy(worker::kScope, 0);
    policy.keep.push_back(ends.failure);
    sandbox::closeAllBut(policy.keep);
    sandbox::narrow({policy.files, policy.tcp, policy.scopes}, policy.seccomp, policy.traps);
    checked(Step::kDescriptors, fcntl(worker::kScope, F_SETFD, 0), "program_refused");
    const char* const words[] = {"container", "system", "version", "--format", "json", nullptr};
    const char* const none[] = {nullptr};
    syscall(SYS_execveat, worker::kScope, "", words, none, AT_EMPTY_PATH);
  } catch (const std::exception&) {
  }
  const ssize_t told = write(ends.failure, "!", 1);
  static_cast<void>(told);
  _exit(kNotExecuted);
}

enum class More { kMaybe, kNot, kTooMuch };

// Everything that waits in the pipe.
More take(int pipe, std::string& printed) {
  char buffer[4096];
  while (true) {
    const ssize_t got = read(pipe, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN ? More::kMaybe : More::kNot;
    if (got == 0) return More::kNot;
    printed.append(buffer, static_cast<std::size_t>(got));
    if (printed.size() > kMostPrinted) return More::kTooMuch;
  }
}

}  // namespace

Asking::Started Asking::start() const {
  sandbox::Pipe printed = sandbox::makePipe();
  sandbox::Pipe failure = sandbox::makePipe();
  checked(Step::kDescriptors, fcntl(printed.read.get(), F_SETFL, O_NONBLOCK), "pipe_refused");
  const pid_t parent = getpid();
  // Not fork(): the loop's library would close, in the child, what has the numbers of its own descriptors by
  // now.
  const pid_t pid = checked(Step::kIdentity, _Fork(), "fork_refused");
  if (pid == 0) become({printed.write.get(), failure.write.get()}, parent);
  Started started{pid, sandbox::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0U))),
                  std::move(printed.read), std::move(failure.read)};
  if (!started.process) {
    killAll();
    sandbox::failWithErrno(Step::kIdentity, "pidfd_refused");
  }
  return started;
}

// Resolves when it has printed too much, and never if it has not: that it closes its output is no end.
kj::Promise<void> Asking::listen(Started& started, Heard& heard) {
  return loop_.waitReadable(started.printed.get()).then([this, &started, &heard]() -> kj::Promise<void> {
    switch (take(started.printed.get(), heard.printed)) {
      case More::kMaybe:
        return listen(started, heard);
      case More::kNot:
        return kj::NEVER_DONE;
      case More::kTooMuch:
        break;
    }
    return kj::READY_NOW;
  });
}

// Its own status is taken before everything is killed; what was printed, after: nobody can add to it then,
// and nobody can keep the pipe open.
Heard Asking::end(Started& started, Heard heard, Event event) const {
  int status = 0;
  pid_t reaped = 0;
  while ((reaped = waitpid(started.pid, &status, WNOHANG)) < 0 && errno == EINTR) {
  }
  killAll();
  // By what there is, not by who was heard first: it may have ended in the moment in which it was too much.
  if (event != Event::kTooMuch) take(started.printed.get(), heard.printed);
  if (heard.printed.size() > kMostPrinted) event = Event::kTooMuch;
  char byte = 0;
  if (read(started.failure.get(), &byte, 1) == 1) {
    heard.end = Heard::End::kNotStarted;
  } else if (event == Event::kTooMuch) {
    heard.end = Heard::End::kTooMuch;
  } else if (reaped != started.pid) {
    heard.end = Heard::End::kLate;
  } else {
    heard.end = WIFEXITED(status) ? Heard::End::kExited : Heard::End::kSignalled;
    heard.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }
  return heard;
}

kj::Promise<Heard> Asking::ask(kj::Duration deadline) {
  struct Under {
    Started started;
    Heard heard;
  };
  return kj::evalNow([&]() {
           auto under = kj::heap<Under>();
           under->started = start();
           auto& [started, heard] = *under;
           const auto as = [](Event event) { return [event]() { return event; }; };
           return loop_.waitReadable(started.process.get())
               .then(as(Event::kEnded))
               .exclusiveJoin(listen(started, heard).then(as(Event::kTooMuch)))
               .exclusiveJoin(loop_.timer().afterDelay(deadline).then(as(Event::kLate)))
               .then([this, &started = started, &heard = heard](Event event) {
                 return end(started, std::move(heard), event);
               })
               .attach(kj::mv(under));
         })
      .catch_([this](kj::Exception&&) {
        killAll();
        return Heard{};
      });
}

// A process that can't die (stuck in the kernel) is waited for: who answers before has not told the truth.
void Asking::killAll() const {
  while ((scope_ ? sandbox::killDomain(*scope_, kKillRound) : sandbox::killAdopted(kKillRound)) !=
         sandbox::TreeEnd::kEmpty) {
  }
}

}  // namespace factionos::probe
