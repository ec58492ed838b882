#include "broker/redaction/blind_spot.h"

#include <algorithm>

#include "broker/redaction/shape_tracker.h"

namespace factionos::redaction {
namespace {

// No line of a key in use is shorter but its last one, which the END line follows.
constexpr std::uint32_t kKeyLine = 32;

bool isSpace(char byte) {
  return byte == ' ' || byte == '\t';
}

}  // namespace

// Prefixes are shorter than what may stay undecided behind them.
BlindSpot::BlindSpot(std::size_t longestValue) noexcept
    : reach_(std::max<std::uint64_t>(longestValue, ShapeTracker::kMaxPending)) {}

void BlindSpot::open() noexcept {
  *this = BlindSpot(reach_);
  open_ = true;
}

bool BlindSpot::step(char byte, ByteClass byteClass) noexcept {
  const bool gap = byteClass == ByteClass::kGapNarrow || byteClass == ByteClass::kGapWide;
  if (byteClass == ByteClass::kText) text(byte);
  if (gap) endLine();
  // Where no line proves anything: a key has a longest length, and a space ends a token.
  const bool beyond = text_ >= reach_ + ShapeTracker::kPemLimit;
  if (gap && text_ >= reach_ && outside_) open_ = false;
  if (beyond && (byteClass == ByteClass::kGapNarrow || (byteClass == ByteClass::kText && isSpace(byte))))
    open_ = false;
  return open_;
}

void BlindSpot::text(char byte) noexcept {
  ++text_;
  line_.begun = true;
  line_.spaced = line_.spaced || isSpace(byte);
  line_.run = contains(Alphabet::kBase64, byte) ? line_.run + 1 : 0;
  line_.longRun = line_.longRun || line_.run >= kKeyLine;
  using enum Line::Header;
  if (line_.header == kName) {
    if (byte == ':') line_.header = kColon;
    if (byte != ':' && !contains(Alphabet::kUrl, byte)) line_.header = kIsNot;
  } else if (line_.header == kColon) {
    line_.header = isSpace(byte) ? kIs : kIsNot;
  }
}

void BlindSpot::endLine() noexcept {
  if (!line_.begun) return;
  const bool header = line_.header == Line::Header::kIs || line_.header == Line::Header::kColon;
  outside_ = outside_ || (whole_ && line_.spaced && !line_.longRun && !header);
  whole_ = true;
  line_ = {};
}

}  // namespace factionos::redaction
