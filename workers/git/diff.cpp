#include <algorithm>

#include "protocol/text.h"
#include "workers/git/deltas.h"
#include "workers/git/filters.h"
#include "workers/git/operations.h"
#include "workers/git/shallow.h"
#include "workers/git/sparse.h"
#include "workers/git/texts.h"
#include "workers/git/tree_writer.h"

namespace factionos::git {
namespace {

constexpr std::size_t kMostPatchBytes = std::size_t{256} << 10;
constexpr std::size_t kMostTextBytes = std::size_t{3} << 20;
constexpr git_off_t kMostBlobBytes = git_off_t{16} << 20;  // what is larger counts as binary

git_diff_options plainOptions() {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_INCLUDE_TYPECHANGE | GIT_DIFF_DISABLE_PATHSPEC_MATCH;
  options.max_size = kMostBlobBytes;
  takeModesAsGitDoes(options);
  return options;
}

void findRenames(git_diff* diff) {
  git_diff_find_options similar = GIT_DIFF_FIND_OPTIONS_INIT;
  similar.flags = GIT_DIFF_FIND_RENAMES;
  similar.rename_limit = 1000;
  must(git_diff_find_similar(diff, &similar));
}

struct FileTotals {
  std::size_t insertions = 0;
  std::size_t deletions = 0;
  std::uint32_t hunks = 0;
  bool binary = false;
};

std::size_t linesOf(std::string_view content) {
  const auto whole = static_cast<std::size_t>(std::ranges::count(content, '\n'));
  return whole + (content.empty() || content.ends_with('\n') ? 0 : 1);
}

bool isBinary(std::string_view content) {
  constexpr std::size_t kLookedAt = 8000;  // as git does
  return content.substr(0, kLookedAt).find('\0') != std::string_view::npos;
}

std::string contentOf(const Opened& opened, const git_diff_file& file) {
  if ((file.flags & GIT_DIFF_FLAG_VALID_ID) == 0)
    return TreeWriter(opened.repository, opened.workTree()).cleanContent(file.path);
  if (file.mode == GIT_FILEMODE_COMMIT) return "Subproject commit " + hexOf(file.id) + "\n";
  const Blob blob = find<Blob>(git_blob_lookup, opened.repository, &file.id);
  if (!blob) return {};
  return {static_cast<const char*>(git_blob_rawcontent(blob.get())),
          static_cast<std::size_t>(git_blob_rawsize(blob.get()))};
}

// A file that became a link, or the reverse: all of the one goes and all of the other comes, as git counts
// it.
FileTotals totalsOfTypeChange(const Opened& opened, const git_diff_delta& delta) {
  const std::string before = contentOf(opened, delta.old_file);
  const std::string after = contentOf(opened, delta.new_file);
  const char* text = nullptr;
  must(git_attr_get(&text, opened.repository, GIT_ATTR_CHECK_FILE_THEN_INDEX, delta.new_file.path, "diff"));
  const bool byAttribute = git_attr_value(text) == GIT_ATTR_VALUE_FALSE;
  if (byAttribute || isBinary(before) || isBinary(after)) return {0, 0, 0, true};
  return {linesOf(after), linesOf(before), 0, false};
}

FileTotals totalsOf(const Opened& opened, git_diff* diff, std::size_t at, Patch& patch) {
  if (const git_diff_delta* changed = git_diff_get_delta(diff, at); changed->status == GIT_DELTA_TYPECHANGE)
    return totalsOfTypeChange(opened, *changed);
  patch = make<Patch>(git_patch_from_diff, diff, at);
  FileTotals totals;
  if (!patch) return totals;
  const git_diff_delta* delta = git_patch_get_delta(patch.get());
  totals.binary = (delta->flags & GIT_DIFF_FLAG_BINARY) != 0;
  totals.hunks = static_cast<std::uint32_t>(git_patch_num_hunks(patch.get()));
  must(git_patch_line_stats(nullptr, &totals.insertions, &totals.deletions, patch.get()));
  return totals;
}

// As git tells it: what is but intended to be added is new.
schema::GitEdit shownAs(git_index* index, const git_diff_delta& delta) {
  const bool isNew = index != nullptr && delta.status != GIT_DELTA_DELETED &&
                     delta.status != GIT_DELTA_RENAMED && isIntended(index, delta.old_file.path);
  return isNew ? schema::GitEdit::ADDED : editOf(delta.status);
}

// A difference to the working tree reports what a filter or a sparse checkout makes of files, too.
enum class Judged { kShow, kHide, kUnjudged };
Judged judge(const Opened& opened, const git_diff_delta& delta) {
  const bool toWorkTree = (delta.new_file.flags & GIT_DIFF_FLAG_VALID_ID) == 0;
  if (!toWorkTree || delta.status != GIT_DELTA_MODIFIED) return Judged::kShow;
  const FilterKind kind = filterOf(opened.repository, delta.new_file.path);
  if (kind == FilterKind::kNone) return Judged::kShow;
  return judgeFiltered(opened.repository, kind, delta.old_file.id, opened.workTree(), delta.new_file.path) ==
                 Judgement::kSame
             ? Judged::kHide
             : Judged::kUnjudged;
}

struct Selected {
  std::size_t at;
  schema::GitEdit edit;
  Judged judged;
};

void fillPatch(git_patch* patch, schema::GitDiff::Builder reply) {
  Buffer text;
  must(git_patch_to_buf(text.out(), patch));
  const std::size_t size = std::min(text.size(), kMostPatchBytes);
  reply.setPatchTotalBytes(text.size());
  reply.setPatch({reinterpret_cast<const kj::byte*>(text.data()), size});
}

void fillFile(const git_diff_delta& delta, schema::GitEdit edit, const FileTotals& totals,
              schema::GitFileDiff::Builder file) {
  const bool deleted = delta.status == GIT_DELTA_DELETED;
  fill(file.initPath(), deleted ? delta.old_file.path : delta.new_file.path);
  if (delta.status == GIT_DELTA_RENAMED) fill(file.initOldPath(), delta.old_file.path);
  file.setEdit(edit);
  file.setBinary(totals.binary);
  file.setHunks(totals.hunks);
  file.setInsertions(static_cast<std::uint32_t>(totals.insertions));
  file.setDeletions(static_cast<std::uint32_t>(totals.deletions));
}

std::vector<Selected> select(const Opened& opened, git_diff* diff, git_index* index, std::string_view file) {
  std::vector<Selected> selected;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff); ++i) {
    const git_diff_delta& delta = *git_diff_get_delta(diff, i);
    if (!file.empty() && file != delta.new_file.path && file != delta.old_file.path) continue;
    const schema::GitEdit edit = shownAs(index, delta);
    if (edit == schema::GitEdit::NONE) continue;
    const Judged judged = judge(opened, delta);
    if (judged != Judged::kHide) selected.push_back({i, edit, judged});
  }
  return selected;
}

