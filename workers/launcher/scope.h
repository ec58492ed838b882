// The directories that a worker is started with.
#pragma once

#include <string>
#include <vector>

#include "protocol/schemas/launcher.capnp.h"
#include "sandbox/descriptors.h"
#include "sandbox/workspace.h"
#include "workers/launcher/roles.h"

namespace factionos::launcher {

struct OpenScope {
  std::vector<sandbox::Fd> directories;  // the workspace first
  std::vector<std::string> arguments;    // what the worker is told of them

  [[nodiscard]] std::vector<int> numbers() const;
};

// The rule that openScope() answers with where the scope is not one of this role.
extern const char* const kNotOfThisRole;

// Opens and judges by descriptor. Null when it is done, else the rule that refuses it: a label.
const char* openScope(schema::WorkerScope::Reader scope, ScopeKind kind, const sandbox::WorkspaceRules& rules,
                      OpenScope& open);

}  // namespace factionos::launcher
