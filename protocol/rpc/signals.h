// Signals as events, by descriptor: no handler runs, and a blocked signal that comes early is not lost.
#pragma once

#include <map>
#include <memory>

#include <kj/async.h>

#include "protocol/rpc/poll_set.h"

namespace factionos::rpc {

/// The signals that one loop takes. A signal is blocked on the loop's thread from the first next() for it
/// until destruction, which takes what is still pending and then restores the mask.
class Signals {
 public:
  explicit Signals(PollSet& set);
  ~Signals() noexcept;
  KJ_DISALLOW_COPY(Signals);

  kj::Promise<int> next(int signal);

 private:
  struct Source;
  kj::Promise<int> read(Source& source);

  PollSet& set_;
  std::map<int, std::unique_ptr<Source>> sources_;
};

}  // namespace factionos::rpc
