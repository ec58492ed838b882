#include <algorithm>
#include <limits>

#include <fcntl.h>
#include <sys/stat.h>

#include "protocol/text.h"
#include "workers/git/files.h"
#include "workers/git/operations.h"
#include "workers/git/shallow.h"
#include "workers/git/texts.h"

namespace factionos::git {
namespace {

constexpr std::size_t kMostSubjectBytes = 256;
constexpr std::size_t kMostNameBytes = 256;
constexpr std::size_t kMostParents = 64;

void fillPerson(const git_signature* signature, schema::GitPerson::Builder person) {
  if (signature == nullptr) return;
  person.setName(utf8Cut(signature->name == nullptr ? "" : signature->name, kMostNameBytes).c_str());
  person.setEmail(utf8Cut(signature->email == nullptr ? "" : signature->email, kMostNameBytes).c_str());
  // Milliseconds; what lies outside of four-digit years is left out.
  constexpr git_time_t kLatest = 253'402'300'799;
  if (signature->when.time > 0 && signature->when.time <= kLatest)
    person.setTime(signature->when.time * 1000);
  person.setOffsetMinutes(signature->when.offset);
}

// What a row of picks does next; libgit2 knows of it only while one of them has a conflict.
const char* rowUnderway(int gitDir) {
  constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  struct stat status {};
  if (fstatat(gitDir, "sequencer", &status, AT_SYMLINK_NOFOLLOW) != 0) return nullptr;
  const auto todo = readSmall(gitDir, "sequencer/todo", kMostBytes);
  return todo && todo->starts_with("revert") ? "revert" : "cherry-pick";
}

// A whole history from `start`, no more than `most`.
std::vector<git_oid> walked(git_repository* repository, const git_oid& start, std::size_t most,
                            Patience& patience) {
  const Revwalk walk = make<Revwalk>(git_revwalk_new, repository);
  must(git_revwalk_sorting(walk.get(), GIT_SORT_TIME));
  must(git_revwalk_push(walk.get(), &start));
  std::vector<git_oid> ids;
  git_oid id;
  int error = 0;
  while (ids.size() < most && (error = git_revwalk_next(&id, walk.get())) == 0) {
    if (patience.over()) throw Refusal{"timed_out", "log"};
    ids.push_back(id);
  }
  if (error != 0 && error != GIT_ITEROVER) must(error);
  return ids;
}

std::uint32_t clamped(std::size_t count) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(count, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

const char* underway(const Opened& opened) {
  switch (git_repository_state(opened.repository)) {
    case GIT_REPOSITORY_STATE_MERGE:
      return "merge";
    case GIT_REPOSITORY_STATE_REVERT:
    case GIT_REPOSITORY_STATE_REVERT_SEQUENCE:
      return "revert";
    case GIT_REPOSITORY_STATE_CHERRYPICK:
    case GIT_REPOSITORY_STATE_CHERRYPICK_SEQUENCE:
      return "cherry-pick";
    case GIT_REPOSITORY_STATE_BISECT:
      return "bisect";
    case GIT_REPOSITORY_STATE_REBASE:
    case GIT_REPOSITORY_STATE_REBASE_INTERACTIVE:
    case GIT_REPOSITORY_STATE_REBASE_MERGE:
      return "rebase";
    case GIT_REPOSITORY_STATE_APPLY_MAILBOX:
    case GIT_REPOSITORY_STATE_APPLY_MAILBOX_OR_REBASE:
      return "apply-mailbox";
    default:
      return rowUnderway(opened.place.gitDir.handle.get());
  }
}

void fillCommit(git_commit* commit, const std::vector<git_oid>& parents, schema::GitLogEntry::Builder entry) {
  entry.setCommit(hexOf(*git_commit_id(commit)).c_str());
  auto list = entry.initParents(static_cast<unsigned>(std::min(parents.size(), kMostParents)));
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, hexOf(parents[i]).c_str());
  fillPerson(git_commit_author(commit), entry.initAuthor());
  fillPerson(git_commit_committer(commit), entry.initCommitter());
  const char* summary = git_commit_summary(commit);
  if (summary != nullptr) entry.setSubject(utf8Cut(summary, kMostSubjectBytes).c_str());
}

void fillHead(const Opened& opened, schema::GitHead::Builder reply) {
  const Head head = headOf(opened.repository);
  if (!head.branch().empty()) reply.setBranch(utf8(head.branch()).c_str());
  if (!head.unborn()) reply.setCommit(hexOf(head.commit).c_str());
  if (const char* what = underway(opened)) reply.setUnderway(what);
  if (head.branch().empty()) return;
  Buffer upstream;
  if (git_branch_upstream_name(upstream.out(), opened.repository, head.name.c_str()) < 0) return;
  const Reference reference = find<Reference>(git_reference_lookup, opened.repository, upstream.data());
  if (!reference) return;
  reply.setUpstream(utf8(git_reference_shorthand(reference.get())).c_str());
  git_oid theirs;
  if (head.unborn() || git_reference_name_to_id(&theirs, opened.repository, upstream.data()) < 0) return;
  const Boundary boundary(opened.place.commonDir);
  Boundary::Distance distance;
  if (boundary.none()) {
    must(git_graph_ahead_behind(&distance.ahead, &distance.behind, opened.repository, &head.commit, &theirs));
  } else {
    distance = boundary.distance(opened.repository, head.commit, theirs);
  }
  reply.setAhead(clamped(distance.ahead));
  reply.setBehind(clamped(distance.behind));
}

void log(const Opened& opened, schema::GitLogRequest::Reader request, schema::GitLog::Builder reply,
         Patience& patience) {
  const Revision from = request.hasFrom() ? checkedRevision(view(request.getFrom())) : Revision{"HEAD", ""};
  if (!request.hasFrom() && headOf(opened.repository).unborn()) return;
  const Commit start = resolve(opened.repository, from);
  const git_oid& tip = *git_commit_id(start.get());
  const Boundary boundary(opened.place.commonDir);
  const std::size_t wanted =
      std::size_t{request.getSkip()} + request.getLimit() + 1;  // whether there is more
  std::vector<git_oid> ids = boundary.none() ? walked(opened.repository, tip, wanted, patience)
                                             : boundary.log(opened.repository, tip, wanted, patience);
  const bool more = ids.size() == wanted;
  if (more) ids.pop_back();
  ids.erase(ids.begin(),
            ids.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(ids.size(), request.getSkip())));
  auto commits = reply.initCommits(static_cast<unsigned>(ids.size()));
  for (unsigned i = 0; i < commits.size(); ++i) {
    const Commit commit = commitOf(opened.repository, ids[i]);
    fillCommit(commit.get(), boundary.parentsOf(commit.get()), commits[i]);
  }
  reply.setMore(more);
}

}  // namespace factionos::git
