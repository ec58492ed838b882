#include "workers/git/sparse_patterns.h"

namespace factionos::git {
namespace {

// "a/b" of "/a/b/": without a pattern's special characters, but for those that a backslash takes for
// themselves, as git writes them.
std::optional<std::string> directoryOf(std::string_view line) {
  constexpr std::string_view kSpecial = "*?[\\";
  if (line.size() < 3 || !line.starts_with('/') || !line.ends_with('/')) return std::nullopt;
  line = line.substr(1, line.size() - 2);
  std::string directory;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\\') {
      if (++at == line.size() || kSpecial.find(line[at]) == std::string_view::npos) return std::nullopt;
    } else if (kSpecial.find(line[at]) != std::string_view::npos) {
      return std::nullopt;
    }
    directory += line[at];
  }
  return directory;
}

}  // namespace

std::optional<Cone> Cone::of(std::string_view text) {
  constexpr std::string_view kTopFilesAlone = "/*\n!/*/\n";
  if (!text.starts_with(kTopFilesAlone)) return std::nullopt;
  text.remove_prefix(kTopFilesAlone.size());
  Cone cone;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || !cone.add(text.substr(0, end))) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return cone;
}

bool Cone::add(std::string_view line) {
  constexpr std::string_view kNoDirectories = "*/";
  if (!line.starts_with('!')) {
    std::optional<std::string> directory = directoryOf(line);
    return directory && whole_.insert(std::move(*directory)).second;
  }
  // Of a directory that has just been taken as a whole: its own files alone.
  if (!line.ends_with(kNoDirectories)) return false;
  std::optional<std::string> directory = directoryOf(line.substr(1, line.size() - 1 - kNoDirectories.size()));
  return directory && whole_.erase(*directory) == 1 && onTheWay_.insert(std::move(*directory)).second;
}

bool Cone::holds(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || onTheWay_.contains(path.substr(0, slash))) return true;
  for (std::size_t end = path.find('/'); end != std::string_view::npos; end = path.find('/', end + 1))
    if (whole_.contains(path.substr(0, end))) return true;
  return false;
}

}  // namespace factionos::git
