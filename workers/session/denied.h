// A refusal as a value; travels as Denial of common.capnp.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace factionos::session {

// Literals only: a denial repeats nothing that a caller wrote.
struct Denied {
  std::string_view code;       // "program_not_found"
  std::string_view rule = {};  // which rule of ours said so; a label
  std::string target = {};     // a label, such as a role of a file ("interpreter") or a number
};

}  // namespace factionos::session
