#pragma once

#include <cstdint>

namespace factionos::home {

// How FactionOS is installed (SECURITY says what each does and does not promise).
enum class Mode : std::uint8_t {
  kUser,    // one uid for the developer, the agents and the broker; sockets below the home
  kSystem,  // a user of its own; sockets in /run/factionos for a group; principals listed by uid
};

}  // namespace factionos::home
