#include "broker/redaction/escape_lexer.h"

#include <algorithm>

namespace factionos::redaction {
namespace {

constexpr char kEsc = '\x1b';
constexpr char kBel = '\x07';
constexpr char kCan = '\x18';
constexpr char kSub = '\x1a';
constexpr unsigned kCsiLimit = 256;  // real sequences stay below 100 bytes; longer ones are text

constexpr unsigned char toByte(char c) {
  return static_cast<unsigned char>(c);
}

// Bytes that are text wherever they stand on a line.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> table{};
  for (unsigned b = 0x21; b < 256; ++b) table[b] = b != 0x7f;
  return table;
}();

// Controls that move the cursor on the line end a word; the other ones leave no trace.
constexpr bool isMotion(char c) {
  return c == '\b' || c == '\t' || c == '\v' || c == '\f';
}
constexpr bool isControl(char c) {
  return toByte(c) < 0x20 || toByte(c) == 0x7f;
}
constexpr bool isContinuation(char c) {
  return (toByte(c) & 0xc0U) == 0x80U;
}

}  // namespace

void EscapeLexer::setColumns(unsigned columns) noexcept {
  wrapColumn_ = columns == 0 ? 60 : std::min(60U, columns);
}

void EscapeLexer::lex(std::string_view raw, LexedBlock& out) noexcept {
  out.size = 0;
  for (std::size_t i = 0; i < raw.size();) {
    if (state_ == State::kGround && !heldSpace_) i += lexPlainRun(raw.substr(i), out);
    if (i < raw.size()) push(raw[i++], out);
  }
}

std::size_t EscapeLexer::lexPlainRun(std::string_view raw, LexedBlock& out) noexcept {
  // Up to the column where a space may be part of a wrap, spaces are plain as well; a run in steps of the
  // column count stays right because no byte is more than one column.
  const std::uint64_t spacesUpTo = column_ < wrapColumn_ ? wrapColumn_ - column_ : 0;
  std::size_t length = 0;
  std::size_t continuations = 0;
  for (; length < raw.size(); ++length) {
    const char byte = raw[length];
    if (!kPlain[toByte(byte)] && (byte != ' ' || (afterBreak_ && length == 0) || length >= spacesUpTo)) break;
    continuations += isContinuation(byte) ? 1U : 0U;
  }
  if (length == 0) return 0;
  afterBreak_ = false;
  column_ += length - continuations;
  std::copy_n(raw.begin(), length, out.bytes.begin() + static_cast<std::ptrdiff_t>(out.size));
  std::fill_n(out.classes.begin() + static_cast<std::ptrdiff_t>(out.size), length, ByteClass::kText);
  out.size += length;
  return length;
}

void EscapeLexer::flush(LexedBlock& out) noexcept {
  out.size = 0;
  if (!heldSpace_) return;
  heldSpace_ = false;
  text(' ', out);
}

void EscapeLexer::push(char byte, LexedBlock& out) noexcept {
  if (heldSpace_) {
    heldSpace_ = false;
    if (byte == '\r') {
      lineBreak(' ', out);
    } else {
      text(' ', out);
    }
  }
  if (state_ == State::kGround || !inSequence(byte, out)) ground(byte, out);
}

void EscapeLexer::ground(char byte, LexedBlock& out) noexcept {
  state_ = State::kGround;
  if (byte == kEsc) {
    state_ = State::kEscape;
    out.push(byte, ByteClass::kSequenceStart);
  } else if (byte == '\r' || byte == '\n') {
    lineBreak(byte, out);
  } else if ((byte == ' ' || byte == '\t') && afterBreak_) {
    out.push(byte, gapIsWide_ ? ByteClass::kGapWide : ByteClass::kGapNarrow);
  } else if (byte == ' ' && column_ >= wrapColumn_) {
    heldSpace_ = true;
  } else if (isControl(byte) && !isMotion(byte)) {
    out.push(byte, ByteClass::kPass);
  } else {
    text(byte, out);
  }
}

void EscapeLexer::text(char byte, LexedBlock& out) noexcept {
  afterBreak_ = false;
  column_ += isContinuation(byte) ? 0U : 1U;
  out.push(byte, ByteClass::kText);
}

void EscapeLexer::lineBreak(char byte, LexedBlock& out) noexcept {
  if (!afterBreak_) {
    gapIsWide_ = column_ >= wrapColumn_;
    lineFeeds_ = 0;
  }
  if (byte == '\n' && ++lineFeeds_ > 1) gapIsWide_ = false;  // a blank line is no wrap
  afterBreak_ = true;
  column_ = 0;
  out.push(byte, gapIsWide_ ? ByteClass::kGapWide : ByteClass::kGapNarrow);
}

// The functions below return false where the byte does not belong to the sequence: it is then ground's.
bool EscapeLexer::inSequence(char byte, LexedBlock& out) noexcept {
  if (state_ == State::kString || state_ == State::kStringEscape) return controlString(byte, out);
  if (byte == kEsc || byte == '\r' || byte == '\n' || toByte(byte) >= 0x7f) return false;
  if (byte == kCan || byte == kSub) {
    state_ = State::kGround;
    out.push(byte, ByteClass::kSequenceEnd);
    return true;
  }
  if (isControl(byte)) {
    if (isMotion(byte)) return false;
    out.push(byte, ByteClass::kPass);
    return true;
  }
  return state_ == State::kCsi ? csi(byte, out) : escape(byte, out);
}

bool EscapeLexer::escape(char byte, LexedBlock& out) noexcept {
  const unsigned char b = toByte(byte);
  if (b < 0x30) {
    state_ = State::kIntermediate;
  } else if (state_ == State::kIntermediate) {
    state_ = State::kGround;
  } else if (byte == '[') {
    state_ = State::kCsi;
    csiLength_ = 0;
  } else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_') {
    state_ = State::kString;
  } else {
    state_ = State::kGround;
  }
  out.push(byte, ByteClass::kSequence);
  return true;
}

bool EscapeLexer::csi(char byte, LexedBlock& out) noexcept {
  if (++csiLength_ > kCsiLimit) return false;
  if (toByte(byte) >= 0x40) state_ = State::kGround;
  out.push(byte, ByteClass::kSequence);
  return true;
}

bool EscapeLexer::controlString(char byte, LexedBlock& out) noexcept {
  if (byte == '\r' || byte == '\n') return false;
  if (state_ == State::kStringEscape) {
    if (byte != '\\') {  // ESC ended the string and begins a sequence of its own
      state_ = State::kEscape;
      return inSequence(byte, out);
    }
    state_ = State::kGround;
    out.push(byte, ByteClass::kSequenceEnd);
    return true;
  }
  if (byte == kEsc) state_ = State::kStringEscape;
  if (byte == kBel || byte == kCan || byte == kSub) {
    state_ = State::kGround;
    out.push(byte, ByteClass::kSequenceEnd);
  } else {
    out.push(byte, isControl(byte) ? ByteClass::kPass : ByteClass::kSequence);
  }
  return true;
}

}  // namespace factionos::redaction
