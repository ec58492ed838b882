// The first line of a script, read as the kernel reads it (fs/binfmt_script.c). Pure.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace factionos::session {

// The kernel looks at this many bytes of a file and no more (BINPRM_BUF_SIZE).
inline constexpr std::size_t kShebangBytes = 256;

struct Shebang {
  std::string interpreter;  // as written; not empty
  std::string argument;     // the one argument that the kernel passes, spaces within included; may be empty
};
struct NotAScript {};
struct BadShebang {};  // "#!" without an interpreter, cut off within its name, or with a NUL in the line

using FirstLine = std::variant<NotAScript, Shebang, BadShebang>;

// `head` is the beginning of the file; what lies beyond kShebangBytes is ignored.
FirstLine parseShebang(std::string_view head);

}  // namespace factionos::session
