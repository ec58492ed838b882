#include "protocol/json/names.h"

namespace factionos::json {

std::string snakeCase(std::string_view camelCase) {
  std::string out;
  out.reserve(camelCase.size() + 4);
  for (char c : camelCase) {
    if (c >= 'A' && c <= 'Z') {
      if (!out.empty()) out += '_';
      out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace factionos::json
