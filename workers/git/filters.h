// Attributes that ask for a filter program. None is ever run, so what such a file holds is judged without one
// or not at all.
#pragma once

#include <string>
#include <string_view>

#include <git2.h>

namespace factionos::git {

enum class FilterKind {
  kNone,     // git's own line ends and $Id$ at most
  kPointer,  // filter=lfs: the blob is a pointer that names the content's digest
  kProgram,  // another driver, or a working-tree-encoding
};

// By the attributes of working tree and index. Throws Refusal.
FilterKind filterOf(git_repository* repository, const std::string& path);

enum class Judgement { kSame, kChanged, kUnknown };

// Whether the file in the working tree still is what the blob stands for. `path`: below the working tree,
// whose descriptor is given.
Judgement judgeFiltered(git_repository* repository, FilterKind kind, const git_oid& blob, int workTree,
                        const std::string& path);

}  // namespace factionos::git
