#include "workers/git/ignore_text.h"

namespace factionos::git {

bool hasEndlessRule(std::string_view text) {
  // What may stand before an empty pattern: a negation, an anchor, and spaces that are cut off.
  constexpr std::string_view kBefore = " \t\r!/";
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    const auto begin = text.find_first_not_of(kBefore);
    if (begin == std::string_view::npos) return false;
    if (text[begin] == '\v' || text[begin] == '\f') return true;
    const auto end = text.find('\n', begin);
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace factionos::git
