// Waits for every child: those that were started here, and those that were left to us by a session that died.
#pragma once

#include <map>
#include <set>

#include <sys/types.h>

#include <kj/async.h>

#include "protocol/rpc/loop.h"

namespace factionos::launcher {

class Reaper final : private kj::TaskSet::ErrorHandler {
 public:
  // Becomes a subreaper. `loop` outlives it.
  explicit Reaper(rpc::Loop& loop);
  KJ_DISALLOW_COPY(Reaper);

  // Resolves to the wait status once `child`, started by this process and watched at once, has ended and been
  // reaped.
  kj::Promise<int> watch(pid_t child);

  // Only while the child is not reaped, so the number can't be anybody else's.
  void kill(pid_t child);

  // Stops a watched child, asked once. True once it has stopped, at once if it had stopped itself; false if
  // it ended instead.
  kj::Promise<bool> stop(pid_t child);

  // Kills everything that is left, started here or adopted. Keepers of trees get the time to end their trees
  // first. Blocks; the last thing that this process does.
  void endAll();

 private:
  enum class Sweep { kIdle, kComing };

  kj::Promise<void> run();
  void reap();
  void sweepSoon();
  void sweep();
  void taskFailed(kj::Exception&& exception) override;

  rpc::Loop& loop_;
  std::map<pid_t, kj::Own<kj::PromiseFulfiller<int>>> children_;
  std::map<pid_t, kj::Own<kj::PromiseFulfiller<bool>>> stopping_;
  std::set<pid_t> stopped_;  // watched, reported so and not heard of since
  std::set<pid_t> adopted_;  // at the last sweep
  Sweep sweep_ = Sweep::kIdle;
  kj::TaskSet tasks_;
};

}  // namespace factionos::launcher
