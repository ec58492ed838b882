#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "broker/redaction/hold_queue.h"
#include "broker/redaction/literal_automaton.h"
#include "broker/redaction/pattern_set.h"
#include "broker/redaction/shape_tracker.h"

namespace factionos::redaction {

// Matches known values and formats on one lane of the stream and marks what is secret in the hold queue.
// Borrows both the automaton and the queue.
class LaneMatcher {
 public:
  // Bytes that may be shown of a known value if the program pauses inside it.
  static constexpr std::uint32_t kSafeKnownBytes = 2;
  // The shape that stands for a known value in HoldQueue::Entry.
  static constexpr std::uint16_t kKnownValue = std::numeric_limits<std::uint16_t>::max();
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  // At most `maxEvents` prefixes may end in a block.
  LaneMatcher(Lane lane, const LiteralAutomaton& secrets, HoldQueue& queue, std::size_t maxEvents);

  // --- The scanner's findings in the block at hand, as positions in this lane's scanned bytes ---
  void startBlock() noexcept;
  void addEvent(PrefixEvent event) { events_.push_back(event); }
  void sortEvents();
  [[nodiscard]] std::uint32_t nextEventAt() const noexcept {
    return nextEvent_ == events_.size() ? kNever : events_[nextEvent_].end;
  }
  [[nodiscard]] std::uint32_t position() const noexcept { return position_; }

  // --- Bytes, in order ---
  // Nothing is open and nothing was found up to here.
  [[nodiscard]] bool quiet() const noexcept { return literal_ == LiteralAutomaton::kRoot && tracker_.idle(); }
  // How many of the coming bytes of the block are only more of a secret, and open nothing else.
  [[nodiscard]] std::size_t maskedRun(std::string_view text) const noexcept;
  // Takes note of bytes that were looked at and open nothing.
  void skip(std::uint32_t bytes) noexcept;
  // A byte that the scanner saw and no body can hold: the border between two sequences.
  void skipBorder() noexcept { ++position_; }
  // A byte is judged in two steps, around its push to the queue.
  [[nodiscard]] ShapeTracker::Verdict before(char byte);
  enum class Scanned : std::uint8_t { kYes, kNo };
  // `next`: what of this lane's bytes after this one is known; a gap or another sequence may come between.
  void after(char byte, const ShapeTracker::Verdict& verdict, Scanned scanned, std::string_view next);
  void gap(ShapeTracker::Gap kind);
  // This lane's text goes on with the key, if there is one, that the other lane is inside of.
  void continueKey(const LaneMatcher& other) noexcept { tracker_.continueKey(other.tracker_); }
  // What follows is another text.
  void restart();

  // --- Holding ---
  // Trailing bytes of this lane whose fate is open.
  [[nodiscard]] std::uint32_t undecided() const noexcept;
  [[nodiscard]] bool insidePem() const noexcept { return tracker_.insidePem(); }
  // Decides all that is open: beyond its safe prefix it counts as secret, and so does what continues it.
  void resolve();
  // The stream has ended.
  void finish();

 private:
  void advance(char byte, std::string_view next);
  void mask(const ShapeTracker::Verdict& verdict);

  Lane lane_;
  const LiteralAutomaton& secrets_;
  HoldQueue& queue_;
  ShapeTracker tracker_;
  LiteralAutomaton::State literal_ = LiteralAutomaton::kRoot;
  std::uint64_t seen_ = 0;                      // bytes of this lane so far
  std::optional<std::uint64_t> committedFrom_;  // a partial known value that is masked as it comes
  std::vector<PrefixEvent> events_;
  std::size_t nextEvent_ = 0;
  std::uint32_t position_ = 0;
};

}  // namespace factionos::redaction
