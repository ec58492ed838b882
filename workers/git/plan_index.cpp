// stage, unstage and commit.
#include <algorithm>
#include <ctime>
#include <iterator>
#include <set>

#include "protocol/text.h"
#include "workers/git/deltas.h"
#include "workers/git/plan.h"

namespace factionos::git {
namespace {

constexpr std::size_t kMostMessageBytes = std::size_t{64} << 10;

std::vector<std::string> pathsOf(schema::GitStage::Reader request) {
  std::vector<std::string> paths;
  for (const auto file : request.getFiles()) paths.push_back(checkedPath(view(file)));
  for (const auto file : request.getFileBytes())
    paths.push_back(checkedPath({reinterpret_cast<const char*>(file.begin()), file.size()}));
  if (request.getAll() != paths.empty()) throw Refusal{"invalid", "files_or_all"};
  if (request.getAll() || std::ranges::find(paths, std::string()) != paths.end()) return {};
  return paths;
}

bool lowerOrSame(const std::string& path, const std::string& directory) {
  return path == directory || (path.starts_with(directory) && path[directory.size()] == '/');
}

// What is at `paths` (none: everywhere) and not as the index has it.
std::set<std::string> changedBelow(const Planning& planning, const std::vector<std::string>& paths) {
  std::set<std::string> found;
  const auto add = [&found](std::string path) {
    if (path.ends_with('/')) path.pop_back();  // a repository of its own, which is not entered
    found.insert(std::move(path));
    if (found.size() > kMostTouched) throw Refusal{"too_large", "files"};
  };
  const Walk walk = workTreeChanges(
      planning.opened.repository, planning.index, {schema::Untracked::ALL, planning.opened.workTree(), paths},
      planning.patience,
      [&add](const Change& change) {
        if (!change.submodule) add(change.path);
      },
      [&add](std::string_view path) {
        if (!path.ends_with('/')) add(std::string(path));
      });
  if (walk == Walk::kCutShort) throw Refusal{"timed_out", "working_tree"};
  for (const Conflict& conflict : conflictsOf(planning.index)) {
    const auto within = [&](const std::string& path) { return lowerOrSame(conflict.path, path); };
    if (paths.empty() || std::ranges::any_of(paths, within)) add(conflict.path);
  }
  return found;
}

// A path that says nothing at all is a mistake worth telling. What is tracked and unchanged is fine.
void mustExist(const Planning& planning, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (planning.writer().at(path) != TreeWriter::There::kNothing) continue;
    std::size_t position = 0;
    if (git_index_find_prefix(&position, planning.index, path.c_str()) < 0)
      throw Refusal{"not_found", "file"};
  }
}

IndexState merged(const FileState& file) {
  IndexState state;
  state.stages[0] = file;
  return state;
}

Signature signatureFor(const Planning& planning, schema::GitCommit::Reader request) {
  const auto now = static_cast<git_time_t>(std::time(nullptr));
  std::tm local{};
  const std::time_t at = now;
  localtime_r(&at, &local);
  const int offset = static_cast<int>(local.tm_gmtoff / 60);
  if (request.hasAuthorName() != request.hasAuthorEmail()) throw Refusal{"invalid", "author"};
  std::string name(view(request.getAuthorName()));
  std::string email(view(request.getAuthorEmail()));
  if (!request.hasAuthorName()) {
    git_config* raw = nullptr;
    must(git_repository_config_snapshot(&raw, planning.opened.repository));
    const Config config(raw);
    const char* text = nullptr;
    if (git_config_get_string(&text, raw, "user.name") == 0) name = text;
    if (git_config_get_string(&text, raw, "user.email") == 0) email = text;
  }
  const auto bad = [](const std::string& text) {
    return text.find_first_of(std::string_view("<>\n\0", 4)) != std::string::npos;
  };
  if (name.empty() || email.empty()) throw Refusal{"invalid", "author_missing"};
  git_signature* signature = nullptr;
  if (bad(name) || bad(email) || git_signature_new(&signature, name.c_str(), email.c_str(), now, offset) < 0)
    throw Refusal{"invalid", "author"};
  return Signature(signature);
}

std::string checkedMessage(schema::GitCommit::Reader request) {
  std::string message(view(request.getMessage()));
  if (message.size() > kMostMessageBytes) throw Refusal{"too_large", "message"};
  if (message.find('\0') != std::string::npos) throw Refusal{"invalid", "message_nul"};
  if (message.find_first_not_of(" \t\r\n") == std::string::npos) throw Refusal{"invalid", "message_empty"};
  if (!message.ends_with('\n')) message += '\n';
  return message;
}

// One that became something else, a link or a submodule, is told as one that goes and one that comes, whose
// lines git counts so; it is one file.
std::uint32_t countOfFiles(git_diff* diff) {
  std::uint32_t count = 0;
  std::string_view last;
  for (std::size_t at = 0; at < git_diff_num_deltas(diff); ++at) {
    const std::string_view path = git_diff_get_delta(diff, at)->new_file.path;
    if (path != last) ++count;
    last = path;
  }
  return count;
}

// What the commit holds against its parent, for the card. `staged`: the index as a tree, where it has been
// written as one; two trees are compared without a look at what is the same in both, while of an index each
// tree of the parent's is read.
void countStaged(const Planning& planning, const Head& head, git_index* index, git_tree* staged, Plan& plan) {
  git_repository* repository = planning.opened.repository;
  const Tree tree = treeOf(repository, head.commit);
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  takeModesAsGitDoes(options);
  options.max_size = git_off_t{16} << 20;
  const Diff diff = staged != nullptr
                        ? make<Diff>(git_diff_tree_to_tree, repository, tree.get(), staged, &options)
                        : make<Diff>(git_diff_tree_to_index, repository, tree.get(), index, &options);
  plan.files = countOfFiles(diff.get());
  constexpr std::uint32_t kMostCounted = 2000;  // above it the card tells files alone
  if (planning.store != Store::kDry || plan.files > kMostCounted) return;
  git_diff_stats* raw = nullptr;
  must(git_diff_get_stats(&raw, diff.get()));
  const Handle<git_diff_stats, git_diff_stats_free> stats(raw);
  plan.insertions = git_diff_stats_insertions(raw);
  plan.deletions = git_diff_stats_deletions(raw);
}

}  // namespace

