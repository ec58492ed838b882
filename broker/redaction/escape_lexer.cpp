#include "broker/redaction/escape_lexer.h"

#include <algorithm>
#include <utility>

namespace factionos::redaction {
namespace {

constexpr char kEsc = '\x1b';
constexpr char kBel = '\x07';
constexpr char kCan = '\x18';
constexpr char kSub = '\x1a';
constexpr char kCsi = '\x9b';
constexpr char kSt = '\x9c';
constexpr unsigned kCsiLimit = 256;  // real sequences stay below 100 bytes; longer ones are text

constexpr unsigned char toByte(char c) {
  return static_cast<unsigned char>(c);
}

// Bytes that are text wherever they stand on a line.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> table{};
  for (unsigned b = 0x21; b < 0x7f; ++b) table[b] = true;
  return table;
}();

constexpr bool isAscii(char c) {
  return toByte(c) < 0x80;
}
constexpr bool isContinuation(char c) {
  return (toByte(c) & 0xc0U) == 0x80U;
}
// DCS, SOS, OSC, PM, APC.
constexpr bool beginsString(char c1) {
  return c1 == '\x90' || c1 == '\x98' || (toByte(c1) >= 0x9d && toByte(c1) <= 0x9f);
}
constexpr bool isControl(const CodePoint& point, std::string_view bytes) {
  if (point.status == CodePoint::Status::kValid) return point.value < 0xa0;
  return point.length == 1 && toByte(bytes[0]) < 0xa0;
}

// Length of the code point at the front of `text`, or 0 if it is not whole or not seen.
std::size_t seenLength(std::string_view text) noexcept {
  // Nearly all of them are of two or three bytes, and the ones before the last tell that they are seen.
  const std::size_t lead = toByte(text[0]);
  if (lead > 0xc2 && lead < 0xe0 && text.size() > 1 && isContinuation(text[1])) {
    if (!detail::kHasInvisible[lead & 0x1fU]) return 2;
  } else if (lead > 0xe0 && lead < 0xf0 && lead != 0xed && text.size() > 2 && isContinuation(text[1]) &&
             isContinuation(text[2])) {
    if (!detail::kHasInvisible[(lead & 0xfU) << 6U | (toByte(text[1]) & 0x3fU)]) return 3;
  }
  const CodePoint point = decodeUtf8(text);
  const bool isSeen =
      point.status == CodePoint::Status::kValid && point.value >= 0xa0 && !isInvisible(point.value);
  return isSeen ? point.length : 0;
}

// Controls that move the cursor on the line end a word; the other ones leave no trace.
constexpr bool isMotion(char c) {
  return c == '\b' || c == '\t' || c == '\v' || c == '\f';
}
constexpr bool isControl(char c) {
  return toByte(c) < 0x20 || toByte(c) == 0x7f;
}

}  // namespace

void EscapeLexer::setColumns(unsigned columns) noexcept {
  wrapColumn_ = columns == 0 ? 60 : std::min(60U, columns);
}

std::size_t EscapeLexer::restart() noexcept {
  const std::size_t kept = heldSize_ + (heldSpace_ ? 1U : 0U);
  const std::uint64_t wrapColumn = wrapColumn_;
  *this = EscapeLexer();
  wrapColumn_ = wrapColumn;
  return kept;
}

void EscapeLexer::lex(std::string_view raw, LexedBlock& out) noexcept {
  out.size = 0;
  std::size_t i = heldSize_ > 0 ? lexHeldCodePoint(raw, out) : 0;
  while (i < raw.size()) {
    if (state_ == State::kGround && !heldSpace_) i += lexPlainRun(raw.substr(i), out);
    if (i == raw.size()) break;
    if (isAscii(raw[i])) {
      push(raw[i++], out);
    } else {
      i += lexCodePoint(raw.substr(i), out);
    }
  }
}

