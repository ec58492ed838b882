#include "workers/session/script_operand.h"

#include <algorithm>
#include <array>

namespace factionos::session {
namespace {

struct ScriptReader {
  std::string_view name;         // without a version
  std::string_view inlineFlags;  // letters of options that give the code itself
};

constexpr std::array kReaders = {
    ScriptReader{"sh", "cs"},     ScriptReader{"bash", "cs"},  ScriptReader{"dash", "cs"},
    ScriptReader{"zsh", "cs"},    ScriptReader{"ksh", "cs"},   ScriptReader{"ash", "cs"},
    ScriptReader{"fish", "c"},    ScriptReader{"csh", "cs"},   ScriptReader{"tcsh", "cs"},
    ScriptReader{"python", "cm"}, ScriptReader{"pypy", "cm"},  ScriptReader{"node", "ep"},
    ScriptReader{"ruby", "e"},    ScriptReader{"perl", "eE"},  ScriptReader{"php", "r"},
    ScriptReader{"lua", "e"},     ScriptReader{"julia", "eE"}, ScriptReader{"Rscript", "e"},
    ScriptReader{"tclsh", ""},    ScriptReader{"guile", "ce"},
};

const ScriptReader* find(std::string_view program) {
  const auto* reader = std::ranges::find_if(kReaders, [program](const ScriptReader& each) {
    return program.starts_with(each.name) &&
           program.substr(each.name.size()).find_first_not_of("0123456789.") == std::string_view::npos;
  });
  return reader == kReaders.end() ? nullptr : reader;
}

bool givesCode(const ScriptReader& reader, std::string_view option) {
  if (option.starts_with("--")) return option.starts_with("--eval") || option.starts_with("--print");
  return option.starts_with("-") && option.find_first_of(reader.inlineFlags) != std::string_view::npos;
}

}  // namespace

bool readsAsScript(std::string_view program, std::span<const std::string> before) {
  const ScriptReader* reader = find(program);
  return reader != nullptr &&
         std::ranges::none_of(before, [reader](const std::string& word) { return givesCode(*reader, word); });
}

}  // namespace factionos::session
