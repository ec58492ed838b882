#include "broker/redaction/projections.h"

#include <algorithm>

#include <sodium.h>

namespace factionos::redaction {

Projections::~Projections() {
  sodium_memzero(lines_.data(), lines_.size());
  sodium_memzero(joined_.data(), joined_.size());
  sodium_memzero(sequences_.data(), sequences_.size());
}

void Projections::build(const LexedBlock& block) noexcept {
  gapCount_ = linesSize_ = joinedSize_ = sequencesSize_ = 0;
  std::fill_n(runsOn_.begin(), block.size, false);
  for (std::size_t i = 0; i < block.size;) {
    const ByteClass byteClass = block.classes[i];
    std::size_t end = i + 1;
    while (end < block.size && block.classes[end] == byteClass) ++end;
    const std::string_view run(block.bytes.data() + i, end - i);
    switch (byteClass) {
      case ByteClass::kText:
        text(run, i);
        break;
      case ByteClass::kGapNarrow:
      case ByteClass::kGapWide:
        gap();
        runOnLeft_ = 0;
        break;
      case ByteClass::kSequenceStart:
        std::fill_n(sequences_.begin() + static_cast<std::ptrdiff_t>(sequencesSize_), run.size(), '\n');
        sequencesSize_ += run.size();
        runOnLeft_ = kRunOn;
        break;
      case ByteClass::kSequence:
        std::copy(run.begin(), run.end(), sequences_.begin() + static_cast<std::ptrdiff_t>(sequencesSize_));
        sequencesSize_ += run.size();
        break;
      case ByteClass::kSequenceEnd:
        runOnLeft_ = 0;
        break;
      case ByteClass::kPass:
        break;
    }
    i = end;
  }
}

void Projections::gap() noexcept {
  gaps_[gapCount_++] = static_cast<std::uint32_t>(linesSize_);
  lines_[linesSize_++] = '\n';
}

void Projections::text(std::string_view run, std::size_t at) noexcept {
  std::copy(run.begin(), run.end(), joined_.begin() + static_cast<std::ptrdiff_t>(joinedSize_));
  std::copy(run.begin(), run.end(), lines_.begin() + static_cast<std::ptrdiff_t>(linesSize_));
  joinedSize_ += run.size();
  linesSize_ += run.size();
  const std::size_t more = std::min<std::size_t>(runOnLeft_, run.size());
  std::copy_n(run.begin(), more, sequences_.begin() + static_cast<std::ptrdiff_t>(sequencesSize_));
  std::fill_n(runsOn_.begin() + static_cast<std::ptrdiff_t>(at), more, true);
  sequencesSize_ += more;
  runOnLeft_ -= static_cast<unsigned>(more);
}

std::uint32_t Projections::textAt(std::uint32_t end) const noexcept {
  const auto last = gaps_.begin() + static_cast<std::ptrdiff_t>(gapCount_);
  return end - static_cast<std::uint32_t>(std::lower_bound(gaps_.begin(), last, end) - gaps_.begin());
}

}  // namespace factionos::redaction
