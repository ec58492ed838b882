// Where a repository's own configuration says that its hooks lie. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace factionos::session {

// Every value of core.hooksPath in the text of a configuration file, in order, quotes and escapes resolved.
// Does not follow include.path: an included file is outside of what a session's command may rewrite unseen,
// or inside and unprotected.
std::vector<std::string> hooksPaths(std::string_view text);

}  // namespace factionos::session
