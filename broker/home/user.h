#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace factionos::home {

// Fixed text for the person who started it; the status of a mistaken command line.
class UserRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Nothing of ours runs as root. Started as root: becomes `user` for good, groups included, and refuses
// without one. HOME, USER and LOGNAME become that user's then. Else `user` may only be who it is already, and
// those of the three that are set stay as they are.
// `program` is who speaks in the refusals: "factionosd".
void becomeUser(const std::optional<std::string>& user, std::string_view program);

}  // namespace factionos::home
