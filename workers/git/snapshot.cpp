#include "workers/git/snapshot.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "sandbox/entries.h"
#include "workers/git/files.h"
#include "workers/git/repository.h"

namespace factionos::git {
namespace {

constexpr std::string_view kFolder = "refs/factionos/";
constexpr std::size_t kMostHeld = 10'000;  // blobs of the index that nothing else may refer to

std::string refOf(const std::string& actionId, std::string_view part) {
  return std::string(kFolder) + actionId + "/" + std::string(part);
}

std::set<std::string> heldBy(const ChangeSet& set) {
  std::set<std::string> ids;
  for (const IndexEdit& edit : set.index)
    for (const IndexState* state : {&edit.before, &edit.after})
      for (const FileState& file : state->stages)
        if (file.there() && file.mode != GIT_FILEMODE_COMMIT && ids.size() < kMostHeld)
          ids.insert(hexOf(file.id));
  return ids;
}

// The change set as a blob; as a tree with those that nothing else may refer to, where it has any.
git_oid objectFor(git_repository* repository, const ChangeSet& set) {
  const std::string text = encode(set);
  git_oid blob;
  must(git_blob_create_from_buffer(&blob, repository, text.data(), text.size()));
  // A checkout's blobs are held by the commits on its two sides.
  const std::set<std::string> held = set.files.empty() ? heldBy(set) : std::set<std::string>();
  if (held.empty()) return blob;
  const auto builder = make<TreeBuilder>(git_treebuilder_new, repository, nullptr);
  must(git_treebuilder_insert(nullptr, builder.get(), "change", &blob, GIT_FILEMODE_BLOB));
  for (const std::string& hex : held) {
    const git_oid id = oidOf(hex);
    must(git_treebuilder_insert(nullptr, builder.get(), hex.c_str(), &id, GIT_FILEMODE_BLOB));
  }
  git_oid tree;
  must(git_treebuilder_write(&tree, builder.get()));
  return tree;
}

// Of one that is on no branch nothing else may hold the commit. Empty where there is none; a reference to
// what is not there would be broken.
std::string heldByWorktree(git_repository* repository, const ChangeSet& set) {
  if (!set.worktree || set.worktree->head.size() != GIT_OID_HEXSZ) return {};
  const git_oid id = oidOf(set.worktree->head);
  return find<Commit>(git_commit_lookup, repository, &id) ? set.worktree->head : std::string();
}

bool isActionId(std::string_view id) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  constexpr std::size_t kLongest = 40;
  return !id.empty() && id.size() <= kLongest && id.find_first_not_of(kAllowed) == std::string_view::npos;
}

// Of the actions that have a snapshot: by its folder, or packed. Every action asks, so it is not libgit2's
// list, which opens each of the references.
std::set<std::string> idsKept(int commonDir) {
  std::set<std::string> ids;
  const sandbox::DirectoryStream stream =
      sandbox::streamOf(openBeneath(commonDir, "refs/factionos", O_RDONLY | O_DIRECTORY));
  while (const dirent* entry = stream ? sandbox::nextEntry(stream.get()) : nullptr)
    if (isActionId(entry->d_name)) ids.emplace(entry->d_name);
  const std::string packed = readSmall(commonDir, kPackedRefs, kMostPackedBytes).value_or(std::string());
  const std::string before = " " + std::string(kFolder);
  for (std::size_t at = packed.find(before); at != std::string::npos; at = packed.find(before, at)) {
    at += before.size();
    const std::string_view id = std::string_view(packed).substr(at, packed.find('/', at) - at);
    if (isActionId(id)) ids.emplace(id);
  }
  return ids;
}

// The folders that the reference lay in, as far as they are empty now.
void removeFoldersOf(int commonDir, std::string name) {
  for (std::size_t slash = name.rfind('/'); slash >= kFolder.size() && slash != std::string::npos;
       slash = name.rfind('/')) {
    name.resize(slash);
    const std::string above = name.substr(0, name.rfind('/'));
    const sandbox::Fd parent = openBeneath(commonDir, above, O_RDONLY | O_DIRECTORY);
    if (!parent || unlinkat(parent.get(), name.c_str() + above.size() + 1, AT_REMOVEDIR) != 0) return;
  }
}

// Ids begin with their time, so that their order is that of their actions.
void letGoOfOldOnes(git_repository* repository, int commonDir, const RefWriter& refs) {
  std::set<std::string> ids = idsKept(commonDir);
  for (; ids.size() > kKeptSnapshots; ids.erase(ids.begin())) {
    const std::string folder = std::string(kFolder) + *ids.begin() + "/";
    const auto iterator =
        make<ReferenceIterator>(git_reference_iterator_glob_new, repository, (folder + "*").c_str());
    std::vector<std::string> names;
    const char* name = nullptr;
    while (git_reference_next_name(&name, iterator.get()) == 0) names.emplace_back(name);
    for (const std::string& each : names) {
      refs.set(each, {});
      removeFoldersOf(commonDir, each);
    }
    if (names.empty()) removeFoldersOf(commonDir, folder);
  }
}

}  // namespace

