// The directories that a worker is started with, or the program.
#pragma once

#include <string>
#include <vector>

#include "protocol/schemas/launcher.capnp.h"
#include "sandbox/descriptors.h"
#include "sandbox/workspace.h"
#include "workers/launcher/roles.h"

namespace factionos::launcher {

struct OpenScope {
  std::vector<sandbox::Fd> opened;     // the workspace first; or the program
  std::vector<std::string> arguments;  // what the worker is told of them

  [[nodiscard]] std::vector<int> numbers() const;
};

// The rule that openScope() answers with where the scope is not one of this role.
extern const char* const kNotOfThisRole;

// Opens and judges by descriptor. Null when it is done, else the rule that refuses it: a label.
const char* openScope(schema::WorkerScope::Reader scope, ScopeKind kind, const sandbox::WorkspaceRules& rules,
                      OpenScope& open);

// The program of ScopeKind::kProgram, at `path`; empty: none was named. Null when it is done, else the code
// of the denial. Who could exchange it, or what it holds, is root or this user; who owns a directory above it
// could have another one of theirs started, under the same profile.
const char* openProgram(const std::string& path, OpenScope& open);

}  // namespace factionos::launcher
