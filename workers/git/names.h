// Names that a request gives: judged before libgit2 sees them. Pure.
#pragma once

#include <string>
#include <string_view>

namespace factionos::git {

inline constexpr std::string_view kHeads = "refs/heads/";  // where branches are
inline constexpr std::string_view kSymbolic = "ref: ";     // begins the text of a reference to another one

// A branch, tag or remote by its short name. Throws Refusal "invalid": a leading dash, "..", "@{", a control
// byte, a blank, any of ~^:?*[\, a part that begins with a dot or ends with ".lock", a slash or a dot at its
// end, or "@" alone.
std::string checkedRefName(std::string_view name, std::string_view rule);

// The full name of a branch that a request names: what checkedRefName() takes, and not "HEAD", which
// everything would take for HEAD. Throws Refusal "invalid", "branch".
std::string checkedBranch(std::string_view name);

// A commit as a request may name it: 4 to 40 hex digits, "HEAD", or a name of a ref, each with any number of
// ^, ^N, ~ and ~N behind it. No ranges, no @{…}, no :path, no search.
struct Revision {
  std::string base;
  std::string suffix;  // "~2^", judged
};
Revision checkedRevision(std::string_view text);

// A path below the working tree: relative, no empty part, no "." or "..", no NUL; "." alone is the whole tree
// and comes back empty. A slash at the end is dropped. No part may be a name of ".git".
std::string checkedPath(std::string_view path);

// A worktree's name: a part of a path and of a ref at once.
std::string checkedWorktreeName(std::string_view name);

}  // namespace factionos::git
