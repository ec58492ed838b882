#include "broker/redaction/label.h"

#include <algorithm>

namespace factionos::redaction {
namespace {

bool isLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isAlphanumeric(char c) {
  return isLower(c) || (c >= 'A' && c <= 'Z') || isDigit(c);
}
bool isLabelMark(char c) {
  return std::string_view("._-:@+/").find(c) != std::string_view::npos;
}

bool hasParentSegment(std::string_view text) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    if (text.substr(begin, end - begin) == "..") return true;
    begin = end + 1;
  }
  return false;
}

bool isLabel(std::string_view text) {
  if (text.empty() || text.size() > Label::kMaxBytes) return false;
  const char first = text.front();
  if (!isAlphanumeric(first) && first != '.' && first != '_' && first != '@') return false;
  if (text.back() == '/' || text.find("//") != std::string_view::npos || hasParentSegment(text)) return false;
  std::size_t run = 0;
  for (const char c : text) {
    if (!isAlphanumeric(c) && !isLabelMark(c)) return false;
    run = isAlphanumeric(c) ? run + 1 : 0;
    if (run > Label::kMaxRun) return false;
  }
  return true;
}

bool isCode(std::string_view text) {
  if (text.empty() || text.size() > Code::kMaxBytes || !isLower(text.front())) return false;
  for (const char c : text) {
    if (!isLower(c) && !isDigit(c) && c != '_' && c != '-') return false;
  }
  return true;
}

}  // namespace

std::optional<Label> Label::parse(std::string_view text) {
  if (!isLabel(text)) return std::nullopt;
  return Label(text);
}

Label Label::of(std::string_view text) {
  if (!isLabel(text))
    throw InvalidLabel("not a label: 1 to 96 of A-Z a-z 0-9 . _ - : @ + /, see redaction/label.h");
  return Label(text);
}

std::optional<Code> Code::parse(std::string_view text) {
  if (!isCode(text)) return std::nullopt;
  return Code(text);
}

Code Code::of(std::string_view text) {
  if (!isCode(text)) throw InvalidLabel("not a code: 1 to 48 of a-z 0-9 _ -, beginning with a letter");
  return Code(text);
}

}  // namespace factionos::redaction
