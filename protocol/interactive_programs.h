// Programs known to take commands from their terminal: the session says so of what it prepared, the broker of
// what it asks consent for. A list, so never more than a hint; what a program may do is the sandbox's to say.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace factionos {

// What they do with a first argument that is no option.
enum class Operand {
  kScript,    // run it in place of the terminal's commands
  kData,      // open it and take commands all the same: editors, pagers, debuggers, clients
  kContents,  // start what it names, which may be anything
};

struct InteractiveProgram {
  std::string_view name;  // of its file, without a version: "python" is python3.11, too
  Operand operand = Operand::kScript;
};

inline constexpr std::array kInteractivePrograms = {
    InteractiveProgram{"sh"},
    InteractiveProgram{"bash"},
    InteractiveProgram{"dash"},
    InteractiveProgram{"zsh"},
    InteractiveProgram{"ksh"},
    InteractiveProgram{"fish"},
    InteractiveProgram{"ash"},
    InteractiveProgram{"csh"},
    InteractiveProgram{"tcsh"},
    InteractiveProgram{"python"},
    InteractiveProgram{"pypy"},
    InteractiveProgram{"node"},
    InteractiveProgram{"deno"},
    InteractiveProgram{"bun"},
    InteractiveProgram{"ruby"},
    InteractiveProgram{"irb"},
    InteractiveProgram{"perl"},
    InteractiveProgram{"php"},
    InteractiveProgram{"lua"},
    InteractiveProgram{"ghci"},
    InteractiveProgram{"julia"},
    InteractiveProgram{"R"},
    InteractiveProgram{"scheme"},
    InteractiveProgram{"bc"},
    InteractiveProgram{"top"},
    InteractiveProgram{"htop"},
    InteractiveProgram{"screen"},
    InteractiveProgram{"tmux"},
    InteractiveProgram{"gdb", Operand::kData},
    InteractiveProgram{"lldb", Operand::kData},
    InteractiveProgram{"vi", Operand::kData},
    InteractiveProgram{"vim", Operand::kData},
    InteractiveProgram{"nano", Operand::kData},
    InteractiveProgram{"emacs", Operand::kData},
    InteractiveProgram{"ed", Operand::kData},
    InteractiveProgram{"less", Operand::kData},
    InteractiveProgram{"more", Operand::kData},
    InteractiveProgram{"psql", Operand::kData},
    InteractiveProgram{"mysql", Operand::kData},
    InteractiveProgram{"sqlite", Operand::kData},
    InteractiveProgram{"ssh", Operand::kData},
    InteractiveProgram{"telnet", Operand::kData},
    InteractiveProgram{"ftp", Operand::kData},
    InteractiveProgram{"script", Operand::kData},
    InteractiveProgram{"busybox", Operand::kContents},
    InteractiveProgram{"env", Operand::kContents},
    InteractiveProgram{"nohup", Operand::kContents},
    InteractiveProgram{"timeout", Operand::kContents},
    InteractiveProgram{"xargs", Operand::kContents},
};

// By the name of its file; null if it is none that is known.
constexpr const InteractiveProgram* findInteractiveProgram(std::string_view file) {
  const auto end = file.find_last_not_of("0123456789.");
  const auto name = file.substr(0, end == std::string_view::npos ? 0 : end + 1);
  const auto* const found =
      std::find_if(kInteractivePrograms.begin(), kInteractivePrograms.end(),
                   [name](const InteractiveProgram& each) { return each.name == name; });
  return found == kInteractivePrograms.end() ? nullptr : found;
}

}  // namespace factionos
