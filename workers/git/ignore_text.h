// The text of an ignore file, before libgit2 reads it.
#pragma once

#include <string_view>

namespace factionos::git {

// Whether libgit2 (1.5 to 1.9 at least) would never get past a line of it: one that has a vertical tab or a
// form feed where its pattern should begin. It takes that for the end of an empty pattern, and reads on from
// there.
bool hasEndlessRule(std::string_view text);

}  // namespace factionos::git
