#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace factionos::cli {

// One sentence on what a session's walls refused, and how it is allowed, if it can be: the labels of
// DenialCount.
std::string denialSentence(std::string_view operation, std::string_view target, std::uint64_t count);

}  // namespace factionos::cli
