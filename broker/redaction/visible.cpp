#include "broker/redaction/visible.h"

#include <algorithm>

#include "broker/redaction/text.h"

namespace factionos::redaction {
namespace {

constexpr std::size_t kSpacesShown = 8;

// Takes one unit off the front of `text` and appends its visible form.
std::string takeVisible(std::string_view& text) {
  std::string unit;
  const std::size_t spaces = std::min(text.find_first_not_of(' '), text.size());
  if (spaces > kSpacesShown) {
    unit = "\\s{" + std::to_string(spaces) + "}";
    text.remove_prefix(spaces);
    return unit;
  }
  if (spaces > 0) {
    unit.assign(spaces, ' ');
    text.remove_prefix(spaces);
    return unit;
  }
  const CodePoint point = decodeUtf8(text);
  const std::string_view bytes = text.substr(0, point.length);
  if (point.status != CodePoint::Status::kValid) {
    for (const char byte : bytes) appendHexByte(unit, byte);
  } else if (point.value == U'\\') {
    unit = "\\\\";
  } else if (isHidden(point.value)) {
    appendEscape(unit, point.value);
  } else {
    unit = bytes;
  }
  text.remove_prefix(point.length);
  return unit;
}

}  // namespace

std::string makeVisible(std::string_view text, std::size_t maxBytes) {
  std::string visible;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view after = rest;
    const std::string unit = takeVisible(after);
    if (visible.size() + unit.size() > maxBytes) break;
    visible += unit;
    rest = after;
  }
  std::string head = "[" + std::to_string(text.size()) + " bytes";
  if (!rest.empty()) head += ", last " + std::to_string(rest.size()) + " hidden";
  return head + "] " + visible;
}

}  // namespace factionos::redaction
