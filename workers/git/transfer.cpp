// fetch and push between two repositories on this machine: objects by way of a pack, refs one by one. There
// is no transport, so there is nothing that a URL could name but a path within the allowed roots; and the
// other repository is opened as carefully as our own.
#include <algorithm>

#include <fcntl.h>

#include "protocol/text.h"
#include "workers/git/carry_out.h"
#include "workers/git/files.h"
#include "workers/git/plan.h"
#include "workers/git/ref_writer.h"
#include "workers/git/shallow.h"
#include "workers/git/texts.h"

namespace factionos::git {
namespace {

constexpr std::size_t kMostRefs = 1000;

const Remote& remoteOf(const Opened& opened, std::string_view asked) {
  const std::string name = asked.empty() ? "origin" : checkedRefName(asked, "remote");
  const auto& remotes = opened.place.remotes;
  const auto found = std::ranges::find(remotes, name, &Remote::name);
  if (found != remotes.end()) return *found;
  const bool configured = std::ranges::any_of(opened.place.config.entries, [&name](const ConfigEntry& entry) {
    return entry.key == "remote." + name + ".url";
  });
  if (configured) throw Refusal{"unavailable", "remote_is_not_local"};
  throw Refusal{"not_found", "remote"};
}

// The other side, of a format that is worked in. Its working trees lie anywhere.
struct Other {
  explicit Other(const Directory& gitDir) {
    place.config = configOf(gitDir);
    place.gitDir = {gitDir.path, openBeneath(gitDir.handle.get(), ".", O_PATH | O_DIRECTORY)};
    place.commonDir = {gitDir.path, openBeneath(gitDir.handle.get(), ".", O_PATH | O_DIRECTORY)};
    place.workTree.path = gitDir.path;  // so that none of them is taken for one that lies in ours
    mustBeWhole(place.commonDir);
    repository = openBare(place.gitDir);
  }

  [[nodiscard]] git_repository* get() const { return repository.get(); }
  // A branch that somebody works on is not moved under their feet.
  [[nodiscard]] bool uses(const std::string& branch) const {
    return std::ranges::any_of(worktrees({place, repository.get()}),
                               [&branch](const WorktreeRow& row) { return row.uses(branch); });
  }

