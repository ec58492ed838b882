#include "protocol/json/json_text.h"

#include <array>
#include <charconv>

#include <simdjson.h>

namespace factionos::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

void appendUnicodeEscape(unsigned codePoint, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(codePoint >> shift) & 0xFU];
}

void appendControl(unsigned char c, std::string& out) {
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\f':
      out += "\\f";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      appendUnicodeEscape(c, out);
  }
}

bool isPlain(unsigned char c) {
  return c >= 0x20 && c != '"' && c != '\\' && c != 0x7F && c != 0xC2 && c != 0xE2;
}

// The code point at `text`, where it is one of those beyond ASCII that are escaped; else 0. `text` is UTF-8.
unsigned escapedBeyondAscii(std::string_view text) {
  auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.size() >= 2 && byte(0) == 0xC2 && byte(1) < 0xA0) return byte(1);
  if (text.size() >= 3 && byte(0) == 0xE2 && byte(1) == 0x80 && (byte(2) & 0xFEU) == 0xA8)
    return 0x2000U + (byte(2) - 0x80U);
  return 0;
}

void appendValid(std::string_view value, std::string& out) {
  std::size_t plain = 0;
  std::size_t i = 0;
  auto flush = [&] { out.append(value, plain, i - plain); };
  while (i < value.size()) {
    auto c = static_cast<unsigned char>(value[i]);
    if (isPlain(c)) {
      ++i;
      continue;
    }
    if (c >= 0x80) {
      unsigned codePoint = escapedBeyondAscii(value.substr(i));
      if (codePoint == 0) {
        ++i;
        continue;
      }
      flush();
      appendUnicodeEscape(codePoint, out);
      i += codePoint < 0x800 ? 2 : 3;
    } else {
      flush();
      appendControl(c, out);
      ++i;
    }
    plain = i;
  }
  flush();
}

// Length of the UTF-8 sequence that its first byte announces; 0: none starts like that.
std::size_t announcedLength(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

void appendRepaired(std::string_view value, std::string& out) {
  while (!value.empty()) {
    std::size_t length = announcedLength(static_cast<unsigned char>(value.front()));
    if (length != 0 && length <= value.size() && simdjson::validate_utf8(value.data(), length)) {
      appendValid(value.substr(0, length), out);
      value.remove_prefix(length);
    } else {
      out += kReplacement;
      value.remove_prefix(1);
    }
  }
}

}  // namespace

void appendJsonString(std::string_view value, std::string& out) {
  out += '"';
  if (simdjson::validate_utf8(value.data(), value.size())) {
    appendValid(value, out);
  } else {
    appendRepaired(value, out);
  }
  out += '"';
}

void JsonText::separate() {
  if (out_.size() == start_) return;
  // A string ends with a quote, so these are brackets and colons of ours.
  char last = out_.back();
  if (last != '{' && last != '[' && last != ':') out_ += ',';
}

void JsonText::open(char bracket) {
  separate();
  out_ += bracket;
}

void JsonText::key(std::string_view name) {
  separate();
  appendJsonString(name, out_);
  out_ += ':';
}

void JsonText::text(std::string_view value) {
  separate();
  appendJsonString(value, out_);
}

void JsonText::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
}

void JsonText::integer(std::int64_t value) {
  separate();
  std::array<char, 24> digits;
  auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
  out_.append(digits.begin(), end);
}

void JsonText::unsignedInteger(std::uint64_t value) {
  separate();
  std::array<char, 24> digits;
  auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
  out_.append(digits.begin(), end);
}

void JsonText::raw(std::string_view json) {
  separate();
  out_ += json;
}

std::string indented(std::string_view compact) {
  std::string out;
  std::size_t depth = 0;
  bool inString = false;
  auto newLine = [&] { out += '\n', out.append(depth * 2, ' '); };
  for (std::size_t i = 0; i < compact.size(); ++i) {
    char c = compact[i];
    bool emptyPair = i + 1 < compact.size() && (compact[i + 1] == '}' || compact[i + 1] == ']');
    if (inString) {
      out += c;
      if (c == '\\') out += compact[++i];
      if (c == '"') inString = false;
    } else if (c == '{' || c == '[') {
      out += c;
      if (emptyPair) {
        out += compact[++i];
      } else {
        ++depth;
        newLine();
      }
    } else if (c == '}' || c == ']') {
      --depth;
      newLine();
      out += c;
    } else {
      out += c;
      if (c == ',') newLine();
      if (c == ':') out += ' ';
      inString = c == '"';
    }
  }
  out += '\n';
  return out;
}

}  // namespace factionos::json
