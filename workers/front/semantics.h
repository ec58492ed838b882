// The semantic check: what the few fields that decide about framing, routing and the connection's life say.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "workers/front/gate.h"
#include "workers/front/refusal.h"

namespace factionos::front {

enum class Expect : std::uint8_t { kNothing, kContinue };
enum class Persistence : std::uint8_t { kClose, kKeepAlive };
enum class Presence : std::uint8_t { kAbsent, kOnce, kRepeated };

struct Singleton {
  Presence presence = Presence::kAbsent;
  std::string_view value;  // of the first
};

struct Semantics {
  std::string_view host;
  std::uint64_t contentLength = 0;  // 0 where none was sent
  Expect expect = Expect::kNothing;
  Persistence persistence = Persistence::kKeepAlive;  // HTTP/1.0 is always closed
  Singleton upgrade;
  bool connectionUpgrade = false;  // Connection lists "upgrade"
};

// Refuses: Transfer-Encoding in any form (411), no Host or more than one, more than one Content-Length or one
// that is not 1 to 15 digits (400), any Expect but a single 100-continue (417). Views point where the block's
// do.
Refusal checkSemantics(const HeaderBlock& block, Semantics& into);

// The field of this name. Linear: a block has at most kMaxFields.
Singleton findField(const HeaderBlock& block, std::string_view name);

// Whether a comma-separated list of tokens holds `token`, letter case aside.
bool listHolds(std::string_view list, std::string_view token);

}  // namespace factionos::front
