#include "sandbox/explain/view.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/system_paths.h"

namespace factionos::sandbox::explain {
namespace {

constexpr int kMostLinks = 40;  // the kernel's MAXSYMLINKS

std::string joined(const std::string& directory, std::string_view name) {
  return directory == "/" ? "/" + std::string(name) : directory + "/" + std::string(name);
}

std::string parentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

void pushParts(std::deque<std::string>& parts, std::string_view path) {
  std::vector<std::string> found;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) found.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  parts.insert(parts.begin(), found.begin(), found.end());
}

std::string linkText(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = readlink(path.c_str(), text.data(), text.size());
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// /proc/self and /proc/thread-self lead to the process itself, whoever it is. The links below a process lead
// to what that one has open, or stands in.
bool isMagic(const std::string& machine) {
  return machine.starts_with("/proc/") && machine != "/proc/self" && machine != "/proc/thread-self" &&
         machine != "/proc/mounts" && machine != "/proc/net";
}

bool isProcessNumber(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

View::View(const std::vector<MountStep>& steps, const std::vector<MadeLater>& made) {
  if (steps.empty() || steps.front().kind != MountStep::Kind::kNewRoot)
    put("/", {.kind = Node::Kind::kTree, .machine = "/"});
  for (const MountStep& step : steps) take(step);
  for (const MadeLater& later : made) {
    const bool terminal = later.kind == MadeLater::Kind::kTerminal;
    const auto [node, begin] = nodeOf(later.path);
    put(later.path, {.kind = terminal ? Node::Kind::kTerminal : Node::Kind::kEmpty, .mount = node->mount});
  }
}

void View::take(const MountStep& step) {
  switch (step.kind) {
    case MountStep::Kind::kNewRoot:
      nodes_.clear();
      return put("/", {.kind = Node::Kind::kEmpty, .mount = &step});
    case MountStep::Kind::kDirectory:
    case MountStep::Kind::kFile:
      if (nodes_.contains(step.target)) return;
      return put(step.target, {.kind = Node::Kind::kEmpty, .mount = nodeOf(step.target).first->mount});
    case MountStep::Kind::kSymlink:
      return put(step.target,
                 {.kind = Node::Kind::kLink, .link = step.source, .mount = nodeOf(step.target).first->mount});
    case MountStep::Kind::kBind:
    case MountStep::Kind::kDevice:
      return put(step.target, {.kind = Node::Kind::kTree, .machine = step.source, .mount = &step});
    case MountStep::Kind::kTmpfs:
      return put(step.target, {.kind = Node::Kind::kEmpty, .mount = &step});
    case MountStep::Kind::kProc:
      return put(step.target, {.kind = Node::Kind::kProc, .machine = "/proc", .mount = &step});
    case MountStep::Kind::kPivotRoot:
      return;
  }
}

// A mount hides what was below its point.
void View::put(const std::string& path, Node node) {
  const std::string below = path == "/" ? path : path + "/";
  std::erase_if(nodes_, [&below](const auto& entry) { return entry.first.starts_with(below); });
  nodes_.insert_or_assign(path, std::move(node));
}

std::pair<const View::Node*, std::string_view> View::nodeOf(const std::string& path) const {
  for (std::string at = path;; at = parentOf(at)) {
    const auto found = nodes_.find(at);
    if (found != nodes_.end()) return {&found->second, found->first};
  }
}

bool View::holdsNodes(const std::string& path) const {
  const auto next = nodes_.lower_bound(path + "/");
  return next != nodes_.end() && next->first.starts_with(path + "/");
}

View::Entry View::look(const std::string& path) const {
  const auto [node, begin] = nodeOf(path);
  Entry entry;
  entry.mount = node->mount;
  const bool itself = begin == path;
  switch (node->kind) {
    case Node::Kind::kEmpty:
      entry.there = itself || holdsNodes(path);
      entry.mode = S_IFDIR | S_IRWXU;
      return entry;
    case Node::Kind::kTerminal:
      entry.there = itself;
      entry.mode = S_IFCHR | S_IRUSR | S_IWUSR;
      return entry;
    case Node::Kind::kLink:
      entry.there = itself;
      entry.mode = S_IFLNK | S_IRWXU;
      entry.link = node->link;
      return entry;
    case Node::Kind::kTree:
    case Node::Kind::kProc:
      break;
  }
  const std::string rest =
      begin == "/" ? path.substr(1) : path.substr(std::min(begin.size() + 1, path.size()));
  entry.machine = itself || rest.empty() ? node->machine : joined(node->machine, rest);
  if (node->kind == Node::Kind::kProc && !itself) {
    const std::string name = rest.substr(0, rest.find('/'));
    if (isProcessNumber(name) && name != std::to_string(getpid())) return entry;
  }
  struct stat status {};
  // The source of a mount was opened with its links followed.
  const int asked = itself ? stat(entry.machine.c_str(), &status) : lstat(entry.machine.c_str(), &status);
  entry.there = asked == 0;
  entry.mode = status.st_mode;
  if (!entry.there && holdsNodes(path)) {  // on the way to what is made later
    entry.machine.clear();
    entry.there = true;
    entry.mode = S_IFDIR | S_IRWXU;
  }
  if (entry.there && S_ISLNK(entry.mode)) {
    entry.link = linkText(entry.machine);
    entry.perProcess = isMagic(entry.machine);
  }
  return entry;
}

Place View::absent(Place place, const std::string& path, bool last) const {
  place.error = ENOENT;
  place.lastMissing = last;
  place.path = path;
  place.parent = parentOf(path);
  place.mount = nodeOf(path).first->mount;
  const auto [node, begin] = nodeOf(path);
  struct stat status {};
  const bool machineHas = lstat(path.c_str(), &status) == 0;
  const bool hidden = machineHas && (node->kind == Node::Kind::kEmpty || node->kind == Node::Kind::kProc);
  place.absence = hidden ? Absence::kNotMounted : Absence::kNowhere;
  return place;
}

void View::finish(Place& place, const std::string& path, const Entry& entry) const {
  place.path = path;
  place.parent = parentOf(path);
  place.mode = entry.mode;
  place.machine = entry.machine;
  place.mount = entry.mount;
}

Place View::walk(const std::string& absolute, Links links) const {
  Place place;
  if (absolute.size() >= PATH_MAX) return {.error = ENAMETOOLONG};
  std::deque<std::string> parts;
  pushParts(parts, absolute);
  std::string at = "/";
  Entry entry = look(at);
  int followed = 0;
  while (!parts.empty()) {
    if (!S_ISDIR(entry.mode)) return {.error = ENOTDIR, .path = at};
    if (!entry.machine.empty() && faccessat(AT_FDCWD, entry.machine.c_str(), X_OK, AT_EACCESS) != 0)
      return {.error = EACCES, .path = at};
    const std::string name = parts.front();
    parts.pop_front();
    if (name.size() > NAME_MAX) return {.error = ENAMETOOLONG};
    if (name == ".") continue;
    const std::string next = name == ".." ? parentOf(at) : joined(at, name);
    const Entry found = look(next);
    if (!found.there) return absent(place, next, parts.empty());
    if (S_ISLNK(found.mode) && (!parts.empty() || links == Links::kFollow)) {
      if (found.perProcess) return {.perProcess = true, .path = next};
      if (++followed > kMostLinks) return {.error = ELOOP, .path = next};
      pushParts(parts, found.link);
      if (found.link.starts_with('/')) at = "/";
      entry = look(at);
      continue;
    }
    at = next;
    entry = found;
  }
  finish(place, at, entry);
  return place;
}

Identity View::identityOf(const std::string& real) const {
  const auto [node, begin] = nodeOf(real);
  const Entry entry = look(real);
  struct stat status {};
  if (node->kind == Node::Kind::kTree && stat(entry.machine.c_str(), &status) == 0)
    return {status.st_dev, status.st_ino, {}};
  return {0, 0, real};
}

}  // namespace factionos::sandbox::explain
