#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace factionos::redaction {

// What one raw terminal byte means to the masker. Only adjacency matters here: no screen is modelled.
enum class ByteClass : std::uint8_t {
  kText,           // a byte that a reader sees; matched on the text lane
  kGapNarrow,      // part of a line break and of the indentation after it, where the line was not full
  kGapWide,        // the same, where the line was long enough to have been wrapped
  kPass,           // no effect on the text (NUL, BEL, SO, SI, DEL, ...): passed on, invisible to matching
  kSequenceStart,  // the ESC that begins an escape sequence
  kSequence,       // a byte inside an escape sequence; matched on the sequence lane
  kSequenceEnd,    // the terminator of a control string, or what cancels a sequence
};

// A block of classified bytes. Fixed size; the lexer never writes more than two entries for one byte.
struct LexedBlock {
  static constexpr std::size_t kRawBytes = 1024;  // raw bytes per block; keeps every buffer in the L1 cache
  std::array<char, kRawBytes + 2> bytes;
  std::array<ByteClass, kRawBytes + 2> classes;
  std::size_t size = 0;

  void push(char byte, ByteClass byteClass) {
    bytes[size] = byte;
    classes[size++] = byteClass;
  }
};

// Splits raw terminal output into text, line gaps and escape sequences (ECMA-48: CSI, OSC, DCS, SOS, PM, APC,
// charset and other short escapes), across any chunking.
//
// A control string ends at its terminator and also at a line break: a stray introducer in binary output must
// not hide what follows from multi-line matching.
class EscapeLexer {
 public:
  // Terminal width in columns; 0 is unknown. A line that reaches min(60, width) columns may have been
  // wrapped.
  void setColumns(unsigned columns) noexcept;

  // Classifies raw bytes; `raw` must not be longer than LexedBlock::kRawBytes. Clears `out` first.
  void lex(std::string_view raw, LexedBlock& out) noexcept;

  // True while a space is kept back, because line editors write " \r" where a line wraps.
  [[nodiscard]] bool holdsSpace() const noexcept { return heldSpace_; }
  // Gives the kept space up as text. Clears `out` first.
  void flush(LexedBlock& out) noexcept;

 private:
  enum class State : std::uint8_t { kGround, kEscape, kIntermediate, kCsi, kString, kStringEscape };

  std::size_t lexPlainRun(std::string_view raw, LexedBlock& out) noexcept;
  void push(char byte, LexedBlock& out) noexcept;
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
  unsigned lineFeeds_ = 0;  // in the current gap
  unsigned csiLength_ = 0;
  std::uint64_t column_ = 0;  // code points since the last line break
  std::uint64_t wrapColumn_ = 60;
};

}  // namespace factionos::redaction