void mustBeActionId(std::string_view id) {
  if (!isActionId(id)) throw Refusal{"invalid", "action_id"};
}

git_oid keepSnapshot(git_repository* repository, int commonDir, const RefWriter& refs,
                     const std::string& actionId, const ChangeSet& set, const git_oid& head,
                     const ObjectsTogether& together) {
  letGoOfOldOnes(repository, commonDir, refs);
  const git_oid object = objectFor(repository, set);
  std::vector<RefWriter::NewRef> kept;
  if (git_oid_is_zero(&head) == 0) kept.push_back({refOf(actionId, "head"), hexOf(head)});
  for (const RefEdit& ref : set.refs) {
    if (ref.before.size() != GIT_OID_HEXSZ || ref.before == hexOf(head)) continue;
    kept.push_back({refOf(actionId, "before/" + ref.name), ref.before});
  }
  if (const std::string commit = heldByWorktree(repository, set); !commit.empty())
    kept.push_back({refOf(actionId, "worktree"), commit});
  kept.push_back({refOf(actionId, "change"), hexOf(object)});  // last: with it the action has begun
  refs.bring(kept, together.waiting());
  return object;
}

void markDone(git_repository* repository, const RefWriter& refs, const std::string& actionId) {
  const std::string change = refOf(actionId, "change");
  const std::string done = refOf(actionId, "done");
  if (refs.copy(change, done)) return;
  git_oid object;
  must(git_reference_name_to_id(&object, repository, change.c_str()));
  refs.set(done, hexOf(object));
}

std::optional<ChangeSet> snapshotAt(git_repository* repository, const git_oid& id) {
  const Object object = find<Object>(git_object_lookup, repository, &id, GIT_OBJECT_ANY);
  if (!object) return std::nullopt;
  git_oid content = id;
  if (git_object_type(object.get()) != GIT_OBJECT_BLOB) {
    const Tree tree = find<Tree>(git_tree_lookup, repository, &id);
    if (!tree) return std::nullopt;
    const git_tree_entry* entry = git_tree_entry_byname(tree.get(), "change");
    if (entry == nullptr) throw repositoryRefused("snapshot_unreadable");
    content = *git_tree_entry_id(entry);
  }
  const Blob blob = make<Blob>(git_blob_lookup, repository, &content);
  std::optional<ChangeSet> set = decode({static_cast<const char*>(git_blob_rawcontent(blob.get())),
                                         static_cast<std::size_t>(git_blob_rawsize(blob.get()))});
  if (!set) throw repositoryRefused("snapshot_unreadable");
  return set;
}

std::optional<Kept> snapshotOf(git_repository* repository, const std::string& actionId) {
  git_oid id;
  const int error = git_reference_name_to_id(&id, repository, refOf(actionId, "change").c_str());
  if (error == GIT_ENOTFOUND) return std::nullopt;
  must(error);
  std::optional<ChangeSet> set = snapshotAt(repository, id);
  if (!set) throw repositoryRefused("snapshot_unreadable");
  git_oid done;
  const bool isDone = git_reference_name_to_id(&done, repository, refOf(actionId, "done").c_str()) == 0;
  return Kept{std::move(*set), isDone};
}

}  // namespace factionos::git
