#include "sandbox/verify/act.h"

#include <algorithm>

namespace factionos::sandbox::verify {

const Act* findAct(std::string_view name) {
  for (const std::span<const Act> acts :
       {fileActs(), processActs(), socketActs(), callActs(), resourceActs()}) {
    const auto found = std::ranges::find(acts, name, &Act::name);
    if (found != acts.end()) return &*found;
  }
  return nullptr;
}

}  // namespace factionos::sandbox::verify
