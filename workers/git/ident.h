// The keyword $Id$ of files with the attribute `ident`, as git has it: libgit2's own filter finds the first
// one of a file alone, and takes the like of another version control's for one.
#pragma once

#include <string>
#include <string_view>

namespace factionos::git {

// As it is stored: whatever stands between "$Id:" and the next dollar of that line goes. Pure.
std::string identCleaned(std::string_view text);

// As it is checked out: `id`, the blob's, stands in each. One that holds another one's words stays. Pure.
std::string identExpanded(std::string_view text, std::string_view id);

// In the place of libgit2's own. Once for a process, behind git_libgit2_init().
void useOwnIdent();

}  // namespace factionos::git
