#include "sandbox/environment.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <stdexcept>

namespace factionos::sandbox {
namespace {

constexpr std::size_t kLongestInherited = 64;  // locale, terminal and zone names are far shorter

constexpr std::array<std::string_view, 17> kInherited = {
    "COLORTERM", "LANG",           "LANGUAGE",    "LC_ADDRESS",  "LC_ALL",  "LC_COLLATE",
    "LC_CTYPE",  "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC",
    "LC_PAPER",  "LC_TELEPHONE",   "LC_TIME",     "TERM",        "TZ",
};

bool isAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// A slash is needed in zone names alone; what could climb or start at the root is a file name and stays out.
bool validInherited(std::string_view name, std::string_view value) {
  if (value.empty() || value.size() > kLongestInherited) return false;
  const bool zone = name == "TZ";
  const std::string_view marks = zone ? "+-_/,.:<>" : (name == "LANGUAGE" ? "_.@:-" : "_.@+-");
  const bool plain = std::all_of(value.begin(), value.end(), [marks](char c) {
    return isAlphanumeric(c) || marks.find(c) != std::string_view::npos;
  });
  if (!plain) return false;
  return !zone ||
         (value.front() != '/' && value.front() != ':' && value.find("..") == std::string_view::npos);
}

bool validName(std::string_view name) {
  if (name.empty() || !((name.front() >= 'A' && name.front() <= 'Z') || name.front() == '_')) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

std::vector<std::string> buildEnvironment(std::span<const char* const> current,
                                          const EnvironmentPolicy& policy) {
  std::map<std::string, std::string, std::less<>> chosen;
  for (const char* const entry : current) {
    if (entry == nullptr) break;
    const std::string_view text(entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    const std::string_view value = text.substr(equals + 1);
    const bool inherited = std::find(kInherited.begin(), kInherited.end(), name) != kInherited.end();
    if (inherited && validInherited(name, value)) chosen.emplace(name, value);
  }
  chosen["PATH"] = policy.path;
  for (const auto& [name, value] : policy.set) {
    if (!validName(name)) throw std::invalid_argument("environment_name");
    if (value.find('\0') != std::string::npos) throw std::invalid_argument("environment_value");
    chosen[name] = value;
  }
  std::vector<std::string> result;
  result.reserve(chosen.size());
  for (const auto& [name, value] : chosen) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> environmentPointers(std::vector<std::string>& environment) {
  std::vector<char*> pointers;
  pointers.reserve(environment.size() + 1);
  for (std::string& entry : environment) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace factionos::sandbox
