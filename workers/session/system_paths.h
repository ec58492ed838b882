// Names and paths as a session judges them.
#pragma once

#include <string_view>

#include "sandbox/system_paths.h"

namespace factionos::session {

using sandbox::devices;
using sandbox::isWithin;
using sandbox::nameResolution;
using sandbox::Programs;
using sandbox::systemDirectories;
using sandbox::SystemDirectory;
using sandbox::systemFacts;
using sandbox::SystemFile;

// Where a bare program name is looked up, in this order. PATH is this, whatever the caller's was.
inline constexpr std::string_view kSearchPath = "/usr/local/bin:/usr/bin:/bin";

// Whether programs may be started from the real path `path`.
bool isSystemProgram(std::string_view path);

// Whether `text` is a label as common.capnp has it.
bool isLabel(std::string_view text);

}  // namespace factionos::session
