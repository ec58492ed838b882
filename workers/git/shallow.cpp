#include "workers/git/shallow.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>

#include "workers/git/files.h"

namespace factionos::git {
namespace {

constexpr const char* kList = "shallow";
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

bool isThere(const Directory& commonDir) {
  struct stat status {};
  return fstatat(commonDir.handle.get(), kList, &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

}  // namespace

void mustBeWhole(const Directory& commonDir) {
  if (isThere(commonDir)) throw repositoryRefused("shallow");
}

Boundary::Boundary(const Directory& commonDir) {
  if (!isThere(commonDir)) return;
  const auto text = readSmall(commonDir.handle.get(), kList, kMostBytes);
  if (!text) throw repositoryRefused("shallow");
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    git_oid id;
    if (line.size() != GIT_OID_HEXSZ || git_oid_fromstrn(&id, line.data(), line.size()) < 0)
      throw repositoryRefused("shallow");
    commits_.insert(id);
  }
}

std::vector<git_oid> Boundary::parentsOf(git_commit* commit) const {
  std::vector<git_oid> parents;
  if (commits_.contains(*git_commit_id(commit))) return parents;
  for (unsigned i = 0; i < git_commit_parentcount(commit); ++i)
    parents.push_back(*git_commit_parent_id(commit, i));
  return parents;
}

std::vector<git_oid> Boundary::log(git_repository* repository, const git_oid& start, std::size_t most,
                                   Patience& patience) const {
  struct Next {
    git_time_t time;
    std::size_t met;  // of the same time, who was met first
    Commit commit;
  };
  const auto isLater = [](const Next& a, const Next& b) {
    return a.time != b.time ? a.time < b.time : a.met > b.met;
  };
  std::vector<Next> waiting;  // a heap
  Commits known;
  const auto add = [&](const git_oid& id) {
    if (!known.insert(id).second) return;
    Commit commit = commitOf(repository, id);
    const git_time_t time = git_commit_time(commit.get());
    waiting.push_back({time, known.size(), std::move(commit)});
    std::ranges::push_heap(waiting, isLater);
  };
  std::vector<git_oid> found;
  add(start);
  while (!waiting.empty() && found.size() < most) {
    if (patience.over()) throw Refusal{"timed_out", "log"};
    std::ranges::pop_heap(waiting, isLater);
    const Commit commit = std::move(waiting.back().commit);
    waiting.pop_back();
    found.push_back(*git_commit_id(commit.get()));
    for (const git_oid& parent : parentsOf(commit.get())) add(parent);
  }
  return found;
}

Boundary::Commits Boundary::reachedFrom(git_repository* repository, const git_oid& tip) const {
  Commits known = {tip};
  std::vector<git_oid> waiting = {tip};
  while (!waiting.empty()) {
    const Commit commit = commitOf(repository, waiting.back());
    waiting.pop_back();
    for (const git_oid& parent : parentsOf(commit.get()))
      if (known.insert(parent).second) waiting.push_back(parent);
  }
  return known;
}

Boundary::Distance Boundary::distance(git_repository* repository, const git_oid& one,
                                      const git_oid& other) const {
  const Commits ours = reachedFrom(repository, one);
  const Commits theirs = reachedFrom(repository, other);
  const auto missing = [](const Commits& from, const Commits& in) {
    return static_cast<std::size_t>(
        std::ranges::count_if(from, [&in](const git_oid& id) { return !in.contains(id); }));
  };
  return {missing(ours, theirs), missing(theirs, ours)};
}

}  // namespace factionos::git
