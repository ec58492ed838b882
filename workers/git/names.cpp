#include "workers/git/names.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "workers/git/refusal.h"

namespace factionos::git {
namespace {

constexpr std::size_t kLongestRef = 255;
constexpr std::size_t kLongestPath = 4096;
constexpr std::string_view kNotInRefs = " ~^:?*[\\\x7f";

bool badPart(std::string_view part) {
  return part.empty() || part.front() == '.' || part.front() == '-' || part.ends_with(".lock");
}

bool isRefName(std::string_view name) {
  if (name.empty() || name.size() > kLongestRef || name == "@" || name.back() == '.') return false;
  if (name.find("..") != std::string_view::npos || name.find("@{") != std::string_view::npos) return false;
  const auto refused = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || kNotInRefs.find(c) != std::string_view::npos;
  };
  if (std::ranges::any_of(name, refused)) return false;
  while (true) {
    const std::size_t slash = name.find('/');
    if (badPart(name.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

// ".git" as any file system might read it: libgit2 judges again, with what HFS and NTFS make of names.
bool isDotGit(std::string_view part) {
  constexpr std::string_view kName = ".git";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  if (part.size() < kName.size()) return false;
  if (!std::ranges::equal(part.substr(0, kName.size()), kName, same)) return false;
  const std::string_view rest = part.substr(kName.size());
  return rest.find_first_not_of(" .") == std::string_view::npos || rest.front() == ':';
}

}  // namespace

std::string checkedRefName(std::string_view name, std::string_view rule) {
  if (!isRefName(name)) throw Refusal{"invalid", rule};
  return std::string(name);
}

std::string checkedBranch(std::string_view name) {
  if (name == "HEAD") throw Refusal{"invalid", "branch"};
  return std::string(kHeads) + checkedRefName(name, "branch");
}

Revision checkedRevision(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of("^~"), text.size());
  const std::string_view suffix = text.substr(end);
  constexpr std::size_t kLongestSuffix = 32;
  const bool plain = suffix.find_first_not_of("^~0123456789") == std::string_view::npos;
  if (!plain || suffix.size() > kLongestSuffix) throw Refusal{"invalid", "revision"};
  return {checkedRefName(text.substr(0, end), "revision"), std::string(suffix)};
}

std::string checkedPath(std::string_view path) {
  if (path == ".") return {};
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (path.empty() || path.size() > kLongestPath || path.find('\0') != std::string_view::npos)
    throw Refusal{"invalid", "path"};
  std::string_view rest = path;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == "..") throw Refusal{"scope_violation", "path"};
    if (isDotGit(part)) throw Refusal{"scope_violation", "git_directory"};
    if (slash == std::string_view::npos) return std::string(path);
    rest.remove_prefix(slash + 1);
  }
}

std::string checkedWorktreeName(std::string_view name) {
  if (name.find('/') != std::string_view::npos) throw Refusal{"invalid", "worktree_name"};
  return checkedRefName(name, "worktree_name");
}

}  // namespace factionos::git
