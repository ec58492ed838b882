// How often the keeper looks at its tree. Pure.
#pragma once

#include <chrono>

#include "workers/session/watch.h"

namespace factionos::session {

// A hog gains at most what it takes between two looks; a tree that sleeps is not worth a core's attention.
class Cadence {
 public:
  static constexpr std::chrono::milliseconds kBusy{50};
  static constexpr std::chrono::milliseconds kIdle{250};

  // Of each look, in order. The time grows by half while the tree used no CPU time, got no process and no
  // memory since the last one, and is the shortest again with the first look that sees it move.
  void saw(const TreeUse& use);

  // Until the next look.
  [[nodiscard]] std::chrono::milliseconds between() const { return between_; }

 private:
  TreeUse last_;
  std::chrono::milliseconds between_ = kBusy;
};

}  // namespace factionos::session