FileState withIndexMode(const Planning& planning, std::uint32_t kept, FileState file) {
  git_config* raw = nullptr;
  must(git_repository_config_snapshot(&raw, planning.opened.repository));
  const Config config(raw);
  int modes = 1;
  const bool told = git_config_get_bool(&modes, raw, "core.filemode") == 0;
  if (told && modes == 0 && file.there() && file.mode != GIT_FILEMODE_LINK)
    file.mode = kept == GIT_FILEMODE_BLOB_EXECUTABLE ? kept : static_cast<std::uint32_t>(GIT_FILEMODE_BLOB);
  return file;
}

Plan planStage(const Planning& planning, schema::GitStage::Reader request) {
  Plan plan;
  plan.set.operation = "stage";
  plan.target = "index";
  const std::vector<std::string> paths = pathsOf(request);
  mustExist(planning, paths);
  const TreeWriter writer = planning.writer();
  const std::set<std::string> changed = changedBelow(planning, paths);
  for (const std::string& path : changed) {
    if (planning.patience.over()) throw Refusal{"timed_out", "stage"};
    IndexEdit edit{path, indexStateOf(planning.index, path), {}};
    // Where a directory has come that is no repository of its own, the file is gone; where the folder that it
    // was in has become a link, too, as by git: those that were asked for by name have been looked at above.
    // A folder that can't be looked into says nothing about its files.
    const bool isGone = writer.isBehindLink(path) ||
                        (writer.at(path) == TreeWriter::There::kDirectory && !writer.isThere(path + "/.git"));
    const FileState found = isGone ? FileState{} : writer.take(path, planning.store);
    edit.after = merged(withIndexMode(planning, edit.before.stages[0].mode, found));
    plan.basis +=
        path + '\0' + hexOf(edit.after.stages[0].id) + std::to_string(edit.after.stages[0].mode) + '\n';
    if (edit.after == edit.before) continue;
    plan.set.index.push_back(std::move(edit));
  }
  std::ranges::move(inTheWayOf(planning.index, plan.set.index), std::back_inserter(plan.set.index));
  plan.files = static_cast<std::uint32_t>(plan.set.index.size());
  if (plan.set.empty()) throw Refusal{"nothing_to_do", "stage"};
  return plan;
}

