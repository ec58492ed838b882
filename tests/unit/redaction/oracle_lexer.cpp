#include "tests/unit/redaction/oracle_lexer.h"

#include <algorithm>
#include <cstdint>

namespace factionos::redaction::testing {
namespace {

// What a reader takes for one thing.
struct Unit {
  enum class Kind { kAscii, kSeen, kUnseen, kC1 } kind;
  std::string_view bytes;
  [[nodiscard]] char last() const { return bytes.back(); }
  [[nodiscard]] bool is(char c) const { return kind == Kind::kAscii && bytes[0] == c; }
  [[nodiscard]] bool isOneOf(std::string_view set) const {
    return kind == Kind::kAscii && set.find(bytes[0]) != std::string_view::npos;
  }
  [[nodiscard]] bool isControl() const {
    return kind == Kind::kAscii && (static_cast<unsigned char>(bytes[0]) < 0x20 || bytes[0] == '\x7f');
  }
};

bool leavesNoTrace(std::uint32_t c) {
  constexpr std::uint32_t kRanges[][2] = {
      {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},     {0x115f, 0x1160}, {0x17b4, 0x17b5},
      {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f}, {0x3164, 0x3164},
      {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0xfffe, 0xffff},
      {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
  };
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [c](const auto& range) { return c >= range[0] && c <= range[1]; });
}

// The table of well-formed sequences of the Unicode standard, row by row.
struct WellFormed {
  unsigned lead[2];
  unsigned second[2];
  std::size_t length;
};
constexpr WellFormed kWellFormed[] = {
    {{0xc2, 0xdf}, {0x80, 0xbf}, 2}, {{0xe0, 0xe0}, {0xa0, 0xbf}, 3}, {{0xe1, 0xec}, {0x80, 0xbf}, 3},
    {{0xed, 0xed}, {0x80, 0x9f}, 3}, {{0xee, 0xef}, {0x80, 0xbf}, 3}, {{0xf0, 0xf0}, {0x90, 0xbf}, 4},
    {{0xf1, 0xf3}, {0x80, 0xbf}, 4}, {{0xf4, 0xf4}, {0x80, 0x8f}, 4},
};

Unit unitAt(std::string_view text) {
  const auto at = [text](std::size_t i) {
    return static_cast<unsigned>(static_cast<unsigned char>(text[i]));
  };
  if (at(0) < 0x80) return {Unit::Kind::kAscii, text.substr(0, 1)};
  if (at(0) < 0xa0) return {Unit::Kind::kC1, text.substr(0, 1)};
  for (const WellFormed& row : kWellFormed) {
    if (at(0) < row.lead[0] || at(0) > row.lead[1]) continue;
    std::size_t length = 1;
    if (text.size() > 1 && at(1) >= row.second[0] && at(1) <= row.second[1]) length = 2;
    while (length > 1 && length < row.length && text.size() > length && (at(length) & 0xc0U) == 0x80U)
      ++length;
    const std::string_view bytes = text.substr(0, length);
    if (length < row.length) return {Unit::Kind::kSeen, bytes};
    std::uint32_t value = at(0) & ((1U << (7 - length)) - 1);
    for (std::size_t i = 1; i < length; ++i) value = value * 64 + (at(i) & 63U);
    if (value < 0xa0) return {Unit::Kind::kC1, bytes};
    return {leavesNoTrace(value) ? Unit::Kind::kUnseen : Unit::Kind::kSeen, bytes};
  }
  return {Unit::Kind::kSeen, text.substr(0, 1)};
}

class Classifier {
 public:
  Classifier(std::string_view raw, unsigned columns)
      : full_(columns == 0 ? 60 : std::min(60U, columns)), classes_(raw.size(), ByteClass::kPass) {
    begin_ = raw.data();
    for (std::size_t at = 0; at < raw.size(); at += units_.back().bytes.size())
      units_.push_back(unitAt(raw.substr(at)));
  }

  std::vector<ByteClass> run() {
    while (!atEnd()) ground();
    return classes_;
  }

 private:
  [[nodiscard]] bool atEnd() const { return next_ == units_.size(); }
  [[nodiscard]] const Unit& unit() const { return units_[next_]; }
  void take(ByteClass byteClass) {
    const auto at = units_[next_].bytes.data() - begin_;
    std::fill_n(classes_.begin() + at, units_[next_].bytes.size(), byteClass);
    ++next_;
  }
  // The lead byte of a control in UTF-8 has no effect.
  void takeControl(ByteClass byteClass) {
    const auto at = units_[next_].bytes.data() - begin_;
    classes_[static_cast<std::size_t>(at) + units_[next_].bytes.size() - 1] = byteClass;
    ++next_;
  }

