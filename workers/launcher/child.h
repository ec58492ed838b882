// One worker process: how it ended, and what its event pipe said.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include <sys/types.h>

#include <kj/async-io.h>
#include <kj/refcount.h>

#include "protocol/rpc/loop.h"
#include "workers/launcher/reaper.h"

namespace factionos::launcher {

struct ChildExit {
  int waitStatus = 0;
  int refusedCall =
      -1;  // number of the call that the worker's filter refused, as its last event told; -1: none
  bool brokeEvents = false;  // it was killed here for what it wrote on its event pipe
};

class Child final : public kj::Refcounted, private kj::TaskSet::ErrorHandler {
 public:
  // `events`: read end of the worker's event pipe. `reaper` and `loop` outlive it.
  Child(rpc::Loop& loop, Reaper& reaper, pid_t pid, rpc::OwnFd events);

  [[nodiscard]] pid_t process() const { return pid_; }
  kj::Promise<ChildExit> exited() { return exited_.addBranch(); }
  void kill() { reaper_.kill(pid_); }
  // Whether it lives: if so, it is stopped. Told by what the process does, not by how long it takes.
  kj::Promise<bool> stop() { return reaper_.stop(pid_); }

 private:
  kj::Promise<void> readEvents();
  void taskFailed(kj::Exception&& exception) override;

  Reaper& reaper_;
  pid_t pid_;
  kj::Own<kj::AsyncInputStream> events_;
  std::array<std::byte, 32> record_{};
  unsigned records_ = 0;
  int refusedCall_ = -1;
  bool brokeEvents_ = false;
  kj::TaskSet tasks_;
  kj::ForkedPromise<ChildExit> exited_;
};

}  // namespace factionos::launcher