std::size_t EscapeLexer::lexPlainRun(std::string_view raw, LexedBlock& out) noexcept {
  // Up to the column where a space may be part of a wrap, spaces are plain as well; a run in steps of the
  // column count stays right because no byte is more than one column.
  const std::uint64_t spacesUpTo = column_ < wrapColumn_ ? wrapColumn_ - column_ : 0;
  std::size_t length = 0;
  std::size_t continuations = 0;
  while (length < raw.size()) {
    const char byte = raw[length];
    if (kPlain[toByte(byte)]) {
      ++length;
    } else if (isAscii(byte)) {
      if (byte != ' ' || (afterBreak_ && length == 0) || length >= spacesUpTo) break;
      ++length;
    } else {
      const std::size_t bytes = seenLength(raw.substr(length));
      if (bytes == 0) break;
      length += bytes;
      continuations += bytes - 1;
    }
  }
  if (length == 0) return 0;
  afterBreak_ = false;
  column_ += length - continuations;
  std::copy_n(raw.begin(), length, out.bytes.begin() + static_cast<std::ptrdiff_t>(out.size));
  std::fill_n(out.classes.begin() + static_cast<std::ptrdiff_t>(out.size), length, ByteClass::kText);
  out.size += length;
  return length;
}

std::size_t EscapeLexer::lexCodePoint(std::string_view raw, LexedBlock& out) noexcept {
  if (heldSpace_) releaseSpace(raw[0], out);
  const CodePoint point = decodeUtf8(raw);
  if (point.status == CodePoint::Status::kIncomplete) {
    heldSize_ = raw.copy(held_.data(), held_.size());
  } else {
    pushCodePoint(raw.substr(0, point.length), point, out);
  }
  return point.length;
}

std::size_t EscapeLexer::lexHeldCodePoint(std::string_view raw, LexedBlock& out) noexcept {
  for (std::size_t taken = 0; taken < raw.size(); ++taken) {
    held_[heldSize_] = raw[taken];
    const std::string_view bytes(held_.data(), heldSize_ + 1);
    const CodePoint point = decodeUtf8(bytes);
    if (point.status == CodePoint::Status::kIncomplete) {
      ++heldSize_;
      continue;
    }
    heldSize_ = 0;
    pushCodePoint(bytes.substr(0, point.length), point, out);
    return point.length == bytes.size() ? taken + 1
                                        : taken;  // the byte that could not follow is looked at anew
  }
  return raw.size();
}

void EscapeLexer::flush(LexedBlock& out) noexcept {
  out.size = 0;
  if (heldSpace_) releaseSpace('\0', out);
}

void EscapeLexer::finish(LexedBlock& out) noexcept {
  flush(out);
  if (heldSize_ == 0) return;
  const std::string_view bytes(held_.data(), std::exchange(heldSize_, 0));
  pushCodePoint(bytes, decodeUtf8(bytes), out);
}

void EscapeLexer::releaseSpace(char next, LexedBlock& out) noexcept {
  heldSpace_ = false;
  if (next == '\r') {
    lineBreak(' ', out);
  } else {
    text(' ', out);
  }
}

void EscapeLexer::pushCodePoint(std::string_view bytes, const CodePoint& point, LexedBlock& out) noexcept {
  if (point.status != CodePoint::Status::kIncomplete && isControl(point, bytes)) {
    if (bytes.size() > 1) out.push(bytes.front(), ByteClass::kPass);
    return control(bytes.back(), out);
  }
  const bool seen = point.status != CodePoint::Status::kValid || !isInvisible(point.value);
  if (state_ != State::kString) state_ = State::kGround;  // part of no sequence
  for (const char byte : bytes) {
    if (!seen) {
      out.push(byte, ByteClass::kPass);
    } else if (state_ == State::kString) {
      out.push(byte, ByteClass::kSequence);
    } else {
      text(byte, out);
    }
  }
}

// Like ESC and the letter that stands for it, a C1 control ends whatever sequence is open.
void EscapeLexer::control(char c1, LexedBlock& out) noexcept {
  const State before = std::exchange(state_, State::kGround);
  if (c1 == kCsi) {
    state_ = State::kCsi;
    csiLength_ = 0;
  } else if (beginsString(c1)) {
    state_ = State::kString;
  }
  if (state_ != State::kGround) {
    out.push(c1, ByteClass::kSequenceStart);
  } else {
    out.push(c1, c1 == kSt && before == State::kString ? ByteClass::kSequenceEnd : ByteClass::kPass);
  }
}

// ASCII only, as are the functions below.
void EscapeLexer::push(char byte, LexedBlock& out) noexcept {
  if (heldSpace_) releaseSpace(byte, out);
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
  if (byte == kEsc || byte == '\r' || byte == '\n' || byte == '\x7f') return false;
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
