#pragma once

#include <string_view>
#include <vector>

#include "broker/redaction/escape_lexer.h"

namespace factionos::redaction::testing {

// What EscapeLexer says of a whole text, found by looking ahead in it instead of keeping a state: shares
// nothing with it but the names of the classes.
std::vector<ByteClass> classify(std::string_view raw, unsigned columns);

}  // namespace factionos::redaction::testing
