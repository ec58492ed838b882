#include "broker/redaction/lane_matcher.h"

#include <algorithm>

namespace factionos::redaction {

LaneMatcher::LaneMatcher(Lane lane, const LiteralAutomaton& secrets, HoldQueue& queue, std::size_t maxEvents)
    : lane_(lane), secrets_(secrets), queue_(queue) {
  events_.reserve(maxEvents);
}

void LaneMatcher::startBlock() noexcept {
  events_.clear();
  nextEvent_ = 0;
  position_ = 0;
}

void LaneMatcher::sortEvents() {
  std::sort(events_.begin(), events_.end());
}

std::size_t LaneMatcher::maskedRun(std::string_view text) const noexcept {
  if (literal_ != LiteralAutomaton::kRoot) return 0;
  const std::size_t limit = std::min<std::size_t>(tracker_.plainRun(text), nextEventAt() - position_ - 1);
  std::size_t length = 0;
  while (length < limit && !secrets_.mayBegin(text.substr(length))) ++length;
  return length;
}

void LaneMatcher::skip(std::uint32_t bytes) noexcept {
  seen_ += bytes;
  position_ += bytes;
}

ShapeTracker::Verdict LaneMatcher::before(char byte) {
  if (tracker_.idle()) return {};
  const ShapeTracker::Verdict verdict = tracker_.step(byte);
  mask(verdict);
  return verdict;
}

void LaneMatcher::after(char byte, const ShapeTracker::Verdict& verdict, Scanned scanned,
                        std::string_view next) {
  if (verdict.current) queue_.mask(lane_, 1, verdict.shape);
  advance(byte, next);
  if (scanned == Scanned::kYes) ++position_;
  for (; nextEventAt() <= position_; ++nextEvent_) tracker_.activate(events_[nextEvent_].shape);
}

void LaneMatcher::advance(char byte, std::string_view next) {
  ++seen_;
  literal_ = secrets_.next(literal_, byte);
  if (const std::uint32_t length = secrets_.matchLength(literal_); length > 0) {
    queue_.mask(lane_, length, kKnownValue);
  }
  if (committedFrom_) {
    if (seen_ - secrets_.depth(literal_) == *committedFrom_) {
      queue_.mask(lane_, 1, kKnownValue);
    } else {
      committedFrom_.reset();
    }
  }
  // What was decided stays so, however it goes on.
  if (!committedFrom_) literal_ = secrets_.settle(literal_, next);
}

void LaneMatcher::gap(ShapeTracker::Gap kind) {
  if (!tracker_.idle()) mask(tracker_.gap(kind));
}

void LaneMatcher::restart() {
  if (!tracker_.idle()) mask(tracker_.finish(ShapeTracker::Ending::kComplete));
  literal_ = LiteralAutomaton::kRoot;
  committedFrom_.reset();
}

std::uint32_t LaneMatcher::undecided() const noexcept {
  const std::uint32_t literal = committedFrom_ ? 0 : secrets_.depth(literal_);
  return tracker_.idle() ? literal : std::max(literal, tracker_.undecided());
}

void LaneMatcher::resolve() {
  const std::uint32_t held = queue_.count(lane_);
  mask(tracker_.resolve(held));
  const std::uint32_t open = secrets_.depth(literal_);
  if (committedFrom_ || open <= kSafeKnownBytes) return;
  const std::uint32_t shown = open - std::min(open, held);
  queue_.mask(lane_, open - std::max(shown, kSafeKnownBytes), kKnownValue);
  committedFrom_ = seen_ - open;
}

void LaneMatcher::finish() {
  mask(tracker_.finish(ShapeTracker::Ending::kCut));
  resolve();
}

void LaneMatcher::mask(const ShapeTracker::Verdict& verdict) {
  if (verdict.trailing > 0) queue_.mask(lane_, verdict.trailing, verdict.shape);
}

}  // namespace factionos::redaction
