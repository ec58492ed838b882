#include "workers/session/places.h"

#include <algorithm>

#include "workers/session/resolve.h"
#include "workers/session/system_paths.h"

namespace factionos::session {

DeniedPlace placeOf(std::string_view path, const Surroundings& around) {
  const auto in = [path](std::string_view tree) { return !tree.empty() && isWithin(path, tree); };
  if (in(around.state)) return DeniedPlace::kState;
  if (in(around.workspace)) return DeniedPlace::kWorkspace;
  if (in("/dev")) return DeniedPlace::kDevice;
  if (in("/proc") || in("/sys")) return DeniedPlace::kProcess;
  if (std::ranges::any_of(systemDirectories(), [&in](const SystemDirectory& each) { return in(each.path); }))
    return DeniedPlace::kSystem;
  return around.home.size() > 1 && in(around.home) ? DeniedPlace::kHome : DeniedPlace::kOutside;
}

std::string stateAround(const std::string& scratch) {
  constexpr std::string_view kBelow = "/run/scratch";
  return scratch.ends_with(kBelow) ? scratch.substr(0, scratch.size() - kBelow.size()) : std::string();
}

}  // namespace factionos::session
