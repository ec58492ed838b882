// The git worker's interface, over a repository with a little of everything. What it must never do is touch
// the directory beside it.
#include <cstdlib>
#include <fstream>

#include <fcntl.h>
#include <git2.h>

#include "sandbox/descriptors.h"
#include "tests/fuzz/rpc_peer.h"
#include "tests/fuzz/scratch_folder.h"
#include "workers/git/handles.h"
#include "workers/git/locate.h"
#include "workers/git/service.h"

namespace {

using namespace factionos;

// One commit, a branch, something staged and something not.
void fill(const std::string& work) {
  std::ofstream(work + "/f") << "one\n";
  std::ofstream(work + "/d/g") << "g\n";
  git_repository* repository = nullptr;
  git_index* index = nullptr;
  if (git_repository_init(&repository, work.c_str(), 0) < 0 || git_repository_index(&index, repository) < 0)
    std::abort();
  git_oid tree{};
  git_oid commit{};
  git_tree* written = nullptr;
  git_signature* who = nullptr;
  if (git_index_add_bypath(index, "f") < 0 || git_index_write_tree(&tree, index) < 0 ||
      git_tree_lookup(&written, repository, &tree) < 0 ||
      git_signature_new(&who, "A", "a@b", 1'700'000'000, 0) < 0 ||
      git_commit_create_v(&commit, repository, "HEAD", who, who, nullptr, "first\n", written, 0) < 0 ||
      git_reference_create(nullptr, repository, "refs/heads/side", &commit, 0, nullptr) < 0)
    std::abort();
  git_index_add_bypath(index, "d/g");
  git_index_write(index);
  git_signature_free(who);
  git_tree_free(written);
  git_index_free(index);
  git_repository_free(repository);
  std::ofstream(work + "/.git/config", std::ios::app) << "[user]\n\tname = A\n\temail = a@b\n";
  std::ofstream(work + "/f") << "two\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool ready = (git::startLibrary(), fuzz::loop().startBlockingPool(), true);
  if (!ready) std::abort();
  const rpc::QuietKj quiet;
  const fuzz::TreeAndOutside folder;
  const std::string tree = folder.tree();
  fill(tree);
  const sandbox::Fd workspace = sandbox::openFile(tree.c_str(), O_PATH | O_DIRECTORY);
  static auto& plan = *new fuzz::Peer::Plan{
      .interfaces = {capnp::Schema::from<schema::Git>(), capnp::Schema::from<schema::Repository>()},
      .named = {{"actionId", {"act_" + std::string(26, '0'), "act_" + std::string(26, '1')}},
                {"file", {"f", "d/g", "out/secret", "../outside/secret"}},
                {"files", {"f", "d", "out/secret", ".git/config"}},
                {"branch", {"main", "side", "new", "-f", "a..b"}},
                {"from", {"HEAD", "main", "side", "HEAD~1"}},
                {"directory", {"new", "../outside/new", "d"}},
                {"commit", {"HEAD"}}},
      .handsBack = false};
  fuzz::run(plan, data, size, {.role = rpc::Role::kServer, .maxFdsPerMessage = 0},
            [&]() -> capnp::Capability::Client {
              return git::makeService(fuzz::loop(), git::locate(tree, {workspace.get()}));
            });
  fuzz::finishJobs();
  folder.mustBeUntouchedOutside();
  return 0;
}
