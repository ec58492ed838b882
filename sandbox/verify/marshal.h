// Findings on their way from a process that proved its share to the one that reports.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/verify/run.h"

namespace factionos::sandbox::verify {

// One line each, with an end mark. Both sides are the same program with the same `guarantees`.
std::string written(std::span<const Finding> findings, std::size_t tries,
                    std::span<const Guarantee> guarantees);

struct Share {
  std::vector<Finding> findings;
  std::size_t tries = 0;
};
// Nothing if the end mark is missing: the writer was lost.
std::optional<Share> parsed(const std::string& text, std::span<const Guarantee> guarantees);

}  // namespace factionos::sandbox::verify
