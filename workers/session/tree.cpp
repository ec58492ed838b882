#include "workers/session/tree.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kj/async-io.h>

#include "sandbox/setup_error.h"

namespace factionos::session {
namespace {

constexpr auto kKillRound = std::chrono::seconds(5);

// Denials of the sandbox carry the reason of the step as rule; all of them are literals of ours.
Denied failure(std::string reason) {
  static constexpr std::string_view kExec = "exec_refused";
  if (reason == kExec) return {"exec_failed", "execveat"};
  if (reason == "program_changed" || reason == "operand_changed")
    return {"approval_drift", "changed_before_exec", std::move(reason)};
  return {"sandbox_unavailable", "setup", std::move(reason)};
}

Posture lines(const std::string& text) {
  Posture labels;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) labels.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return labels;
}

}  // namespace

void LastResort::killAll() const {
  while (true) {
    const sandbox::TreeEnd end =
        proof_ ? sandbox::killDomain(*proof_, kKillRound) : sandbox::killAdopted(kKillRound);
    if (end == sandbox::TreeEnd::kEmpty) return;
  }
}

struct Tree::Line {
  sandbox::Fd socket;  // before the stream that borrows it
  kj::Own<kj::AsyncIoStream> stream;
  Report header;
  std::string text;
};

Tree::Tree(rpc::Loop& loop, KeeperPlan plan, const LastResort& lastResort)
    : loop_(loop), lastResort_(lastResort), ended_(nullptr) {
  int ends[2];
  sandbox::checked(sandbox::Step::kDescriptors, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends),
                   "socketpair_refused");
  line_ = std::make_unique<Line>();
  line_->socket.reset(ends[0]);
  const sandbox::Fd keeperEnd(ends[1]);
  plan.control = keeperEnd.get();
  plan.session = getpid();
  keeper_ = sandbox::checked(sandbox::Step::kTree, fork(), "fork_refused");
  if (keeper_ == 0) runKeeper(plan);
  line_->stream = loop.lowLevel().wrapSocketFd(line_->socket.get(), 0);

  auto start = kj::newPromiseAndFulfiller<std::variant<Posture, Denied>>();
  start_ = kj::mv(start.fulfiller);
  started_ = kj::mv(start.promise);
  ended_ = readReports()
               .catch_([](kj::Exception&&) {})  // a broken line is a lost keeper
               .then([this]() { return reapKeeper(); })
               .then([this]() {
                 over_ = true;
                 if (start_->isWaiting()) start_->fulfill(Denied{"sandbox_unavailable", "keeper_lost"});
                 return end_;
               })
               .fork();
}

Tree::~Tree() noexcept(false) = default;

kj::Promise<std::variant<Posture, Denied>> Tree::whenStarted() {
  FACTIONOS_IF_SOME(promise, started_) {
    kj::Promise<std::variant<Posture, Denied>> once = kj::mv(promise);
    started_ = rpc::kNone;
    return once;
  }
  return std::variant<Posture, Denied>(Denied{"already_started"});
}

kj::Promise<void> Tree::readReports() {
  return line_->stream->tryRead(&line_->header, sizeof line_->header, sizeof line_->header)
      .then([this](std::size_t got) -> kj::Promise<void> {
        if (got < sizeof line_->header || line_->header.textBytes > kReportTextBytes) return kj::READY_NOW;
        line_->text.resize(line_->header.textBytes);
        return line_->stream->tryRead(line_->text.data(), line_->text.size(), line_->text.size())
            .then([this](std::size_t size) -> kj::Promise<void> {
              if (size < line_->text.size()) return kj::READY_NOW;
              return take(line_->header, std::exchange(line_->text, {}));
            });
      });
}

kj::Promise<void> Tree::take(const Report& report, std::string text) {
  switch (report.kind) {
    case Report::Kind::kKeeper:
      // The one that we forked has made an init and ends; we adopt the init.
      waitpid(keeper_, nullptr, 0);
      keeper_ = static_cast<pid_t>(report.numbers[0]);
      break;
    case Report::Kind::kStarted:
      if (start_->isWaiting()) start_->fulfill(lines(text));
      break;
    case Report::Kind::kFailed:
      if (start_->isWaiting()) start_->fulfill(failure(std::move(text)));
      break;
    case Report::Kind::kEnded:
      end_ = {static_cast<int>(report.numbers[kWaitStatus]), static_cast<End>(report.numbers[kReason]),
              report.numbers[kCpuMs], report.numbers[kMaxRssBytes],
              static_cast<std::uint32_t>(report.numbers[kPeakProcesses])};
      break;
  }
  return readReports();
}

// The keeper has closed its line: with a pid namespace the tree is gone when it has ended; without, when it
// said so.
kj::Promise<void> Tree::reapKeeper() {
  keeperHandle_.reset(static_cast<int>(syscall(SYS_pidfd_open, keeper_, 0U)));
  kj::Promise<void> gone = kj::READY_NOW;
  if (keeperHandle_) gone = loop_.waitReadable(keeperHandle_.get());
  return gone.then([this]() {
    waitpid(keeper_, nullptr, __WALL);
    lastResort_.killAll();
  });
}

void Tree::order(const Order& order) {
  if (!over_) sendAll(line_->socket.get(), &order, sizeof order);
}

void Tree::kill() {
  order({Order::Kind::kKill, 0});
}
void Tree::signal(std::uint32_t number) {
  order({Order::Kind::kSignal, number});
}

}  // namespace factionos::session
