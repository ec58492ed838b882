#include "broker/home/label.h"

#include <algorithm>
#include <cstddef>

namespace factionos::home {
namespace {

constexpr std::size_t kMaxLabelChars = 64;

bool isAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool isLabel(std::string_view text) {
  if (text.empty() || text.size() > kMaxLabelChars || !isAlphanumeric(text.front())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return isAlphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace factionos::home
