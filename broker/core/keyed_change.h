#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include <kj/async.h>

#include "broker/core/core.h"
#include "broker/core/replies.h"

namespace factionos::broker {

struct StoredReply {
  std::uint32_t status = 0;
  ReplyBytes bytes;  // results of the method that was called
  Replay replay = Replay::kFirst;
};

// A mutation that is over with its commit: it runs nothing and nobody is asked. Key, change, record and
// answer are one transaction, so that there is no moment in which only some of them are true.
struct KeyedChange {
  audit::Label principal;
  std::string key;
  audit::Digest request;  // Purpose::kRequest; without `expectedRevision` two orders would be the same
  Step step;
  // Copied to the writer's thread. What it throws (actions::Refusal) undoes everything, the key included.
  std::function<StoredReply(state::Transaction& transaction)> make;
};

// The answer, or the first one again.
kj::Promise<Outcome<StoredReply>> change(Core& core, KeyedChange keyed);

}  // namespace factionos::broker