Diff between(const Opened& opened, const git_oid& from, const git_oid& to) {
  git_diff_options options = plainOptions();
  const Tree a = treeOf(opened.repository, from);
  const Tree b = treeOf(opened.repository, to);
  return make<Diff>(git_diff_tree_to_tree, opened.repository, a.get(), b.get(), &options);
}

// What a sparse checkout leaves out is no deletion. Of what is the same only an empty file that is but
// intended to be added is of interest.
Diff toWorkTree(const Opened& opened, git_index* index) {
  git_diff_options options = plainOptions();
  options.flags |= GIT_DIFF_IGNORE_SUBMODULES;  // which are never entered
  if (holdsIntended(index)) options.flags |= GIT_DIFF_INCLUDE_UNMODIFIED;
  options.payload = index;
  options.notify_cb = [](const git_diff*, const git_diff_delta* delta, const char*, void* payload) {
    auto* entries = static_cast<git_index*>(payload);
    const char* path = delta->old_file.path;
    const bool isSame = delta->status == GIT_DELTA_UNMODIFIED && !isIntended(entries, path);
    return isSame || isMarkedLeftOut(entries, path) ? 1 : 0;
  };
  return make<Diff>(git_diff_index_to_workdir, opened.repository, index, &options);
}

// `index`: what the working tree is compared with, null where it is not.
void fillDiff(const Opened& opened, git_diff* diff, git_index* index, std::string_view file,
              std::uint32_t limit, schema::GitDiff::Builder reply, Patience& patience) {
  findRenames(diff);
  const std::vector<Selected> selected = select(opened, diff, index, file);
  if (!file.empty() && selected.empty()) throw Refusal{"not_found", "file_has_no_difference"};
  std::size_t shown = std::min<std::size_t>(selected.size(), limit);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    const git_diff_delta& delta = *git_diff_get_delta(diff, selected[i].at);
    bytes += std::string_view(delta.new_file.path).size() + std::string_view(delta.old_file.path).size();
    if (bytes > kMostTextBytes) shown = i;
  }
  auto files = reply.initFiles(static_cast<unsigned>(shown));
  std::uint64_t insertions = 0;
  std::uint64_t deletions = 0;
  for (std::size_t i = 0; i < selected.size(); ++i) {
    if (patience.over()) throw Refusal{"timed_out", "diff"};
    const git_diff_delta& delta = *git_diff_get_delta(diff, selected[i].at);
    Patch patch;
    const bool unjudged = selected[i].judged == Judged::kUnjudged;
    const FileTotals totals = unjudged ? FileTotals{} : totalsOf(opened, diff, selected[i].at, patch);
    insertions += totals.insertions;
    deletions += totals.deletions;
    if (i >= shown) continue;
    auto row = files[static_cast<unsigned>(i)];
    fillFile(delta, selected[i].edit, totals, row);
    row.setUnjudged(unjudged);
    if (!file.empty() && i == 0 && patch) fillPatch(patch.get(), reply);
  }
  reply.setTotal(static_cast<std::uint32_t>(selected.size()));
  reply.setInsertions(insertions);
  reply.setDeletions(deletions);
  reply.setTruncated(shown < selected.size());
}

}  // namespace

