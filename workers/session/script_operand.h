// Which operand of an interpreter is the script that it runs. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace factionos::session {

// Whether the first file that argv names is read by `program` (a file's name, such as "python3.11") as the
// program to run. Not so if the code stands in argv itself (-c, -e, -m): files are then what it works on, and
// it may well change them. `before` is argv from its second word up to that file.
bool readsAsScript(std::string_view program, std::span<const std::string> before);

}  // namespace factionos::session
