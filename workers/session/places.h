// What is called what in a denial. Look-ups in values alone.
#pragma once

#include <string>
#include <string_view>

#include "workers/session/denial_table.h"

namespace factionos::session {

struct Surroundings {
  std::string workspace;
  std::string state;  // FactionOS's home; empty: it is not known
  std::string home;   // of the user; empty: likewise
};

DeniedPlace placeOf(std::string_view path, const Surroundings& around);

// FactionOS's home, in whose run/scratch sessions have their directories; empty if it is another's.
std::string stateAround(const std::string& scratch);

}  // namespace factionos::session
