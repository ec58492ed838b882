// What changed between two contents, line by line. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace factionos::file {

struct LineDiff {
  std::uint32_t hunks = 0;
  std::uint32_t insertions = 0;  // lines
  std::uint32_t deletions = 0;
  bool binary = false;  // one of them has a NUL: nothing is counted and no text made
  std::string text;     // unified, three lines of context; at most what was asked for
  std::uint64_t droppedBytes = 0;
};

// The shortest script of insertions and deletions where it has at most kMostEdits, else one that may be
// longer. Time and memory are bounded for any input.
inline constexpr std::size_t kMostEdits = 1000;

LineDiff diffLines(std::string_view before, std::string_view after, std::size_t textBytes);

}  // namespace factionos::file
