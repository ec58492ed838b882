// What several acts have in common. Runs inside.
#pragma once

#include <string>

#include "sandbox/verify/act.h"

namespace factionos::sandbox::verify {

// Opens and reads the beginning into the evidence.
long readFile(const char* path, Evidence& evidence);

// Executes `program` in a child with `environment` and waits for its end. The result of the fork, or -1 with
// the errno of the exec.
long run(const char* program, char* const* arguments, char* const* environment);

// Copies the workspace's script, which leaves a marker, to `path` and runs it there.
long runCopy(const World& world, const std::string& path);

}  // namespace factionos::sandbox::verify