void diff(const Opened& opened, schema::GitDiffRequest::Reader request, schema::GitDiff::Builder reply,
          Patience& patience) {
  const std::string file = request.hasFile() ? checkedPath(view(request.getFile())) : std::string();
  Diff found;
  Index toTree;
  if (request.hasFrom() || request.hasTo()) {
    if (request.getStaged()) throw Refusal{"invalid", "staged_with_commits"};
    if (!request.hasFrom()) throw Refusal{"invalid", "to_without_from"};
    const auto commit = [&](capnp::Text::Reader name) {
      const Revision revision = name.size() == 0 ? Revision{"HEAD", ""} : checkedRevision(view(name));
      return *git_commit_id(resolve(opened.repository, revision).get());
    };
    found = between(opened, commit(request.getFrom()), commit(request.getTo()));
  } else {
    Index index = opened.index();
    if (request.getStaged()) {
      git_diff_options options = plainOptions();
      const Tree tree = treeOf(opened.repository, headOf(opened.repository).commit);
      const Index committed = withoutIntended(index.get());
      found = make<Diff>(git_diff_tree_to_index, opened.repository, tree.get(),
                         committed ? committed.get() : index.get(), &options);
    } else {
      found = toWorkTree(opened, index.get());
      toTree = std::move(index);
    }
  }
  fillDiff(opened, found.get(), toTree.get(), file, request.getLimit(), reply, patience);
}

void show(const Opened& opened, schema::GitShowRequest::Reader request, schema::GitShow::Builder reply,
          Patience& patience) {
  const std::string file = request.hasFile() ? checkedPath(view(request.getFile())) : std::string();
  const Commit commit = resolve(opened.repository, checkedRevision(view(request.getCommit())));
  const std::vector<git_oid> parents = Boundary(opened.place.commonDir).parentsOf(commit.get());
  const git_oid parent = parents.empty() ? git_oid{} : parents.front();
  fillCommit(commit.get(), parents, reply.initCommit());
  const char* message = git_commit_message_raw(commit.get());
  constexpr std::size_t kMostMessageBytes = std::size_t{64} << 10;
  if (message != nullptr) reply.setMessage(utf8Cut(message, kMostMessageBytes).c_str());
  const Diff found = between(opened, parent, *git_commit_id(commit.get()));
  fillDiff(opened, found.get(), nullptr, file, request.getLimit(), reply.initDiff(), patience);
}

}  // namespace factionos::git