Plan planUnstage(const Planning& planning, schema::GitStage::Reader request) {
  Plan plan;
  plan.set.operation = "unstage";
  plan.target = "index";
  const std::vector<std::string> paths = pathsOf(request);
  const Head head = headOf(planning.opened.repository);
  const Tree tree = treeOf(planning.opened.repository, head.commit);
  std::set<std::string> touched;
  const auto take = [&](const std::string& path) {
    const auto within = [&](const std::string& each) { return lowerOrSame(path, each); };
    if (paths.empty() || std::ranges::any_of(paths, within)) touched.insert(path);
  };
  for (const Change& change : stagedChanges(planning.opened.repository, planning.index, head.commit)) {
    take(change.path);
    if (!change.oldPath.empty()) take(change.oldPath);
  }
  for (const Conflict& conflict : conflictsOf(planning.index)) take(conflict.path);
  if (touched.size() > kMostTouched) throw Refusal{"too_large", "files"};
  for (const std::string& path : touched)
    plan.set.index.push_back(
        {path, indexStateOf(planning.index, path), merged(fileStateOf(tree.get(), path))});
  std::ranges::move(inTheWayOf(planning.index, plan.set.index), std::back_inserter(plan.set.index));
  plan.files = static_cast<std::uint32_t>(plan.set.index.size());
  if (plan.set.empty()) throw Refusal{"nothing_to_do", "unstage"};
  return plan;
}

Plan planCommit(const Planning& planning, schema::GitCommit::Reader request) {
  if (request.getSign()) throw Refusal{"unavailable", "signing_needs_a_program"};
  mustBeIdle(planning.opened);
  if (git_index_has_conflicts(planning.index) != 0) throw Refusal{"conflicts", "index"};
  Plan plan;
  plan.set.operation = "commit";
  const std::string message = checkedMessage(request);
  const Signature author = signatureFor(planning, request);
  const Head head = headOf(planning.opened.repository);
  plan.target = head.detached ? "detached-head" : labelOf("branch", head.branch());
  if (head.detached) plan.notes.emplace_back("detached_head");
  plan.commits = 1;
  const Index committed = withoutIntended(planning.index);
  git_index* index = committed ? committed.get() : planning.index;
  Tree tree;
  if (planning.store == Store::kWrite) {
    git_oid treeId;
    must(git_index_write_tree_to(&treeId, index, planning.opened.repository));
    tree = make<Tree>(git_tree_lookup, planning.opened.repository, &treeId);
  }
  countStaged(planning, head, index, tree.get(), plan);
  if (plan.files == 0 && !request.getAllowEmpty()) throw Refusal{"nothing_to_do", "commit"};
  plan.committer = std::string(author->name) + " <" + author->email + ">";
  RefEdit edit{head.detached ? "HEAD" : head.name, head.unborn() ? std::string() : hexOf(head.commit), {}};
  if (planning.store == Store::kWrite) {
    const Commit parent = head.unborn() ? Commit() : commitOf(planning.opened.repository, head.commit);
    const git_commit* parents[] = {parent.get()};
    git_oid id;
    must(git_commit_create(&id, planning.opened.repository, nullptr, author.get(), author.get(), nullptr,
                           message.c_str(), tree.get(), head.unborn() ? 0 : 1, parents));
    edit.after = hexOf(id);
  }
  plan.set.refs.push_back(std::move(edit));
  return plan;
}

}  // namespace factionos::git
