#pragma once

#include <string>
#include <string_view>

#include <kj/async.h>

#include "broker/core/core.h"
#include "broker/state/event_table.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

struct EventReceipt {
  std::string id;
  bool accepted = false;  // false: an event of the same content is kept already, under this id
};

// Hook events as they come from agents: only what kind they were, from where, how many members they had. No
// prompt, path or command of theirs is kept.
class Events {
 public:
  explicit Events(Core& core) : core_(core) {}

  kj::Promise<Outcome<EventReceipt>> take(schema::HookEvent::Reader event);
  std::uint64_t count() const { return count_; }

 private:
  Core& core_;
  std::uint64_t taken_ = 0;  // since the start, whatever became of them
  std::uint64_t count_ = 0;  // accepted since the start
};

// "pre_tool_use" for "PreToolUse", "unknown" for what is no known event of a known producer.
std::string_view kindOf(schema::HookEvent::Reader event);

}  // namespace factionos::broker
