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
  redaction::Literal field = {};        // of the request, where one is to blame
};

constexpr std::array kRows{
    DenialRow{"repository_refused", "owner", ProblemCode::FORBIDDEN,
              "The repository belongs to somebody else."},
    DenialRow{"repository_refused", "worktree_outside", ProblemCode::REPOSITORY_REFUSED,
              "worktree_outside: Its configuration names a working tree outside of the workspace."},
    DenialRow{"repository_refused", "git_directory_outside", ProblemCode::REPOSITORY_REFUSED,
              "git_directory_outside: Its git directory lies outside of the workspaces."},
    DenialRow{"repository_refused", "common_directory_outside", ProblemCode::REPOSITORY_REFUSED,
              "common_directory_outside: Its common directory lies outside of the workspaces."},
    DenialRow{"repository_refused", "alternates_outside", ProblemCode::REPOSITORY_REFUSED,
              "alternates_outside: It borrows objects from outside of the workspaces."},
    DenialRow{"repository_refused", "worktree_link", ProblemCode::REPOSITORY_REFUSED,
              "worktree_link: The repository that it names does not know this working tree."},
    DenialRow{"repository_refused", "bare", ProblemCode::REPOSITORY_REFUSED, "bare: It has no working tree."},
    DenialRow{"repository_refused", "reftable", ProblemCode::REPOSITORY_REFUSED,
              "reftable: Its references are kept as a reftable, which is not supported."},
    DenialRow{"repository_refused", "partial_clone", ProblemCode::REPOSITORY_REFUSED,
              "partial_clone: It is a partial clone: what it lacks would have to be fetched."},
    DenialRow{
        "repository_refused", "shallow", ProblemCode::REPOSITORY_REFUSED,
        "shallow: It, or the remote, is a shallow clone: what it lacks would be missing in what is sent."},
    DenialRow{"repository_refused", "object_format", ProblemCode::REPOSITORY_REFUSED,
              "object_format: Its objects are not named by SHA-1."},
    DenialRow{"repository_refused", "unknown_extension", ProblemCode::REPOSITORY_REFUSED,
              "unknown_extension: It needs an extension that is not known here."},
    DenialRow{"repository_refused", "sparse_index", ProblemCode::REPOSITORY_REFUSED,
              "sparse_index: Its index is a sparse one."},
    DenialRow{"repository_refused", "config_malformed", ProblemCode::REPOSITORY_REFUSED,
              "config_malformed: Its configuration is malformed."},
    DenialRow{"repository_refused", "git_directory_is_a_link", ProblemCode::REPOSITORY_REFUSED,
              "git_directory_is_a_link: Its .git is a symbolic link."},
    DenialRow{"repository_refused", "git_file", ProblemCode::REPOSITORY_REFUSED,
              "git_file: Its .git names no git directory."},
    DenialRow{"repository_refused", "git_directory_missing", ProblemCode::REPOSITORY_REFUSED,
              "git_directory_missing: The git directory that it names is not there."},
    DenialRow{"repository_refused", "no_head", ProblemCode::REPOSITORY_REFUSED, "no_head: It has no HEAD."},
    DenialRow{"repository_refused", "no_objects", ProblemCode::REPOSITORY_REFUSED,
              "no_objects: It has no objects."},
    DenialRow{"repository_refused", "ref_storage", ProblemCode::REPOSITORY_REFUSED,
              "ref_storage: Its references are kept in a way that is not supported."},
    DenialRow{"repository_refused", "format_version", ProblemCode::REPOSITORY_REFUSED,
              "format_version: Its format is of another version."},
    DenialRow{"repository_refused", "config_unreadable", ProblemCode::REPOSITORY_REFUSED,
              "config_unreadable: Its configuration is no small plain file."},
    DenialRow{"repository_refused", "no_plain_file", ProblemCode::REPOSITORY_REFUSED,
              "no_plain_file: Something of it that is read is a FIFO, a socket or a device."},
    DenialRow{"repository_refused", "endless_ignore_rule", ProblemCode::REPOSITORY_REFUSED,
              "endless_ignore_rule: An ignore file of it has a vertical tab or a form feed in the place of a "
              "pattern."},
    DenialRow{"repository_refused", "moved_while_opening", ProblemCode::REPOSITORY_REFUSED,
              "moved_while_opening: It was exchanged for another one in this moment; ask again."},
    DenialRow{"repository_refused", "common_directory", ProblemCode::REPOSITORY_REFUSED,
              "common_directory: Its commondir is no small plain file, or names nothing that is there."},
    DenialRow{"repository_refused", "alternates_unreadable", ProblemCode::REPOSITORY_REFUSED,
              "alternates_unreadable: The list of where it borrows objects is no small plain file."},
    DenialRow{
        "repository_refused", "alternates_too_deep", ProblemCode::REPOSITORY_REFUSED,
        "alternates_too_deep: It borrows objects of a repository that borrows them, more than five times."},
    DenialRow{"repository_refused", "alternates_too_many", ProblemCode::REPOSITORY_REFUSED,
              "alternates_too_many: It borrows objects of too many repositories."},
    DenialRow{"repository_refused", "index_unreadable", ProblemCode::REPOSITORY_REFUSED,
              "index_unreadable: Its index is damaged."},
    DenialRow{"repository_refused", "object_unreadable", ProblemCode::REPOSITORY_REFUSED,
              "object_unreadable: An object of it is damaged or missing."},
    DenialRow{"repository_refused", "reference_unreadable", ProblemCode::REPOSITORY_REFUSED,
              "reference_unreadable: A reference of it is damaged."},
    DenialRow{"repository_refused", "reflog_no_plain_file", ProblemCode::REPOSITORY_REFUSED,
              "reflog_no_plain_file: A reflog is no plain file, or lies behind a symbolic link."},
    DenialRow{"repository_refused", "snapshot_unreadable", ProblemCode::REPOSITORY_REFUSED,
              "snapshot_unreadable: The snapshot is not what it was."},
    DenialRow{"repository_refused", "", ProblemCode::REPOSITORY_REFUSED, "Something of it can't be read."},
    DenialRow{"not_found", "no_repository", ProblemCode::NOT_FOUND, "The workspace holds no repository."},
    DenialRow{"not_found", "remote", ProblemCode::NOT_FOUND, "There is no such remote."},
    DenialRow{"not_found", "snapshot", ProblemCode::NOT_FOUND, "No snapshot of that action is kept."},
    DenialRow{"not_found", "", ProblemCode::NOT_FOUND, "There is no such commit, branch, file or worktree."},
    DenialRow{
        "invalid", "branch", ProblemCode::INVALID_REQUEST, "No branch may have this name.", {}, "branch"},
    DenialRow{"invalid", "path", ProblemCode::INVALID_REQUEST, "This is no path of a file.", {}, "files"},
    DenialRow{"invalid",
              "files_or_all",
              ProblemCode::INVALID_REQUEST,
              "Either files are named, or all is true.",
              {},
              "files"},
    DenialRow{"invalid", "file_name", ProblemCode::INVALID_REQUEST,
              "A file has a name that some file system would take for .git; git takes it nowhere."},
    DenialRow{"invalid", "revision", ProblemCode::INVALID_REQUEST,
              "No commit is named like this: a branch, a tag or digits, with ^ and ~ behind it."},
    DenialRow{"invalid",
              "staged_with_commits",
              ProblemCode::INVALID_REQUEST,
              "Two commits are compared, or what is staged, not both.",
              {},
              "staged"},
    DenialRow{"invalid",
              "to_without_from",
              ProblemCode::INVALID_REQUEST,
              "What it is compared with is missing.",
              {},
              "from"},
    DenialRow{
        "invalid", "remote", ProblemCode::INVALID_REQUEST, "No remote may have this name.", {}, "remote"},
    DenialRow{"invalid",
              "directory",
              ProblemCode::INVALID_REQUEST,
              "This is no directory for a worktree.",
              {},
              "directory"},
    DenialRow{"invalid",
              "worktree_name",
              ProblemCode::INVALID_REQUEST,
              "No worktree may have this name.",
              {},
              "name"},
    DenialRow{
        "invalid", "action_id", ProblemCode::INVALID_REQUEST, "This is no id of an action.", {}, "actionId"},
    DenialRow{
        "invalid", "message_nul", ProblemCode::INVALID_REQUEST, "A message holds no NUL.", {}, "message"},
    DenialRow{
        "invalid", "message_empty", ProblemCode::INVALID_REQUEST, "The message is empty.", {}, "message"},
    DenialRow{"invalid",
              "author",
              ProblemCode::INVALID_REQUEST,
              "Name and email come together, without < and > and line ends.",
              {},
              "authorName"},
    DenialRow{
        "path_protected",
        "directory",
        ProblemCode::FORBIDDEN,
        "This path is protected: git's own files, agents' settings and kept copies are not made or removed "
        "here.",
        {},
        "directory"},
    DenialRow{"path_protected", "", ProblemCode::FORBIDDEN,
              "Files of protected names (git's own, agents' settings, hooks) that this would make, change or "
              "remove: ",
              "; nothing was done. Use your own git for it."},
    DenialRow{
        "not_this_worktree", "entry", ProblemCode::CHANGE_REFUSED,
        "The repository's entry of it names no folder, as after a removal by somebody else that was cut "
        "off; git worktree prune removes such entries."},
    DenialRow{
        "not_this_worktree", "kept_aside", ProblemCode::CHANGE_REFUSED,
        "The worktree was exchanged while its removal began, and something else came to its place: what "
        "was there is whole, and lies beside it as .factionos-ACTION-gone."},
    DenialRow{"not_this_worktree", "", ProblemCode::CHANGE_REFUSED,
              "What lies at its place is not this worktree: the two do not name each other. If it is what a "
              "removal by somebody else left, remove the folder yourself and ask again."},
    DenialRow{"invalid", "neither_file_nor_link", ProblemCode::INVALID_REQUEST,
              "What is to be staged is neither a file nor a symbolic link."},
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
    DenialRow{
        "not_clean", "submodules", ProblemCode::CHANGE_REFUSED,
        "The worktree has submodules, whose files and commits would go with it. Use your own git for it."},
    DenialRow{"not_clean", "nested_worktree", ProblemCode::CHANGE_REFUSED,
              "Another worktree, or the repository itself, lies in this one and would go with it; remove or "
              "move that first."},
    DenialRow{"not_clean", "nested_repository", ProblemCode::CHANGE_REFUSED,
              "Repositories of their own that lie in the worktree, maybe in folders that are ignored, and "
              "would go with it: ",
              "; remove or move them first."},
    DenialRow{"not_clean", "", ProblemCode::CHANGE_REFUSED,
              "Files with changes that no commit holds: ", "; commit them first."},
    DenialRow{"would_overwrite", "edited", ProblemCode::CHANGE_REFUSED,
              "Files that were edited while this was under way: ",
              "; none is overwritten. git status names them among the changed ones."},
    DenialRow{"would_overwrite", "kept_aside", ProblemCode::CHANGE_REFUSED,
              "A file was edited while this was under way, and another one came to its place: the edited one "
              "lies beside it as .factionos-ACTION-was-DIGITS."},
    DenialRow{"would_overwrite", "", ProblemCode::CHANGE_REFUSED,
              "Files in the way that are not tracked: ", "; none is overwritten."},
    DenialRow{"conflicts", "", ProblemCode::CHANGE_REFUSED, "The index has conflicts."},
    DenialRow{"underway", "", ProblemCode::CHANGE_REFUSED, "A merge, a rebase or the like is under way."},
    DenialRow{"exists", "checked_out_here", ProblemCode::CHANGE_REFUSED,
              "The branch is checked out here; check out another one first."},
    DenialRow{"exists", "checked_out_elsewhere", ProblemCode::CHANGE_REFUSED,
              "The branch is checked out in another working tree."},
    DenialRow{"exists", "", ProblemCode::CHANGE_REFUSED, "There is one of this name already."},
    DenialRow{"filter_attribute", "", ProblemCode::CHANGE_REFUSED,
              "An attribute asks for a filter program, and none is run here."},
    DenialRow{"not_forward", "", ProblemCode::CHANGE_REFUSED,
              "The remote has commits that this branch has not."},
    DenialRow{"locked", "index_lock", ProblemCode::RESOURCE_BUSY, "Another git holds index.lock, for ",
              " s. If none is running, remove it yourself."},
    DenialRow{"locked", "ref_lock", ProblemCode::RESOURCE_BUSY,
              "Another git holds the lock of HEAD or of a branch, for ",
              " s. If none is running, remove it yourself."},
    DenialRow{"locked", "lease", ProblemCode::RESOURCE_BUSY,
              "Another process holds a file of the repository by a lease."},
    DenialRow{"locked", "worktree", ProblemCode::RESOURCE_BUSY, "The worktree is locked."},
    DenialRow{"locked", "", ProblemCode::RESOURCE_BUSY, "Another git holds a lock of the repository."},
    DenialRow{"unavailable", "signing_needs_a_program", ProblemCode::UNAVAILABLE,
              "Signing needs gpg or ssh-keygen, and no program is started here."},
    DenialRow{"unavailable", "remote_is_not_local", ProblemCode::UNAVAILABLE,
              "Only a remote whose URL is a path within the workspaces can be reached."},
    DenialRow{"unavailable", "a_push_cannot_be_called_back", ProblemCode::CHANGE_REFUSED,
              "What a remote has received can't be called back from here."},
    DenialRow{"unavailable", "sparse_checkout", ProblemCode::UNAVAILABLE,
              "sparse_checkout: Files of which it can't be told whether the checkout leaves them out: ",
              "; its patterns are no cone, or say otherwise than the index. Use your own git for it."},
    DenialRow{"unavailable", "symbolic_branch", ProblemCode::UNAVAILABLE,
              "symbolic_branch: The branch is another name of a branch; name that one."},
    DenialRow{"unavailable", "", ProblemCode::UNAVAILABLE, "This is not supported in this repository."},
    DenialRow{"too_large", "", ProblemCode::TOO_LARGE, "It is larger than what is worked on here."},
    DenialRow{"timed_out", "stuck", ProblemCode::TIMED_OUT,
              "It waits for something in the repository that does not come, such as a tree without an end."},
    DenialRow{"timed_out", "", ProblemCode::TIMED_OUT, "The repository is too large to answer in time."},
    DenialRow{"no_space", "", ProblemCode::CHANGE_REFUSED, "The repository's file system has no space left."},
    DenialRow{"io_failed", "", ProblemCode::CHANGE_REFUSED, "The repository's file system failed."},
    DenialRow{"not_writable", "worktree", ProblemCode::CHANGE_REFUSED,
              "Something of the worktree can't be made or removed; what is left of a folder that is removed "
              "lies beside its place as .factionos-ACTION-gone."},
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
  if (row->afterNumber.empty()) return {.code = row->problem, .detail = row->detail, .field = row->field};
  return {.code = row->problem,
          .detail = {row->detail, numberIn(view(denial.getTarget())), row->afterNumber},
          .field = row->field};
}

bool isStuck(schema::Denial::Reader denial) {
  return view(denial.getCode()) == "timed_out" && view(denial.getRule()) == "stuck";
}

bool isStale(schema::Denial::Reader denial) {
  return view(denial.getCode()) == "stale";
}

}  // namespace factionos::broker
