#include "sandbox/verify/stage.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/errno_name.h"
#include "sandbox/events.h"
#include "sandbox/seccomp.h"

namespace factionos::sandbox::verify {
namespace {

constexpr std::chrono::milliseconds kPatience{5000};  // on a busy machine; a try takes microseconds

[[noreturn]] void failed(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The pid of whoever wrote the byte, as this process knows it, whatever namespace the writer is in.
pid_t writerOf(int line) {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  if (recvmsg(line, &message, MSG_DONTWAIT) != 1) return -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_CREDENTIALS) return -1;
  ucred writer{};
  std::memcpy(&writer, CMSG_DATA(header), sizeof writer);
  return writer.pid;
}

}  // namespace

bool Seen::killedByFilter() const {
  return ending == Ending::kTrapped || (ending == Ending::kSignal && signal == SIGSYS);
}

bool Seen::byFilter() const {
  return killedByFilter() || (ending == Ending::kReturned && error == kSentinel);
}

std::string Seen::text() const {
  switch (ending) {
    case Ending::kTrapped:
      return "SIGSYS (" + detail + ")";
    case Ending::kSignal:
      return "SIG" + std::string(sigabbrev_np(signal) == nullptr ? "?" : sigabbrev_np(signal));
    case Ending::kTimedOut:
      return "no answer";
    case Ending::kNotEntered:
      return "not entered: " + detail + (error == 0 ? "" : " (" + std::string(errnoName(error)) + ")");
    case Ending::kEnded:
      return "ended";
    case Ending::kReturned:
      break;
  }
  if (error == kSentinel) return "refused by the filter";
  return error == 0 ? (happened ? "worked" : "without effect") : std::string(errnoName(error));
}

Stage::Stage(World& world, const Subject& subject, Setting setting, Shelf& shelf)
    : world_(world), setting_(setting) {
  void* const memory = mmap(nullptr, sizeof(Desk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) failed("shared memory");
  desk_ = new (memory) Desk;
  world_.desk = desk_;
  int line[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0) failed("socketpair");
  line_.reset(line[0]);
  const Fd theirs(line[1]);
  const int on = 1;
  setsockopt(line[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  int events[2];
  if (pipe2(events, O_CLOEXEC | O_NONBLOCK) != 0) failed("pipe");
  events_.reset(events[0]);
  const Fd writeEnd(events[1]);
  warden_ = fork();
  if (warden_ < 0) failed("fork");
  if (warden_ == 0) {
    Part part{world, subject, setting, shelf, *desk_, theirs.get(), writeEnd.get()};
    playWarden(part);
  }
}

Stage::~Stage() {
  end();
  desk_->stop = true;
  if (world_.desk == desk_) world_.desk = nullptr;
  munmap(desk_, sizeof(Desk));
}

void Stage::end() {
  if (warden_ <= 0) return;
  desk_->act = nullptr;
  ++desk_->asked;
  desk_->mayEnter = true;
  desk_->changed();
  int status = 0;
  const auto gone = [&] { return waitpid(warden_, &status, WNOHANG) != 0; };
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, warden_, 0U)));
  pollfd ending{process.get(), POLLIN, 0};
  if (process) poll(&ending, 1, static_cast<int>(kPatience.count()));
  if (!gone()) {
    ::kill(warden_, SIGKILL);
    waitpid(warden_, &status, 0);
  }
  warden_ = -1;
  usable_ = false;
}

void Stage::waitUntilEntered(Control control) {
  const auto ended = [this] {
    return desk_->phase == Desk::Phase::kFailed || desk_->phase == Desk::Phase::kEnded;
  };
  if (!desk_->waitUntil([&] { return ended() || desk_->phase != Desk::Phase::kStarting; }, kPatience)) return;
  if (const pid_t writer = writerOf(line_.get()); writer > 0) actor_ = writer;
  if (control == Control::kUnentered) return;
  desk_->mayEnter = true;
  desk_->changed();
  desk_->waitUntil([&] { return ended() || desk_->phase == Desk::Phase::kEntered; }, kPatience);
}

Seen Stage::attempt(const Act& act, Allowed allowed) {
  const bool before = act.control == Control::kUnentered && setting_.depth == Setting::Depth::kNamespaces;
  waitUntilEntered(before ? Control::kUnentered : Control::kOpen);
  if (desk_->phase == Desk::Phase::kFailed || desk_->phase == Desk::Phase::kStarting) {
    usable_ = false;
    Seen seen;
    seen.ending = Seen::Ending::kNotEntered;
    seen.error = desk_->error;
    seen.detail = desk_->reason.data();
    return seen;
  }
  world_.desk = desk_;
  world_.line = line_.get();
  world_.actor = actor_;
  if (act.act == nullptr) return look(act, allowed, {});
  desk_->evidence = {};
  desk_->act = &act;
  const int number = ++desk_->asked;
  desk_->changed();
  const bool answered = desk_->waitUntil(
      [&] { return desk_->answered == number || desk_->phase == Desk::Phase::kEnded; }, kPatience);
  Seen seen;
  if (!answered) {
    seen.ending = Seen::Ending::kTimedOut;
  } else if (desk_->answered == number) {
    seen.error = desk_->evidence.error;
  } else {
    seen = howItEnded();
  }
  return look(act, allowed, seen);
}

Seen Stage::look(const Act& act, Allowed allowed, Seen seen) {
  if (act.look == Look::kAfterEnd) end();
  seen.happened = act.happened != nullptr ? act.happened(world_, desk_->evidence)
                                          : seen.ending == Seen::Ending::kReturned && seen.error == 0;
  if ((seen.happened && allowed == Allowed::kNo) || seen.ending != Seen::Ending::kReturned) usable_ = false;
  return seen;
}

Seen Stage::howItEnded() const {
  Seen seen;
  const int status = desk_->waitStatus;
  EventBytes bytes;
  if (read(events_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
    const auto event = parseEvent(bytes);
    if (event && event->code == EventCode::kTrapped && WIFEXITED(status) &&
        WEXITSTATUS(status) == kTrapExitStatus) {
      seen.ending = Seen::Ending::kTrapped;
      seen.detail = callName(static_cast<int>(event->numbers[0] & ~0x40000000ULL));
      return seen;
    }
  }
  seen.ending = WIFSIGNALED(status) ? Seen::Ending::kSignal : Seen::Ending::kEnded;
  seen.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return seen;
}

}  // namespace factionos::sandbox::verify
