#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "broker/redaction/escape_lexer.h"

namespace factionos::redaction {

// What of a block the prefix scanner sees: see PrefixScanner::Projection.
class Projections {
 public:
  Projections() = default;
  ~Projections();  // wipes the buffers
  Projections(const Projections&) = delete;
  Projections& operator=(const Projections&) = delete;

  void build(const LexedBlock& block) noexcept;

  [[nodiscard]] std::string_view lines() const noexcept { return {lines_.data(), linesSize_}; }
  [[nodiscard]] std::string_view joined() const noexcept { return {joined_.data(), joinedSize_}; }
  [[nodiscard]] std::string_view sequences() const noexcept { return {sequences_.data(), sequencesSize_}; }
  // Text bytes among the first `end` bytes of lines().
  [[nodiscard]] std::uint32_t textAt(std::uint32_t end) const noexcept;
  // Whether the block's byte is text and stands in sequences() too.
  [[nodiscard]] bool runsOn(std::size_t at) const noexcept { return runsOn_[at]; }

 private:
  // A broken sequence swallows the first bytes of what follows; so the text after one is read as its end,
  // too, for longer than any fixed prefix.
  static constexpr unsigned kRunOn = 40;
  using Buffer = std::array<char, LexedBlock::kBytes>;

  void text(std::string_view run, std::size_t at) noexcept;
  void gap() noexcept;

  Buffer lines_;
  Buffer joined_;
  Buffer sequences_;
  std::array<std::uint32_t, LexedBlock::kBytes> gaps_;  // where in lines_ a gap stands
  std::array<bool, LexedBlock::kBytes> runsOn_;
  std::size_t gapCount_ = 0;
  std::size_t linesSize_ = 0;
  std::size_t joinedSize_ = 0;
  std::size_t sequencesSize_ = 0;
  unsigned runOnLeft_ = 0;
};

}  // namespace factionos::redaction
