#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "broker/redaction/text.h"

namespace factionos::redaction {

// What one raw terminal byte means to the masker. Only adjacency matters here: no screen is modelled.
enum class ByteClass : std::uint8_t {
  kText,           // a byte that a reader sees; matched on the text lane
  kGapNarrow,      // part of a line break and of the indentation after it, where the line was not full
  kGapWide,        // the same, where the line was long enough to have been wrapped
  kPass,           // no effect on the text (NUL, BEL, DEL, zero-width, ...): passed on, invisible to matching
  kSequenceStart,  // the ESC or C1 control that begins an escape sequence
  kSequence,       // a byte inside an escape sequence; matched on the sequence lane
  kSequenceEnd,    // the terminator of a control string, or what cancels a sequence
};

// A block of classified bytes. Fixed size; the lexer writes one entry for one byte.
struct LexedBlock {
  static constexpr std::size_t kRawBytes = 1024;  // raw bytes per block; keeps every buffer in the L1 cache
  static constexpr std::size_t kBytes = kRawBytes + 3;  // with what was kept back of the block before
  std::array<char, kBytes> bytes;
  std::array<ByteClass, kBytes> classes;
  std::size_t size = 0;

  void push(char byte, ByteClass byteClass) {
    bytes[size] = byte;
    classes[size++] = byteClass;
  }
};

// Splits raw terminal output into text, line gaps and escape sequences (ECMA-48: CSI, OSC, DCS, SOS, PM, APC,
// charset and other short escapes), across any chunking.
//
// C1 controls count as their 7-bit forms, in UTF-8 (U+009B) and as single bytes (0x9b) that belong to no code
// point: some terminals obey one, some the other. All else that is not UTF-8 is text.
//
// A control string ends at its terminator and also at a line break: a stray introducer in binary output must
// not hide what follows from multi-line matching.
class EscapeLexer {
 public:
  // Terminal width in columns; 0 is unknown. A line that reaches min(60, width) columns may have been
  // wrapped.
  void setColumns(unsigned columns) noexcept;

  // Bytes are missing: what comes is text, until it says otherwise. Returns how many were kept back; they are
  // given up.
  std::size_t restart() noexcept;

  // Classifies raw bytes; `raw` must not be longer than LexedBlock::kRawBytes. Clears `out` first.
  void lex(std::string_view raw, LexedBlock& out) noexcept;

  // True while a space is kept back, because line editors write " \r" where a line wraps.
  [[nodiscard]] bool holdsSpace() const noexcept { return heldSpace_; }
  // Gives the kept space up as text. Clears `out` first.
  void flush(LexedBlock& out) noexcept;
  // The stream has ended: gives up the space, or the beginning of a code point, as text. Clears `out` first.
  //
  // Such a beginning (at most three bytes) is kept until its next byte comes, however long that takes:
  // whether it is seen is open until then, and no reader can show it before.
  void finish(LexedBlock& out) noexcept;

 private:
  enum class State : std::uint8_t { kGround, kEscape, kIntermediate, kCsi, kString, kStringEscape };

  std::size_t lexPlainRun(std::string_view raw, LexedBlock& out) noexcept;
  // These two take what is not ASCII and return how many bytes of `raw` they took.
  std::size_t lexCodePoint(std::string_view raw, LexedBlock& out) noexcept;
  std::size_t lexHeldCodePoint(std::string_view raw, LexedBlock& out) noexcept;
  void push(char byte, LexedBlock& out) noexcept;
  void pushCodePoint(std::string_view bytes, const CodePoint& point, LexedBlock& out) noexcept;
  void control(char c1, LexedBlock& out) noexcept;
  void releaseSpace(char next, LexedBlock& out) noexcept;
  void ground(char byte, LexedBlock& out) noexcept;
  void text(char byte, LexedBlock& out) noexcept;
  void lineBreak(char byte, LexedBlock& out) noexcept;
  [[nodiscard]] bool inSequence(char byte, LexedBlock& out) noexcept;
  [[nodiscard]] bool escape(char byte, LexedBlock& out) noexcept;
  [[nodiscard]] bool csi(char byte, LexedBlock& out) noexcept;
  [[nodiscard]] bool controlString(char byte, LexedBlock& out) noexcept;

  State state_ = State::kGround;
  bool afterBreak_ = false;  // between a line break and the first text of the next line
  bool gapIsWide_ = false;
  bool heldSpace_ = false;
  std::array<char, 4> held_{};  // a code point whose last bytes have not come
  std::size_t heldSize_ = 0;
  unsigned lineFeeds_ = 0;  // in the current gap
  unsigned csiLength_ = 0;
  std::uint64_t column_ = 0;  // code points since the last line break
  std::uint64_t wrapColumn_ = 60;
};

}  // namespace factionos::redaction
