#include "broker/redaction/label.h"

#include <algorithm>

namespace factionos::redaction {
namespace {

bool isAlnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool isInner(char c) {
  return isAlnum(c) || std::string_view(" ._:@+-").find(c) != std::string_view::npos;
}

}  // namespace

std::optional<Label> Label::parse(std::string_view text) noexcept {
  if (text.empty() || text.size() > kMaxBytes || !isAlnum(text.front()) || text.back() == ' ')
    return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), isInner)) return std::nullopt;
  Label label;
  std::copy(text.begin(), text.end(), label.bytes_.begin());
  label.size_ = static_cast<std::uint8_t>(text.size());
  return label;
}

}  // namespace factionos::redaction
