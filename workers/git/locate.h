// Where a working tree's repository lies, found and judged before libgit2 opens anything.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sandbox/descriptors.h"
#include "workers/common/repository_scope.h"
#include "workers/git/config_view.h"
#include "workers/git/refusal.h"

namespace factionos::git {

// One directory, by path for libgit2 and by descriptor for Landlock.
struct Directory {
  std::string path;
  sandbox::Fd handle;  // O_PATH
};

struct Remote {
  std::string name;
  Directory gitDir;
};

struct Place {
  Directory workTree;
  Directory gitDir;
  Directory commonDir;
  std::vector<Directory> alternates;
  std::vector<Remote> remotes;  // those that are paths within the roots
  Kind kind = Kind::kMain;
  ConfigView config;
  std::string mark;                // of the files that it was read from, as they were
  std::optional<Refusal> refusal;  // nothing else holds then, but for the working tree

  // What the worker may change with this access, and what it may only read.
  [[nodiscard]] std::vector<int> own(worker::Access access) const;
  [[nodiscard]] std::vector<int> readOnly(worker::Access access) const;
};

// The absolute path of an open directory. Needs /proc, so before a sandbox.
std::string pathOf(int directory);

// `directories`: the workspace, which is the working tree, then the further roots; borrowed. Never throws a
// Refusal: it is in the answer, so that a worker can say why.
Place locate(const std::string& workspace, const std::vector<int>& directories);

// Of a repository that is none of its working trees' own: `bare` tells whether it has a main one. Throws
// Refusal where viewOf() does, or where the configuration is no small plain file.
ConfigView configOf(const Directory& commonDir);

// Another one as soon as any of those files is another one.
std::string markOf(const Place& place);

}  // namespace factionos::git
