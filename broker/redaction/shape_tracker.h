#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "broker/redaction/shapes.h"

namespace factionos::redaction {

// Follows the bodies of the formats whose prefix has been seen, byte by byte and in constant memory.
class ShapeTracker {
 public:
  // Longest body that may stay undecided; a longer one is decided there (as a secret, unless it is the weak
  // kind).
  static constexpr std::uint32_t kMaxPending = 1024;
  // Longest body of a key whose END line never comes: twice what the largest keys in use need.
  static constexpr std::uint32_t kPemLimit = std::uint32_t{32} * 1024;

  static constexpr std::size_t kMaxShapes = 128;

  // What the caller has to mask: `trailing` bytes that came before the one just given, and that one itself.
  struct Verdict {
    std::uint32_t trailing = 0;
    bool current = false;
    std::uint16_t shape = 0;  // meaningful if there is something to mask
    void merge(std::uint32_t count, bool self, std::uint16_t by) noexcept;
  };

  // A prefix of this shape has just ended; its body begins with the next byte.
  void activate(std::uint16_t shape) noexcept;
  [[nodiscard]] Verdict step(char byte) noexcept;
  enum class Gap : std::uint8_t { kNarrow, kWide };
  [[nodiscard]] Verdict gap(Gap kind) noexcept;
  // Begins inside the key whose header the other tracker has seen, unless it is over there.
  void continueKey(const ShapeTracker& other) noexcept;
  // Decides every undecided body now, because `held` is all that can be kept of it: bytes beyond the shape's
  // safe prefix become secret.
  [[nodiscard]] Verdict resolve(std::uint32_t held) noexcept;
  // Ends every body. kComplete: the text of the lane is over. kCut: the stream is; a body cut short behind a
  // distinctive prefix then counts as secret.
  enum class Ending : std::uint8_t { kComplete, kCut };
  [[nodiscard]] Verdict finish(Ending ending) noexcept;

  [[nodiscard]] bool idle() const noexcept { return size_ == 0 && !atDirectory_ && !insidePem(); }
  [[nodiscard]] bool insidePem() const noexcept { return pem_ != Pem::kOutside; }
  // How many of the coming bytes only lengthen the one secret body that there is.
  [[nodiscard]] std::size_t plainRun(std::string_view text) const noexcept;
  // Trailing bytes whose fate is open.
  [[nodiscard]] std::uint32_t undecided() const noexcept;

 private:
  struct Active {
    std::uint16_t shape = 0;
    bool confirmed = false;
    bool digit = false;
    bool dot = false;
    bool number = true;  // nothing but digits so far
    std::uint32_t count = 0;
    std::uint64_t last = 0;  // the last eight bytes
  };
  enum class Pem : std::uint8_t { kOutside, kHeaderLine, kBody, kEndLine };
  enum class Fate : std::uint8_t { kStays, kLeaves };

  Fate stepOne(Active& active, char byte, Verdict& verdict) noexcept;
  Fate grow(Active& active, char byte, Verdict& verdict) noexcept;
  void end(const Active& active, char terminator, Verdict& verdict) const noexcept;
  void stepPem(char byte, Verdict& verdict) noexcept;
  void dashes(char byte) noexcept;
  void remove(std::size_t at) noexcept;
  void dropUnbegun(ShapeKind kind) noexcept;
  [[nodiscard]] bool looksRandom(std::uint32_t count) const noexcept;

  std::array<Active, kMaxShapes> active_;
  std::size_t size_ = 0;
  bool atDirectory_ = false;                    // the next byte is the first behind a kDirectory prefix
  std::array<std::uint16_t, 256> histogram_{};  // of the one kEntropy body
  Pem pem_ = Pem::kOutside;
  std::uint16_t pemShape_ = 0;
  std::uint32_t pemCount_ = 0;
  std::uint32_t pemMatched_ = 0;  // bytes of "-----END", then of the closing dashes
};

}  // namespace factionos::redaction
