#include "workers/session/command_environment.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include <pwd.h>
#include <unistd.h>

#include "sandbox/environment.h"
#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

// Set by us alone. LD_ names would change what a hashed program is.
bool isOurs(std::string_view name) {
  constexpr std::array kOurs = {"PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "SHELL"};
  return name.starts_with("LD_") || std::ranges::find(kOurs, name) != kOurs.end();
}

std::string userName() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return entry.pw_name;
  return "user";
}

std::vector<const char*> present() {
  std::vector<const char*> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    variables.push_back(*variable);
  return variables;
}

}  // namespace

Variables standardVariables() {
  const std::string user = userName();
  return {{"USER", user}, {"LOGNAME", user}, {"SHELL", "/bin/sh"}, {"TERM", "xterm-256color"}};
}

std::optional<Variables> profileVariables(const std::vector<std::string>& texts) {
  Variables variables;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || isOurs(text.substr(0, equals))) return std::nullopt;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  try {
    static_cast<void>(commandEnvironment(variables));
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
  return variables;
}

std::vector<std::string> commandEnvironment(const Variables& set) {
  sandbox::EnvironmentPolicy policy;
  policy.path = kSearchPath;
  policy.set = set;
  return sandbox::buildEnvironment(present(), policy);
}

}  // namespace factionos::session
