#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>

#include "broker/redaction/escape_lexer.h"

namespace factionos::redaction {

// Masking can't go on. Carries a fixed text and never a byte of the stream.
class MaskerFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The prefix of a shape ends after `end` bytes of the scanned text.
struct PrefixEvent {
  std::uint32_t end;
  std::uint16_t shape;
  auto operator<=>(const PrefixEvent&) const = default;
};

// Finds prefixes in the three projections of one stream, each scanned in order and without gaps.
class PrefixScanner {
 public:
  // kLines: text with one '\n' for a gap. kJoined: text without gaps, so that a prefix cut by a wrap is
  // found. kSequences: what escape sequences hold, '\n' before each.
  enum class Projection : std::uint8_t { kLines, kJoined, kSequences };

  // A block may have so many; more is a fault. Far above what text causes: prefixes end in few different
  // bytes, and one byte ends few of them.
  static constexpr std::size_t kMaxEvents = LexedBlock::kRawBytes * 2;

  virtual ~PrefixScanner() = default;
  // The events in `text`, by rising `end`; valid until the next call. Throws MaskerFault.
  [[nodiscard]] virtual std::span<const PrefixEvent> scan(Projection projection, std::string_view text) = 0;
};

// The prefixes of all shapes, compiled once for the process and shared by its maskers (about 100 ms).
class PatternSet {
 public:
  PatternSet();  // throws MaskerFault
  virtual ~PatternSet();
  PatternSet(const PatternSet&) = delete;
  PatternSet& operator=(const PatternSet&) = delete;

  // A scanner of its own memory, all of it allocated here. It keeps what it needs of the set alive.
  [[nodiscard]] virtual std::unique_ptr<PrefixScanner> open() const;

 private:
  struct Database;
  std::shared_ptr<const Database> database_;
};

}  // namespace factionos::redaction
