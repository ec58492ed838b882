#include "workers/session/guarded_names.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "workers/session/git_directories.h"

namespace factionos::session {
namespace {

// What git reads as its own repository's settings below here, whether it is there yet or not.
constexpr std::array<std::string_view, 2> kRepositories = {".git/modules", ".git/worktrees"};
// Of a repository, where names are free: a branch may be called config.
constexpr std::array<std::string_view, 6> kFree = {"objects", "refs", "logs", "info", "lfs", "rr-cache"};

bool isOneOf(const auto& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool isBelow(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

// A part of the path is a repository's directory: by its name, wherever it lies.
bool hasGit(std::string_view path) {
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (part == ".git") return true;
    path.remove_prefix(std::min(part.size() + 1, path.size()));
  }
  return false;
}

// What a path of the workspace is to a submodule or a linked work tree.
enum class Place : std::uint8_t {
  kElsewhere,
  kRepository,  // one of theirs, on the way to one, or of neither of the following
  kInSettings,  // or they themselves
  kInFree,      // likewise, where names are free
};

Place placeOf(std::string_view path) {
  const auto area =
      std::ranges::find_if(kRepositories, [path](auto each) { return path == each || isBelow(path, each); });
  if (area == kRepositories.end()) return Place::kElsewhere;
  std::string_view rest = path.substr(std::min(area->size() + 1, path.size()));
  // The first part is a repository's name, or begins one: a work tree may be called logs. So is what follows
  // the area of a submodule's own.
  std::string_view part;
  for (bool first = true; !rest.empty(); first = isOneOf(kGitAreas, part)) {
    part = rest.substr(0, rest.find('/'));
    if (isOneOf(kGitSettings, part)) return Place::kInSettings;
    if (!first && isOneOf(kFree, part)) return Place::kInFree;
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  return Place::kRepository;
}

}  // namespace

bool isSettingsByForm(std::string_view path) {
  return placeOf(path) == Place::kInSettings;
}

GuardedNames::GuardedNames(std::string workspace, const ProtectedPaths& paths, Mounted mounted)
    : workspace_(std::move(workspace)) {
  for (const KeptName& name : paths.names) names_.insert_or_assign(name.path, Entry{name.keep, false});
  if (mounted == Mounted::kNo) return;
  for (const ProtectedPath& path : paths.present) {
    if (const auto found = names_.find(path.path); found != names_.end()) found->second.mounted = true;
  }
}

// Relative to the workspace; nothing if it lies elsewhere.
std::optional<std::string> GuardedNames::inside(std::string_view directory, std::string_view name) const {
  if (directory != workspace_ && !isBelow(directory, workspace_)) return std::nullopt;
  std::string path(directory.substr(std::min(workspace_.size() + 1, directory.size())));
  if (!path.empty()) path += '/';
  return path += name;
}

std::optional<Refusal> GuardedNames::judge(std::string_view directory, std::string_view name,
                                           Change change) const {
  const std::optional<std::string> path = inside(directory, name);
  return path ? judgeInside(*path, change) : std::nullopt;
}

Change GuardedNames::bringing(std::string_view fromDirectory, std::string_view fromName) const {
  const std::optional<std::string> path = inside(fromDirectory, fromName);
  return path && placeOf(*path) == Place::kRepository ? Change::kShift : Change::kBring;
}

std::optional<Refusal> GuardedNames::judge(std::string_view path, Change change) const {
  return isBelow(path, workspace_) ? judgeInside(path.substr(workspace_.size() + 1), change) : std::nullopt;
}

bool GuardedNames::isOfGit(std::string_view directory, std::string_view name) const {
  const std::optional<std::string> path = inside(directory, name);
  return path && hasGit(*path);
}

std::optional<Refusal> GuardedNames::judgeInside(std::string_view path, Change change) const {
  for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
    const std::string_view part = path.substr(0, end);
    const bool itself = part.size() == path.size();
    const auto found = names_.find(part);
    if (found != names_.end()) {
      const Entry& entry = found->second;
      // A directory on the way may be made, empty. What lies in it is looked at by its own name.
      const bool passes = entry.keep == Keep::kPlace && (!itself || change == Change::kMakeDirectory);
      if (!passes) return refusal(part, change, entry.mounted, itself);
    }
    if (itself) break;
  }
  const Place place = placeOf(path);
  // What was a part of a repository, where names are free, would become a repository's name in an area.
  const bool toArea = change == Change::kShift && isOneOf(kGitAreas, path.substr(path.rfind('/') + 1));
  const bool brings = change == Change::kBring || change == Change::kLink;
  if (place == Place::kInSettings || (place == Place::kRepository && (brings || toArea)))
    return refusal({}, change, false, false);
  // git writes its own files through a link as through any name: what it leads to would be what the command
  // says, in the place of settings or anywhere else.
  const std::size_t slash = path.rfind('/');
  if (change == Change::kLink && slash != std::string_view::npos && hasGit(path.substr(0, slash)))
    return refusal({}, change, false, false);
  return std::nullopt;
}

Refusal GuardedNames::refusal(std::string_view name, Change change, bool mounted, bool itself) {
  const auto names = protectedNames();
  const auto known = std::ranges::find(names, name, &ProtectedName::path);
  Denial denial{change == Change::kRemove || change == Change::kAlias ? DeniedOperation::kWrite
                                                                      : DeniedOperation::kCreate,
                DenialSource::kSupervisor, DeniedPlace::kProtectedByGit, 0};
  if (known != names.end()) {
    denial.place = DeniedPlace::kProtected;
    denial.detail = static_cast<std::uint16_t>(known - names.begin());
  }
  if (!mounted) return {EACCES, denial};
  denial.source = DenialSource::kNamespace;
  if (change == Change::kAlias) return {EXDEV, denial};
  const bool moved = change == Change::kBring || change == Change::kLink || change == Change::kShift ||
                     change == Change::kRemove;
  return {itself && moved ? EBUSY : EROFS, denial};
}

}  // namespace factionos::session
