#include "broker/executors/git_denials.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "broker/audit/label.h"
#include "broker/core/log.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using actions::Refused;
using schema::ProblemCode;

struct DenialRow {
  std::string_view code;
  std::string_view rule;  // empty: any other of this code
  ProblemCode problem;
  redaction::Literal detail;
  redaction::Literal afterNumber = {};  // there: the number that the worker tells comes before it
};

constexpr std::array kRows{
    DenialRow{"repository_refused", "owner", ProblemCode::FORBIDDEN,
              "The repository belongs to somebody else."},
    DenialRow{"repository_refused", "worktree_outside", ProblemCode::REPOSITORY_REFUSED,
              "Its configuration names a working tree outside of the workspace."},
    DenialRow{"repository_refused", "git_directory_outside", ProblemCode::REPOSITORY_REFUSED,
              "Its git directory lies outside of the workspaces."},
    DenialRow{"repository_refused", "common_directory_outside", ProblemCode::REPOSITORY_REFUSED,
              "Its common directory lies outside of the workspaces."},
    DenialRow{"repository_refused", "alternates_outside", ProblemCode::REPOSITORY_REFUSED,
              "It borrows objects from outside of the workspaces."},
    DenialRow{"repository_refused", "worktree_link", ProblemCode::REPOSITORY_REFUSED,
              "The repository that it names does not know this working tree."},
    DenialRow{"repository_refused", "bare", ProblemCode::REPOSITORY_REFUSED, "It has no working tree."},
    DenialRow{"repository_refused", "reftable", ProblemCode::REPOSITORY_REFUSED,
              "Its references are kept as a reftable, which is not supported."},
    DenialRow{"repository_refused", "partial_clone", ProblemCode::REPOSITORY_REFUSED,
              "It is a partial clone: what it lacks would have to be fetched."},
    DenialRow{"repository_refused", "object_format", ProblemCode::REPOSITORY_REFUSED,
              "Its objects are not named by SHA-1."},
    DenialRow{"repository_refused", "unknown_extension", ProblemCode::REPOSITORY_REFUSED,
              "It needs an extension that is not known here."},
    DenialRow{"repository_refused", "sparse_index", ProblemCode::REPOSITORY_REFUSED,
              "Its index is a sparse one."},
    DenialRow{"repository_refused", "config_malformed", ProblemCode::REPOSITORY_REFUSED,
              "Its configuration is malformed."},
    DenialRow{"repository_refused", "", ProblemCode::REPOSITORY_REFUSED, "Something of it can't be read."},
    DenialRow{"not_found", "no_repository", ProblemCode::NOT_FOUND, "The workspace holds no repository."},
    DenialRow{"not_found", "remote", ProblemCode::NOT_FOUND, "There is no such remote."},
    DenialRow{"not_found", "snapshot", ProblemCode::NOT_FOUND, "No snapshot of that action is kept."},
    DenialRow{"not_found", "", ProblemCode::NOT_FOUND, "There is no such commit, branch, file or worktree."},
    DenialRow{"invalid", "branch", ProblemCode::INVALID_REQUEST, "No branch may have this name."},
    DenialRow{"invalid", "author_missing", ProblemCode::INVALID_REQUEST,
              "The repository has no user.name and user.email, and the request no author."},
    DenialRow{"invalid", "", ProblemCode::INVALID_REQUEST,
              "A name, a path or the message may not be like this."},
    DenialRow{"scope_violation", "parent_is_a_link", ProblemCode::SCOPE_VIOLATION,
              "A directory of the path is a symbolic link."},
    DenialRow{"scope_violation", "", ProblemCode::SCOPE_VIOLATION, "The path leads out of the working tree."},
    DenialRow{"state_moved", "refs_have_moved_on", ProblemCode::CHANGE_REFUSED,
              "Branches that have moved on since that action: ", "; nothing was undone."},
    DenialRow{"state_moved", "files_have_changed_since", ProblemCode::CHANGE_REFUSED,
              "Files that have changed since that action: ", "; nothing was undone."},
    DenialRow{"state_moved", "", ProblemCode::APPROVAL_DRIFT,
              "HEAD, the index or a file is not what the action was proposed on."},
    DenialRow{"nothing_to_do", "", ProblemCode::CHANGE_REFUSED, "There is nothing to do."},
    DenialRow{"not_clean", "", ProblemCode::CHANGE_REFUSED,
              "Files with changes that no commit holds: ", "; commit them first."},
    DenialRow{"would_overwrite", "", ProblemCode::CHANGE_REFUSED,
              "Files in the way that are not tracked: ", "; none is overwritten."},
    DenialRow{"conflicts", "", ProblemCode::CHANGE_REFUSED, "The index has conflicts."},
    DenialRow{"underway", "", ProblemCode::CHANGE_REFUSED, "A merge, a rebase or the like is under way."},
    DenialRow{"exists", "checked_out_elsewhere", ProblemCode::CHANGE_REFUSED,
              "The branch is checked out in another working tree."},
    DenialRow{"exists", "", ProblemCode::CHANGE_REFUSED, "There is one of this name already."},
    DenialRow{"filter_attribute", "", ProblemCode::CHANGE_REFUSED,
              "An attribute asks for a filter program, and none is run here."},
    DenialRow{"not_forward", "", ProblemCode::CHANGE_REFUSED,
              "The remote has commits that this branch has not."},
    DenialRow{"locked", "index_lock", ProblemCode::RESOURCE_BUSY, "Another git holds index.lock, for ",
              " s. If none is running, remove it yourself."},
    DenialRow{"locked", "worktree", ProblemCode::RESOURCE_BUSY, "The worktree is locked."},
    DenialRow{"locked", "", ProblemCode::RESOURCE_BUSY, "Another git holds a lock of the repository."},
    DenialRow{"unavailable", "signing_needs_a_program", ProblemCode::UNAVAILABLE,
              "Signing needs gpg or ssh-keygen, and no program is started here."},
    DenialRow{"unavailable", "remote_is_not_local", ProblemCode::UNAVAILABLE,
              "Only a remote whose URL is a path within the workspaces can be reached."},
    DenialRow{"unavailable", "a_push_cannot_be_called_back", ProblemCode::CHANGE_REFUSED,
              "What a remote has received can't be called back from here."},
    DenialRow{"unavailable", "", ProblemCode::UNAVAILABLE, "This is not supported in this repository."},
    DenialRow{"too_large", "", ProblemCode::TOO_LARGE, "It is larger than what is worked on here."},
    DenialRow{"timed_out", "", ProblemCode::TIMED_OUT, "The repository is too large to answer in time."},
    DenialRow{"not_writable", "", ProblemCode::CHANGE_REFUSED, "A file of the repository can't be written."},
    DenialRow{"not_readable", "", ProblemCode::CHANGE_REFUSED, "A file can't be read."},
};

audit::Label named(std::string_view text) {
  return audit::Label::parse(text).value_or(audit::Label::of("unknown"));
}

std::uint64_t numberIn(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Refused gitDenied(schema::Denial::Reader denial) {
  const auto code = view(denial.getCode());
  const auto rule = view(denial.getRule());
  log(Level::kInfo, "git_denied", {{"code", named(code)}, {"rule", named(rule)}});
  const auto* row = std::ranges::find_if(kRows, [&](const DenialRow& each) {
    return each.code == code && (each.rule.empty() || each.rule == rule);
  });
  if (row == kRows.end()) return {.code = ProblemCode::REPOSITORY_REFUSED};
  if (row->afterNumber.empty()) return {.code = row->problem, .detail = row->detail};
  return {.code = row->problem,
          .detail = {row->detail, numberIn(view(denial.getTarget())), row->afterNumber}};
}

bool isStale(schema::Denial::Reader denial) {
  return view(denial.getCode()) == "stale";
}

}  // namespace factionos::broker
