#include "workers/git/texts.h"

#include <cstdint>

namespace factionos::git {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool continues(std::string_view text, std::size_t at, unsigned char first, unsigned char last) {
  return at < text.size() && static_cast<unsigned char>(text[at]) >= first &&
         static_cast<unsigned char>(text[at]) <= last;
}

// Length of the character that `text` begins with, by the table of well-formed sequences in the Unicode
// standard (3.9); 0: none.
std::size_t characterLength(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead == 0) return 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(text, 1, 0x80, 0xbf) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned char low = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned char high = lead == 0xed ? 0x9f : 0xbf;
    return continues(text, 1, low, high) && continues(text, 2, 0x80, 0xbf) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned char low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xf4 ? 0x8f : 0xbf;
    const bool whole =
        continues(text, 1, low, high) && continues(text, 2, 0x80, 0xbf) && continues(text, 3, 0x80, 0xbf);
    return whole ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string utf8(std::string_view bytes, bool* same) {
  std::string text;
  bool replaced = false;
  while (!bytes.empty()) {
    const std::size_t length = characterLength(bytes);
    replaced = replaced || length == 0;
    text += length == 0 ? kReplacement : bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  if (same != nullptr) *same = !replaced;
  return text;
}

std::string utf8Cut(std::string_view bytes, std::size_t most) {
  std::string text = utf8(bytes.substr(0, most + 4));
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text;
}

void fill(schema::GitPath::Builder path, std::string_view bytes) {
  bool same = false;
  path.setText(utf8(bytes, &same).c_str());
  if (!same) path.setBytes({reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()});
}

}  // namespace factionos::git
