#pragma once

#include <string_view>
#include <vector>

#include "broker/home/agent_template.h"
#include "broker/home/toml_reader.h"

// Parts of config.toml that have a file of their own. They throw TomlError.
namespace factionos::home {

inline constexpr std::string_view kLabelRule =
    "use 1 to 64 letters, digits and . _ - and start with a letter or digit";

void readTemplates(const TomlReader& reader, std::vector<AgentTemplate>& templates);

}  // namespace factionos::home
