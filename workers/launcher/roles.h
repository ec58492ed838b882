// What the launcher can start: rows of data, and nothing else.
#pragma once

#include <string_view>

#include "protocol/schemas/launcher.capnp.h"

namespace factionos::launcher {

enum class ScopeKind {
  kNone,
  kWorkspace,   // one directory
  kRepository,  // one directory, and others that a repository may reach into
  kProgram,     // none that is told: the one program that Engines has
};
enum class LineKind {
  kGiven,  // the broker hands over the worker's end: it speaks to the worker itself
  kOwn,    // the launcher makes the line and hands out the worker's capability
};

struct RoleRow {
  schema::Role role;
  const char* executable;  // beside the launcher's own; also argv[0]
  ScopeKind scope;  // opened and judged here; kGiven: descriptors 5 and up, kOwn: handed over on the line
  LineKind line;    // descriptor 3. Descriptor 4 is always the event pipe
};

// Null for a role that this build has not.
const RoleRow* findRole(schema::Role role);

}  // namespace factionos::launcher
