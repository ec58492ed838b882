// The session's side of a running tree: starts its keeper, hears its reports, ends it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <kj/async.h>

#include "protocol/rpc/loop.h"
#include "sandbox/tree.h"
#include "workers/session/control.h"
#include "workers/session/denied.h"
#include "workers/session/keeper.h"

namespace factionos::session {

struct TreeEnded {
  int waitStatus = 0;  // of the leader, as wait(2) has it; meaningless with End::kLost
  End reason = End::kLost;
  std::uint64_t cpuMs = 0;
  std::uint64_t maxRssBytes = 0;
  std::uint32_t peakProcesses = 0;
};

using Posture = std::vector<std::string>;  // labels

// How this process kills what a dead keeper left, if there was no pid namespace to do it.
class LastResort {
 public:
  // `proof`: that this process is in a signal scope of its own; without it children are killed until none is
  // left.
  explicit LastResort(std::optional<sandbox::ProvenScope> proof) : proof_(std::move(proof)) {}
  void killAll() const;

 private:
  std::optional<sandbox::ProvenScope> proof_;
};

// One for each process: it reaps every child. Destroying it closes the keeper's line, on which the keeper
// kills the tree.
class Tree {
 public:
  // Forks. This process must have one thread. Throws SetupError if it can't.
  Tree(rpc::Loop& loop, KeeperPlan plan, const LastResort& lastResort);
  ~Tree() noexcept(false);
  KJ_DISALLOW_COPY(Tree);

  // Once: resolves when the command has been executed, or with the step that failed.
  kj::Promise<std::variant<Posture, Denied>> whenStarted();
  // Any number of times: resolves when nothing of the tree is left.
  kj::Promise<TreeEnded> whenEnded() { return ended_.addBranch(); }

  // Asks the keeper; nothing happens if the tree has ended.
  void kill();
  void signal(std::uint32_t number);
  [[nodiscard]] bool isOver() const { return over_; }

 private:
  struct Line;
  using StartFulfiller = kj::Own<kj::PromiseFulfiller<std::variant<Posture, Denied>>>;

  kj::Promise<void> readReports();
  kj::Promise<void> take(const Report& report, std::string text);
  kj::Promise<void> reapKeeper();
  void order(const Order& order);

  rpc::Loop& loop_;
  const LastResort& lastResort_;
  pid_t keeper_ = 0;
  sandbox::Fd keeperHandle_;  // pidfd
  std::unique_ptr<Line> line_;
  bool over_ = false;
  TreeEnded end_;
  StartFulfiller start_;
  kj::Maybe<kj::Promise<std::variant<Posture, Denied>>> started_;
  kj::ForkedPromise<TreeEnded> ended_;
};

}  // namespace factionos::session
