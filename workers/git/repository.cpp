#include "workers/git/repository.h"

#include <algorithm>
#include <array>

#include "workers/git/config_backend.h"
#include "workers/git/files.h"
#include "workers/git/loose_objects.h"

namespace factionos::git {
namespace {

void mustBe(const char* opened, const Directory& judged) {
  const sandbox::Fd handle = opened == nullptr ? sandbox::Fd() : openDirectory(opened);
  if (!handle || identityOf(handle.get()) != identityOf(judged.handle.get()))
    throw repositoryRefused("moved_while_opening");
}

// Of the forms that a name may have, in git's own order.
constexpr std::array<const char*, 5> kPlaces = {"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"};

bool isHex(std::string_view text) {
  return text.size() >= 4 && text.size() <= GIT_OID_HEXSZ &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

Object baseOf(git_repository* repository, const std::string& name) {
  for (const char* place : kPlaces) {
    const std::string full = place + name;
    if (full != "HEAD" && !full.starts_with("refs/")) continue;
    git_oid id;
    const int error = git_reference_name_to_id(&id, repository, full.c_str());
    if (error == GIT_ENOTFOUND || error == GIT_EINVALIDSPEC) continue;
    must(error);
    return make<Object>(git_object_lookup, repository, &id, GIT_OBJECT_ANY);
  }
  if (!isHex(name)) throw Refusal{"not_found", "revision"};
  git_oid id;
  must(git_oid_fromstrn(&id, name.c_str(), name.size()));
  // The whole name first: by a short one libgit2 would read a loose object itself.
  const Odb database = make<Odb>(git_repository_odb, repository);
  git_oid whole;
  must(git_odb_exists_prefix(&whole, database.get(), &id, name.size()));
  return make<Object>(git_object_lookup, repository, &whole, GIT_OBJECT_ANY);
}

Commit peeled(const Object& object) {
  git_object* commit = nullptr;
  if (git_object_peel(&commit, object.get(), GIT_OBJECT_COMMIT) < 0) throw Refusal{"not_found", "no_commit"};
  return Commit(reinterpret_cast<git_commit*>(commit));
}

unsigned numberIn(std::string_view suffix, std::size_t& at, unsigned absent) {
  unsigned number = 0;
  const std::size_t begin = at;
  while (at < suffix.size() && suffix[at] >= '0' && suffix[at] <= '9') {
    number = std::min(100'000U, number * 10 + static_cast<unsigned>(suffix[at++] - '0'));
  }
  return at == begin ? absent : number;
}

}  // namespace

Repository openBare(const Directory& gitDir) {
  auto repository = make<Repository>(git_repository_open_bare, gitDir.path.c_str());
  const Config config = makeConfig(viewOf({}, Kind::kMain).entries);
  must(git_repository_set_config(repository.get(), config.get()));
  mustBe(git_repository_path(repository.get()), gitDir);
  readLooseObjects(repository.get(), {gitDir.path + "/objects"});
  return repository;
}

Repository openRepository(const Place& place) {
  if (place.refusal) throw Refusal(*place.refusal);
  // It was one when it was located.
  auto repository = find<Repository>(git_repository_open_bare, place.gitDir.path.c_str());
  if (!repository) throw repositoryRefused("no_head");
  const Config config = makeConfig(place.config.entries);
  must(git_repository_set_config(repository.get(), config.get()));
  must(git_repository_set_workdir(repository.get(), place.workTree.path.c_str(), 0));
  mustBe(git_repository_path(repository.get()), place.gitDir);
  mustBe(git_repository_commondir(repository.get()), place.commonDir);
  mustBe(git_repository_workdir(repository.get()), place.workTree);
  std::vector<std::string> objects = {place.commonDir.path + "/objects"};
  for (const Directory& alternate : place.alternates) objects.push_back(alternate.path);
  readLooseObjects(repository.get(), std::move(objects));
  return repository;
}

std::string Head::branch() const {
  return name.starts_with(kHeads) ? name.substr(kHeads.size()) : std::string();
}

std::string endOf(git_repository* repository, std::string name) {
  constexpr int kMostSteps = 5;  // as git's
  for (int step = 0; step <= kMostSteps; ++step) {
    git_reference* raw = nullptr;
    const int error = git_reference_lookup(&raw, repository, name.c_str());
    if (error == GIT_ENOTFOUND) return name;
    // A name that no reference may have is a damaged reference, and nobody's request.
    if (error == GIT_EINVALIDSPEC) break;
    must(error);
    const Reference reference(raw);
    if (git_reference_type(raw) == GIT_REFERENCE_DIRECT) return name;
    name = git_reference_symbolic_target(raw);
  }
  throw repositoryRefused("reference_unreadable");
}

Head headOf(git_repository* repository) {
  Head head;
  const auto reference = make<Reference>(git_reference_lookup, repository, "HEAD");
  if (git_reference_type(reference.get()) == GIT_REFERENCE_DIRECT) {
    head.name = "HEAD";
    head.detached = true;
    head.commit = *git_reference_target(reference.get());
    return head;
  }
  head.name = endOf(repository, git_reference_symbolic_target(reference.get()));
  git_oid id;
  const int error = git_reference_name_to_id(&id, repository, head.name.c_str());
  if (error == GIT_ENOTFOUND) return head;
  must(error);
  head.commit = id;
  return head;
}

std::string hexOf(const git_oid& id) {
  std::array<char, GIT_OID_HEXSZ + 1> text{};
  git_oid_tostr(text.data(), text.size(), &id);
  return text.data();
}

git_oid oidOf(std::string_view hex) {
  git_oid id;
  if (hex.size() != GIT_OID_HEXSZ || git_oid_fromstrn(&id, hex.data(), hex.size()) < 0)
    throw Refusal{"invalid", "object_name"};
  return id;
}

Commit resolve(git_repository* repository, const Revision& revision) {
  Commit commit = peeled(baseOf(repository, revision.base));
  for (std::size_t at = 0; at < revision.suffix.size();) {
    const char step = revision.suffix[at++];
    const unsigned number = numberIn(revision.suffix, at, 1);
    const unsigned steps = step == '~' ? number : std::min(number, 1U);
    const unsigned parent = step == '~' ? 0 : number - std::min(number, 1U);
    for (unsigned i = 0; i < steps; ++i) {
      git_commit* next = nullptr;
      if (git_commit_parent(&next, commit.get(), parent) < 0) throw Refusal{"not_found", "no_parent"};
      commit.reset(next);
    }
  }
  return commit;
}

Commit commitOf(git_repository* repository, const git_oid& id) {
  return make<Commit>(git_commit_lookup, repository, &id);
}

Tree treeOf(git_repository* repository, const git_oid& commit) {
  if (git_oid_is_zero(&commit)) return Tree();
  const Commit found = commitOf(repository, commit);
  return make<Tree>(git_commit_tree, found.get());
}

}  // namespace factionos::git