  Place place;
  Repository repository = nullptr;
};

struct Wanted {
  git_oid tip;
  std::string ref;
};

// Copies what `to` lacks of the commits. Returns how many objects that were.
std::uint32_t copyObjects(git_repository* from, git_repository* to, const std::vector<git_oid>& tips,
                          Patience& patience) {
  const Revwalk walk = make<Revwalk>(git_revwalk_new, from);
  for (const git_oid& tip : tips) must(git_revwalk_push(walk.get(), &tip));
  // What the other side has need not be walked: its refs are what it has.
  const auto refs = make<ReferenceIterator>(git_reference_iterator_new, to);
  const char* name = nullptr;
  while (git_reference_next_name(&name, refs.get()) == 0) {
    git_oid id;
    git_odb* odb = nullptr;
    if (git_reference_name_to_id(&id, to, name) < 0) continue;
    must(git_repository_odb(&odb, from));
    const Odb owned(odb);
    if (git_odb_exists(odb, &id) == 1) git_revwalk_hide(walk.get(), &id);
  }
  const PackBuilder builder = make<PackBuilder>(git_packbuilder_new, from);
  git_packbuilder_set_threads(builder.get(), 1);
  must(git_packbuilder_insert_walk(builder.get(), walk.get()));
  const auto count = static_cast<std::uint32_t>(git_packbuilder_object_count(builder.get()));
  if (count == 0) return 0;
  git_odb* odb = nullptr;
  must(git_repository_odb(&odb, to));
  const Odb owned(odb);
  git_odb_writepack* raw = nullptr;
  must(git_odb_write_pack(&raw, odb, nullptr, nullptr));
  const std::unique_ptr<git_odb_writepack, void (*)(git_odb_writepack*)> pack(
      raw, [](git_odb_writepack* each) { each->free(each); });
  struct Writing {
    git_odb_writepack* pack;
    git_indexer_progress progress;
    Patience& patience;
  } writing{raw, {}, patience};
  must(git_packbuilder_foreach(
      builder.get(),
      [](void* data, size_t size, void* payload) {
        auto& to_ = *static_cast<Writing*>(payload);
        if (to_.patience.over()) return static_cast<int>(GIT_EUSER);
        return to_.pack->append(to_.pack, data, size, &to_.progress);
      },
      &writing));
  must(raw->commit(raw, &writing.progress));
  return count;
}

std::vector<Wanted> branchesOf(git_repository* remote) {
  std::vector<Wanted> found;
  const auto iterator = make<ReferenceIterator>(git_reference_iterator_glob_new, remote, "refs/heads/*");
  const char* name = nullptr;
  while (git_reference_next_name(&name, iterator.get()) == 0) {
    git_oid id;
    if (git_reference_name_to_id(&id, remote, name) == 0) found.push_back({id, name});
    if (found.size() > kMostRefs) throw Refusal{"too_large", "branches"};
  }
  return found;
}

bool isForward(git_repository* repository, const git_oid& tip, const git_oid& from) {
  return git_oid_equal(&tip, &from) != 0 || git_graph_descendant_of(repository, &tip, &from) == 1;
}

}  // namespace

Plan planFetch(const Planning& planning, schema::GitFetch::Reader request) {
  Plan plan;
  plan.set.operation = "fetch";
  const Remote& remote = remoteOf(planning.opened, view(request.getRemote()));
  plan.target = labelOf("remote", remote.name);
  mustBeWhole(planning.opened.place.commonDir);
  const Other other(remote.gitDir);
  std::vector<git_oid> tips;
  for (const Wanted& branch : branchesOf(other.get())) {
    const std::string name =
        "refs/remotes/" + remote.name + "/" +
        checkedRefName(std::string_view(branch.ref).substr(kHeads.size()), "branch_of_remote");
    const std::string before = refStateOf(planning.opened.repository, name);
    const std::string after = hexOf(branch.tip);
    plan.basis += name + '\0' + before + '\0' + after + '\n';
    if (before == after) continue;
    tips.push_back(branch.tip);
    plan.set.refs.push_back({name, before, after});
  }
  if (plan.set.empty()) throw Refusal{"nothing_to_do", "fetch"};
  if (planning.store == Store::kWrite)
    plan.objects = copyObjects(other.get(), planning.opened.repository, tips, planning.patience);
  return plan;
}

// The remote's branch is moved by carrying out: here its objects arrive, which nothing there refers to yet.
Plan planPush(const Planning& planning, schema::GitPush::Reader request) {
  Plan plan;
  plan.set.operation = "push";
  const Remote& remote = remoteOf(planning.opened, view(request.getRemote()));
  const Head head = headOf(planning.opened.repository);
  const std::string branch =
      request.hasBranch() ? checkedRefName(view(request.getBranch()), "branch") : head.branch();
  if (branch.empty()) throw Refusal{"invalid", "detached_head"};
  const std::string name = std::string(kHeads) + branch;
  const std::string tip = branchStateOf(planning.opened.repository, name);
  if (tip.empty()) throw Refusal{"not_found", "branch"};
  plan.target = labelOf("remote", remote.name + "/" + branch);
  mustBeWhole(planning.opened.place.commonDir);
  const Other other(remote.gitDir);
  const std::string before = branchStateOf(other.get(), name);
  if (before == tip) throw Refusal{"nothing_to_do", "push"};
  const git_oid id = oidOf(tip);
  if (!before.empty()) {
    const git_oid theirs = oidOf(before);
    if (!isForward(planning.opened.repository, id, theirs)) throw Refusal{"not_forward", "push"};
  }
  if (other.uses(name)) throw Refusal{"exists", "checked_out_in_the_remote"};
  plan.basis = remote.name + '\0' + before + '\0' + tip;
  plan.notes.emplace_back("cannot_be_called_back");
  if (planning.store == Store::kWrite)
    plan.objects = copyObjects(planning.opened.repository, other.get(), {id}, planning.patience);
  plan.set.push = PushEdit{remote.name, name, before, tip};
  const std::string tracking = "refs/remotes/" + remote.name + "/" + branch;
  const std::string tracked = refStateOf(planning.opened.repository, tracking);
  if (tracked != tip) plan.set.refs.push_back({tracking, tracked, tip});
  return plan;
}

void moveRemote(const Opened& opened, const PushEdit& push, const std::string& actionId) {
  const Directory& gitDir = remoteOf(opened, push.remote).gitDir;
  const Repository other = openBare(gitDir);
  RefWriter(other.get(), gitDir.handle.get(), gitDir.handle.get(), actionId)
      .write({push.ref, push.before, push.after}, "factionos: push");
}

void removeRemoteLock(const Opened& opened, const PushEdit& push, const std::string& actionId) {
  const auto& remotes = opened.place.remotes;
  const auto remote = std::ranges::find(remotes, push.remote, &Remote::name);
  if (remote == remotes.end()) return;  // nobody knows any more where that was
  const int gitDir = remote->gitDir.handle.get();
  RefWriter(nullptr, gitDir, gitDir, actionId).removeLocks({push.ref});
}

bool remoteHas(const Opened& opened, const PushEdit& push) {
  const auto& remotes = opened.place.remotes;
  const auto remote = std::ranges::find(remotes, push.remote, &Remote::name);
  if (remote == remotes.end()) throw Refusal{"not_found", "remote"};
  const Repository other = openBare(remote->gitDir);
  const std::string now = refStateOf(other.get(), push.ref);
  return now.size() == GIT_OID_HEXSZ && isForward(other.get(), oidOf(now), oidOf(push.after));
}

}  // namespace factionos::git
