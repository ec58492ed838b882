#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace factionos::redaction::testing {

// Masks a whole text at once, in the simplest way that could be right: it sees all bytes before it judges
// one, searches every form of every known value at every place, and reads every body to its end. It shares
// the table of shapes and the list of encodings with the masker, and nothing of how the masker streams.
// Markers are written `[masked]`.
std::string oracleMask(std::string_view raw, const std::vector<std::string>& secrets, unsigned columns);

// The masker's output with its markers written as the oracle writes them.
std::string withoutLabels(std::string_view masked);

}  // namespace factionos::redaction::testing
