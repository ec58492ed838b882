// The engine's stream of an attached container without a terminal: frames of eight bytes and a payload. No
// KJ: a fuzzer builds this alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace factionos::container {

enum class Source { kOut, kError };

class FrameReader {
 public:
  struct Piece {
    Source source = Source::kOut;
    std::string_view bytes;  // part of one payload; empty: there is no whole piece in what was given
  };

  // The next piece of `bytes`, which is cut to what is left. Payloads are passed on as they come, never kept,
  // so that a length costs nothing.
  Piece next(std::string_view& bytes);

  // What came is no such stream: nothing after it can be told apart.
  [[nodiscard]] bool broken() const { return state_ == State::kBroken; }
  // Whether an end of the stream here cuts a frame.
  [[nodiscard]] bool withinFrame() const { return headBytes_ != 0 || missing_ != 0; }

 private:
  enum class State { kReading, kBroken };

  void begin();

  State state_ = State::kReading;
  std::array<unsigned char, 8> head_{};
  std::size_t headBytes_ = 0;
  std::uint32_t missing_ = 0;  // of the payload that is being read
  Source source_ = Source::kOut;
};

}  // namespace factionos::container
