#pragma once

#include <string_view>

namespace factionos::home {

// The grammar of every name that an operator gives (workspace, principal, token, profile): 1 to 64 characters
// of [A-Za-z0-9._-], the first one a letter or a digit. Such a name is safe as a file name, in a log line and
// in a URL.
bool isLabel(std::string_view text);

}  // namespace factionos::home
