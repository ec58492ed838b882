#pragma once

#include <cstddef>
#include <cstdint>

#include "broker/redaction/escape_lexer.h"

namespace factionos::redaction {

// Behind a gap in a stream: how long what comes may be the rest of a secret that began before it. What begins
// behind the gap is seen whole, so nobody needs this for it.
//
// Over at the end of a line, once so much text has come that no known value, no prefix and no undecided token
// of before reaches further, and a whole line has shown that the text is in the middle of no token and of no
// key: it has a space, is no header of a key (`Name: …`), and nothing in it is as long as a line of one.
class BlindSpot {
 public:
  // `longestValue`: of the known ones, in any form.
  explicit BlindSpot(std::size_t longestValue) noexcept;

  [[nodiscard]] bool isOpen() const noexcept { return open_; }
  // Bytes are missing here.
  void open() noexcept;
  void close() noexcept { open_ = false; }
  // The next byte, while it is open. False: that one was the last.
  bool step(char byte, ByteClass byteClass) noexcept;

 private:
  struct Line {
    bool begun = false;   // it has text
    bool spaced = false;  // and a space in it, behind its indentation
    bool longRun = false;
    std::uint32_t run = 0;  // bytes of key material without a break
    enum class Header : std::uint8_t { kName, kColon, kIs, kIsNot } header = Header::kName;
  };

  void text(char byte) noexcept;
  void endLine() noexcept;

  std::uint64_t reach_;
  std::uint64_t text_ = 0;  // bytes since the gap
  bool open_ = false;
  bool whole_ = false;    // the line began behind the gap
  bool outside_ = false;  // of every key and token that began before it
  Line line_;
};

}  // namespace factionos::redaction
