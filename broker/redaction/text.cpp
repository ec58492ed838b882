#include "broker/redaction/text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace factionos::redaction {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array kDisturbing = {
    Range{0x00, 0x08},     Range{0x0b, 0x1f},       Range{0x7f, 0x9f},     Range{0x061c, 0x061c},
    Range{0x200e, 0x200f}, Range{0x2028, 0x202e},   Range{0x2066, 0x206f}, Range{0xfeff, 0xfeff},
    Range{0xfff9, 0xfffb}, Range{0xe0000, 0xe007f},
};

// Unicode's Default_Ignorable_Code_Point with line and paragraph separators, interlinear annotation and
// U+FFFE.
constexpr std::array kInvisible = {
    Range{0xad, 0xad},       Range{0x034f, 0x034f},   Range{0x061c, 0x061c}, Range{0x115f, 0x1160},
    Range{0x17b4, 0x17b5},   Range{0x180b, 0x180f},   Range{0x200b, 0x200f}, Range{0x2028, 0x202e},
    Range{0x2060, 0x206f},   Range{0x3164, 0x3164},   Range{0xfe00, 0xfe0f}, Range{0xfeff, 0xfeff},
    Range{0xffa0, 0xffa0},   Range{0xfff0, 0xfffb},   Range{0xfffe, 0xffff}, Range{0x1bca0, 0x1bca3},
    Range{0x1d173, 0x1d17a}, Range{0xe0000, 0xe0fff},
};

// Spaces of other kinds, and private use, whose look depends on the font.
constexpr std::array kUnclear = {
    Range{0x09, 0x0a},     Range{0xa0, 0xa0},        Range{0x1680, 0x1680}, Range{0x2000, 0x200a},
    Range{0x202f, 0x202f}, Range{0x205f, 0x205f},    Range{0x2800, 0x2800}, Range{0x3000, 0x3000},
    Range{0xe000, 0xf8ff}, Range{0xf0000, 0x10ffff},
};

template <std::size_t N>
constexpr bool isIn(const std::array<Range, N>& ranges, char32_t value) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [value](const Range& range) { return value >= range.first && value <= range.last; });
}

void appendHex(std::string& out, std::uint32_t value, std::size_t width) {
  std::array<char, 8> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
  const auto size = static_cast<std::size_t>(end - digits.data());
  out.append(width > size ? width - size : 0, '0').append(digits.data(), size);
}

std::uint32_t byteAt(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

}  // namespace

namespace detail {
constinit const std::array<bool, (0x110000U >> kBlockBits)> kHasInvisible = [] {
  std::array<bool, (0x110000U >> kBlockBits)> table{};
  for (const Range& range : kInvisible) {
    for (char32_t block = range.first >> kBlockBits; block <= range.last >> kBlockBits; ++block)
      table[block] = true;
  }
  return table;
}();
}  // namespace detail

CodePoint decodeUtf8(std::string_view text) noexcept {
  constexpr CodePoint kBad{CodePoint::Status::kInvalid, U'\ufffd', 1};
  const std::uint32_t lead = byteAt(text, 0);
  if (lead < 0x80) return {CodePoint::Status::kValid, static_cast<char32_t>(lead), 1};
  if (lead < 0xc2 || lead > 0xf4) return kBad;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte's range shuts out overlong forms, surrogates and what lies above U+10FFFF.
  std::uint32_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  std::uint32_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  std::uint32_t value = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i, low = 0x80, high = 0xbf) {
    if (i == text.size()) return {CodePoint::Status::kIncomplete, U'\ufffd', i};
    const std::uint32_t byte = byteAt(text, i);
    if (byte < low || byte > high) return {CodePoint::Status::kInvalid, U'\ufffd', i};
    value = value << 6U | (byte & 0x3fU);
  }
  return {CodePoint::Status::kValid, static_cast<char32_t>(value), length};
}

bool disturbsDisplay(char32_t value) noexcept {
  return isIn(kDisturbing, value);
}

bool isInvisible(char32_t value) noexcept {
  return detail::kHasInvisible[value >> detail::kBlockBits] && isIn(kInvisible, value);
}

bool isHidden(char32_t value) noexcept {
  return isIn(kDisturbing, value) || isInvisible(value) || isIn(kUnclear, value);
}

void appendHexByte(std::string& out, char byte) {
  out.append("\\x");
  appendHex(out, static_cast<unsigned char>(byte), 2);
}

void appendEscape(std::string& out, char32_t value) {
  switch (value) {
    case U'\n':
      out.append("\\n");
      return;
    case U'\r':
      out.append("\\r");
      return;
    case U'\t':
      out.append("\\t");
      return;
    default:
      break;
  }
  if (value < 0x80) return appendHexByte(out, static_cast<char>(value));
  out.append("\\u{");
  appendHex(out, value, 4);
  out.push_back('}');
}

}  // namespace factionos::redaction
