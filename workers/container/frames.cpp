#include "workers/container/frames.h"

#include <algorithm>

namespace factionos::container {
namespace {

constexpr unsigned char kOutFrame = 1;
constexpr unsigned char kErrorFrame = 2;
// Engines send what they have read from a pipe at once, 32 KiB at most. A length beyond this is no length.
constexpr std::uint32_t kLargestFrame = std::uint32_t{1} << 24;

}  // namespace

// Type, three zeros, the payload's length with its high byte first. A type 3 is the engine's own word for a
// fault of its own.
void FrameReader::begin() {
  const bool known = head_[0] == kOutFrame || head_[0] == kErrorFrame;
  if (!known || head_[1] != 0 || head_[2] != 0 || head_[3] != 0) {
    state_ = State::kBroken;
    return;
  }
  source_ = head_[0] == kOutFrame ? Source::kOut : Source::kError;
  missing_ = std::uint32_t{head_[4]} << 24 | std::uint32_t{head_[5]} << 16 | std::uint32_t{head_[6]} << 8 |
             std::uint32_t{head_[7]};
  if (missing_ > kLargestFrame) state_ = State::kBroken;
  headBytes_ = 0;
}

FrameReader::Piece FrameReader::next(std::string_view& bytes) {
  while (missing_ == 0 && !broken() && !bytes.empty()) {
    const std::size_t take = std::min(head_.size() - headBytes_, bytes.size());
    std::copy_n(bytes.begin(), take, head_.begin() + static_cast<std::ptrdiff_t>(headBytes_));
    headBytes_ += take;
    bytes.remove_prefix(take);
    if (headBytes_ == head_.size()) begin();
  }
  if (broken() || bytes.empty()) return {};
  const std::size_t take = std::min<std::size_t>(missing_, bytes.size());
  const Piece piece{source_, bytes.substr(0, take)};
  bytes.remove_prefix(take);
  missing_ -= static_cast<std::uint32_t>(take);
  return piece;
}

}  // namespace factionos::container
