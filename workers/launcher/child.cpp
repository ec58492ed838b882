#include "workers/launcher/child.h"

#include "sandbox/events.h"

namespace factionos::launcher {
namespace {

// A worker has a handful of things to say in its whole life; one that says more is broken or hostile.
constexpr unsigned kMostRecords = 256;

// What a dead worker wrote last is already in the pipe; the deadline is for a descriptor that it passed on.
constexpr auto kLastWords = 200 * kj::MILLISECONDS;

}  // namespace

static_assert(sandbox::kEventBytes == 32);

Child::Child(rpc::Loop& loop, Reaper& reaper, pid_t pid, rpc::OwnFd events)
    : reaper_(reaper),
      pid_(pid),
      events_(loop.lowLevel().wrapInputFd(events.release(), kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP)),
      tasks_(*this),
      exited_(nullptr) {
  auto read = readEvents().catch_([](kj::Exception&&) {}).fork();
  tasks_.add(read.addBranch());
  auto lastWords = [this, &loop, read = kj::mv(read)](int status) mutable {
    return read.addBranch().exclusiveJoin(loop.timer().afterDelay(kLastWords)).then([this, status]() {
      return ChildExit{status, refusedCall_, brokeEvents_};
    });
  };
  exited_ = reaper.watch(pid).then(kj::mv(lastWords)).fork();
}

kj::Promise<void> Child::readEvents() {
  return events_->tryRead(record_.data(), record_.size(), record_.size())
      .then([this](std::size_t got) -> kj::Promise<void> {
        if (got < record_.size()) return kj::READY_NOW;
        const std::optional<sandbox::Event> event = sandbox::parseEvent(record_);
        if (!event || ++records_ > kMostRecords) {
          brokeEvents_ = true;
          kill();
          return kj::READY_NOW;
        }
        if (event->code == sandbox::EventCode::kTrapped) refusedCall_ = static_cast<int>(event->numbers[0]);
        return readEvents();
      });
}

void Child::taskFailed(kj::Exception&&) {
  kill();
}

}  // namespace factionos::launcher
