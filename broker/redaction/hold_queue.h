#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "broker/redaction/wiping_allocator.h"

namespace factionos::redaction {

// The two lines of matching. Text right after an escape sequence belongs to both.
enum class Lane : std::uint8_t { kText, kSequence };

// The bytes of a stream whose fate is open, oldest first, in a ring of fixed size.
class HoldQueue {
 public:
  struct Entry {
    enum class Kind : std::uint8_t { kLanes, kPass, kGap, kDropped };
    char byte = 0;
    Kind kind = Kind::kPass;
    bool inText = false;
    bool inSequence = false;
    bool masked = false;
    std::uint16_t shape = 0;  // who masked it
    std::uint32_t since = 0;  // milliseconds, on the owner's scale

    [[nodiscard]] bool isIn(Lane lane) const noexcept { return lane == Lane::kText ? inText : inSequence; }
  };

  explicit HoldQueue(std::size_t capacity) : ring_(capacity) {}

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool full() const noexcept { return size_ == ring_.size(); }
  [[nodiscard]] const Entry& front() const noexcept { return ring_[first_]; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // How many entries of a lane are held.
  [[nodiscard]] std::uint32_t count(Lane lane) const noexcept {
    return lane == Lane::kText ? text_ : sequence_;
  }

  // Not when full.
  void push(const Entry& entry) noexcept {
    ring_[at(size_++)] = entry;
    text_ += entry.inText ? 1U : 0U;
    sequence_ += entry.inSequence ? 1U : 0U;
  }
  // Not when empty.
  void pop() noexcept {
    text_ -= ring_[first_].inText ? 1U : 0U;
    sequence_ -= ring_[first_].inSequence ? 1U : 0U;
    first_ = first_ + 1 == ring_.size() ? 0 : first_ + 1;
    --size_;
  }
  // Marks the last `trailing` entries of the lane, as far as they are here. What is masked keeps its first
  // shape.
  void mask(Lane lane, std::uint32_t trailing, std::uint16_t shape) noexcept {
    for (std::size_t i = size_; i > 0 && trailing > 0; --i) {
      Entry& entry = ring_[at(i - 1)];
      if (!entry.isIn(lane)) continue;
      --trailing;
      if (entry.masked) continue;
      entry.masked = true;
      entry.shape = shape;
    }
  }
  void clear() noexcept {
    while (!empty()) pop();
  }

 private:
  [[nodiscard]] std::size_t at(std::size_t offset) const noexcept {
    const std::size_t index = first_ + offset;
    return index >= ring_.size() ? index - ring_.size() : index;
  }

  std::vector<Entry, WipingAllocator<Entry>> ring_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::uint32_t text_ = 0;
  std::uint32_t sequence_ = 0;
};

}  // namespace factionos::redaction