  void text() {
    for (const char c : unit().bytes) column_ += (static_cast<unsigned char>(c) & 0xc0U) == 0x80U ? 0 : 1;
    take(ByteClass::kText);
  }

  void ground() {
    if (unit().kind == Unit::Kind::kC1) return c1();
    if (unit().kind == Unit::Kind::kUnseen) return take(ByteClass::kPass);
    if (unit().is('\x1b')) {
      take(ByteClass::kSequenceStart);
      return escape();
    }
    const bool wrapSpace =
        unit().is(' ') && column_ >= full_ && next_ + 1 < units_.size() && units_[next_ + 1].is('\r');
    if (unit().isOneOf("\r\n") || wrapSpace) return gap();
    if (unit().isControl() && !unit().isOneOf("\b\t\v\f")) return take(ByteClass::kPass);
    text();
  }

  // A line break with all that stands before the next text, controls and sequences among it.
  void gap() {
    bool wide = column_ >= full_;
    int lineFeeds = 0;
    column_ = 0;
    while (!atEnd()) {
      if (unit().isOneOf("\r\n") || unit().isOneOf(" \t")) {
        lineFeeds += unit().is('\n') ? 1 : 0;
        wide = wide && lineFeeds < 2;
        take(wide ? ByteClass::kGapWide : ByteClass::kGapNarrow);
      } else if (unit().kind == Unit::Kind::kSeen ||
                 (unit().kind == Unit::Kind::kAscii && (!unit().isControl() || unit().isOneOf("\b\v\f")))) {
        return;
      } else {
        ground();
      }
    }
  }

  void c1() {
    const char c = unit().last();
    if (c == '\x9b') {
      takeControl(ByteClass::kSequenceStart);
      csi();
    } else if (c == '\x90' || c == '\x98' || c == '\x9d' || c == '\x9e' || c == '\x9f') {
      takeControl(ByteClass::kSequenceStart);
      string();
    } else {
      take(ByteClass::kPass);
    }
  }

  // Takes what may stand in a sequence without being of it; true if the sequence is over.
  bool interlude() {
    while (!atEnd() && unit().isControl() && !unit().isOneOf("\x1b\r\n\x7f\b\t\v\f\x18\x1a"))
      take(ByteClass::kPass);
    if (atEnd() || unit().kind != Unit::Kind::kAscii) return true;
    if (unit().isOneOf("\x18\x1a")) {
      take(ByteClass::kSequenceEnd);
      return true;
    }
    return unit().isControl();
  }

  void escape() {
    bool intermediate = false;
    while (!interlude()) {
      const char c = unit().last();
      take(ByteClass::kSequence);
      if (c < 0x30) {
        intermediate = true;
        continue;
      }
      if (!intermediate && c == '[') csi();
      if (!intermediate && std::string_view("]PX^_").find(c) != std::string_view::npos) string();
      return;
    }
  }

  void csi() {
    for (int length = 0; !interlude() && length < 256; ++length) {
      const char c = unit().last();
      take(ByteClass::kSequence);
      if (c >= 0x40) return;
    }
  }

  void string() {
    while (!atEnd() && !unit().isOneOf("\r\n")) {
      if (unit().kind == Unit::Kind::kC1) {
        if (unit().last() == '\x9c') takeControl(ByteClass::kSequenceEnd);
        return;
      }
      if (unit().is('\x1b')) {
        take(ByteClass::kPass);
        if (atEnd() || !unit().is('\\')) return escape();
        return take(ByteClass::kSequenceEnd);
      }
      if (unit().isOneOf("\x07\x18\x1a")) return take(ByteClass::kSequenceEnd);
      take(unit().isControl() || unit().kind == Unit::Kind::kUnseen ? ByteClass::kPass
                                                                    : ByteClass::kSequence);
    }
  }

  std::vector<Unit> units_;
  std::size_t next_ = 0;
  std::uint64_t full_;
  std::uint64_t column_ = 0;
  const char* begin_ = nullptr;
  std::vector<ByteClass> classes_;
};

}  // namespace

std::vector<ByteClass> classify(std::string_view raw, unsigned columns) {
  return Classifier(raw, columns).run();
}

}  // namespace factionos::redaction::testing
