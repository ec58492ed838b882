// The environment of a command.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace factionos::session {

using Variables = std::vector<std::pair<std::string, std::string>>;

// USER, LOGNAME, SHELL and TERM for this process's user.
Variables standardVariables();

// "NAME=value" texts of a session profile as pairs; nothing if one has another form or a name of ours (PATH,
// HOME, TMPDIR, USER, LOGNAME, SHELL, LD_*).
std::optional<Variables> profileVariables(const std::vector<std::string>& texts);

// The allowlist of the present environment (language, time zone), PATH, and `set` on top.
std::vector<std::string> commandEnvironment(const Variables& set);

}  // namespace factionos::session
