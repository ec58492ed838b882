#include "broker/executors/git_checks.h"

#include <string_view>

#include "protocol/text.h"

namespace factionos::broker {
namespace {

constexpr std::size_t kMostPatchBytes = std::size_t{256} << 10;
// A path, or a ref, which is one: 4096 bytes, each of which came as U+FFFD.
constexpr std::size_t kMostPathBytes = 3 * 4096;
constexpr std::size_t kMostMessageBytes = std::size_t{64} << 10;
constexpr unsigned kMostParents = 64;
constexpr unsigned kMostWorktrees = 10'000;
constexpr std::int64_t kLatestMs = 253'402'300'799'000;  // the last moment of a year of four digits
constexpr int kMostOffsetMinutes = 100 * 60;             // +9959 as git writes it

// capnp's lists are no ranges of the standard library.
template <typename List, typename Check>
bool areAll(List list, std::uint32_t most, Check check) {
  if (list.size() > most) return false;
  for (const auto each : list) {
    if (!check(each)) return false;
  }
  return true;
}

template <typename Enum>
bool isOne(Enum value, Enum last) {
  return static_cast<unsigned>(value) <= static_cast<unsigned>(last);
}

bool isEdit(schema::GitEdit edit) {
  return isOne(edit, schema::GitEdit::TYPE_CHANGED);
}

bool isName(capnp::Text::Reader text) {
  return text.size() <= kMostPathBytes;
}

bool isPath(schema::GitPath::Reader path) {
  return path.getText().size() <= kMostPathBytes && path.getBytes().size() <= kMostPathBytes;
}

// The name of an object, or nothing.
bool isObject(capnp::Text::Reader hex) {
  constexpr std::size_t kDigits = 40;
  const auto text = view(hex);
  return text.empty() ||
         (text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos);
}

bool isPerson(schema::GitPerson::Reader person) {
  const auto offset = person.getOffsetMinutes();
  return isName(person.getName()) && isName(person.getEmail()) && person.getTime() >= 0 &&
         person.getTime() <= kLatestMs && offset >= -kMostOffsetMinutes && offset <= kMostOffsetMinutes;
}

bool isCommit(schema::GitLogEntry::Reader commit) {
  return isObject(commit.getCommit()) && areAll(commit.getParents(), kMostParents, isObject) &&
         isPerson(commit.getAuthor()) && isPerson(commit.getCommitter()) && isName(commit.getSubject());
}

bool isEntry(schema::GitStatusEntry::Reader entry) {
  return isPath(entry.getPath()) && isPath(entry.getOldPath()) && isEdit(entry.getIndex()) &&
         isEdit(entry.getWorktree()) && isOne(entry.getConflict(), schema::GitConflict::DELETED_BY_THEM);
}

bool isFile(schema::GitFileDiff::Reader file) {
  return isPath(file.getPath()) && isPath(file.getOldPath()) && isEdit(file.getEdit());
}

bool isBranch(schema::GitBranch::Reader branch) {
  return isName(branch.getName()) && isName(branch.getUpstream()) && isName(branch.getWorktree()) &&
         isObject(branch.getCommit());
}

bool isWorktree(schema::GitWorktree::Reader tree) {
  return isName(tree.getName()) && isPath(tree.getDirectory()) && isName(tree.getBranch()) &&
         isObject(tree.getCommit());
}

}  // namespace

bool isSound(schema::GitStatus::Reader status, std::uint32_t most) {
  const auto head = status.getHead();
  return isName(head.getBranch()) && isName(head.getUpstream()) && isObject(head.getCommit()) &&
         areAll(status.getEntries(), most, isEntry);
}

bool isSound(schema::GitDiff::Reader diff, std::uint32_t most) {
  return diff.getPatch().size() <= kMostPatchBytes && areAll(diff.getFiles(), most, isFile);
}

bool isSound(schema::GitLog::Reader log, std::uint32_t most) {
  return areAll(log.getCommits(), most, isCommit);
}

bool isSound(schema::GitShow::Reader show, std::uint32_t most) {
  return isCommit(show.getCommit()) && show.getMessage().size() <= kMostMessageBytes &&
         isSound(show.getDiff(), most);
}

bool isSound(schema::GitBranches::Reader branches, std::uint32_t most) {
  return areAll(branches.getBranches(), most, isBranch);
}

bool isSound(capnp::List<schema::GitWorktree>::Reader worktrees) {
  return areAll(worktrees, kMostWorktrees, isWorktree);
}

bool isSound(schema::GitPreview::Reader preview) {
  constexpr std::size_t kStateDigits = 64;
  return preview.getState().size() == kStateDigits && isName(preview.getTarget());
}

bool isSound(schema::GitOutcome::Reader outcome) {
  return isObject(outcome.getCommit()) && isName(outcome.getBranch());
}

bool isSnapshot(capnp::Text::Reader name, bool done) {
  return isObject(name) && (name.size() > 0 || !done);
}

}  // namespace factionos::broker
