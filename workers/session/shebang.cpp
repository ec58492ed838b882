#include "workers/session/shebang.h"

namespace factionos::session {
namespace {
constexpr std::string_view kBlank = " \t";
}  // namespace

FirstLine parseShebang(std::string_view head) {
  head = head.substr(0, kShebangBytes);
  if (!head.starts_with("#!")) return NotAScript{};
  std::string_view line = head.substr(2);
  const std::size_t newline = line.find('\n');
  // Without a newline in sight the rest of the line is unknown: a file shorter than the window has ended.
  const bool cut = newline == std::string_view::npos && head.size() == kShebangBytes;
  line = line.substr(0, newline);
  if (line.find('\0') != std::string_view::npos) return BadShebang{};

  const std::size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return BadShebang{};
  line.remove_prefix(begin);
  const std::size_t end = line.find_first_of(kBlank);
  if (cut && end == std::string_view::npos) return BadShebang{};  // the interpreter's name itself may go on

  Shebang shebang{std::string(line.substr(0, end)), {}};
  if (end == std::string_view::npos) return shebang;
  line.remove_prefix(end);
  const std::size_t argument = line.find_first_not_of(kBlank);
  if (argument == std::string_view::npos) return shebang;
  const std::size_t last = line.find_last_not_of(kBlank);
  shebang.argument = line.substr(argument, last - argument + 1);
  return shebang;
}

}  // namespace factionos::session
