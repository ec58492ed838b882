// Damaged indexes, packs and references: each read answers or refuses by name, and the worker lives.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "git_harness.h"

namespace factionos::test {
namespace {

namespace fs = std::filesystem;

std::string contentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// In place of what is there, which git makes unwritable.
void replace(const std::string& path, const std::string& content) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << content;
}

// An answer, or a refusal that names what is damaged; with a whole repository beside it as the control.
void expectNamed(const std::string& denial, const std::string& where) {
  const bool named = denial.empty() || denial.starts_with("repository_refused/") ||
                     denial.starts_with("not_found/") || denial.starts_with("too_large/");
  EXPECT_TRUE(named) << where << ": " << denial;
}

template <typename Request>
std::string denialOf(GitWorker& worker, Request&& request) {
  auto answer = worker.call(request);
  return denialText(answer.getDenial());
}

// Whether anything was refused.
bool readEverything(Repo& repo, const std::string& where) {
  GitWorker worker(repo.broker, repo.folder());
  if (!worker.denial.empty()) {
    expectNamed(worker.denial, where);
    return true;
  }
  bool refused = false;
  const auto judge = [&](const std::string& denial) {
    expectNamed(denial, where);
    refused = refused || !denial.empty();
  };
  judge(denialOf(worker, worker.repository.statusRequest()));
  judge(denialOf(worker, worker.repository.diffRequest()));
  judge(denialOf(worker, worker.repository.logRequest()));
  judge(denialOf(worker, worker.repository.branchesRequest()));
  auto show = worker.repository.showRequest();
  show.initRequest().setCommit("HEAD");
  show.getRequest().setFile("kept.txt");
  judge(denialOf(worker, show));
  judge(denialOf(worker, worker.repository.statusRequest()));  // and it lives
  return refused;
}

// Every `step`th byte turned over, and cut off there. How many of them were refused.
unsigned damageEach(Repo& repo, const std::string& path, std::size_t step) {
  const std::string whole = contentOf(path);
  EXPECT_FALSE(whole.empty()) << path;
  unsigned refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += step) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    replace(path, damaged);
    const std::string where = fs::path(path).filename().string() + "@" + std::to_string(at);
    refused += readEverything(repo, where + " turned") ? 1U : 0U;
    replace(path, whole.substr(0, at));
    refused += readEverything(repo, where + " cut") ? 1U : 0U;
  }
  replace(path, whole);
  EXPECT_FALSE(readEverything(repo, "whole again"));
  return refused;
}

std::string firstIn(const std::string& folder, const std::string& ending) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().string().ends_with(ending)) return entry.path();
  return {};
}

TEST(GitDamage, AnIndexIsRefusedOrRead) {
  Repo repo;
  EXPECT_GT(damageEach(repo, repo.folder() + "/.git/index", 23), 0U);
}

TEST(GitDamage, PacksAndTheirIndexesAreRefusedOrNotNeeded) {
  Repo repo;
  git(repo.folder(), {"gc", "-q"});
  const std::string folder = repo.folder() + "/.git/objects/pack";
  EXPECT_GT(damageEach(repo, firstIn(folder, ".pack"), 37), 0U);
  EXPECT_GT(damageEach(repo, firstIn(folder, ".idx"), 131), 0U);
}

TEST(GitDamage, ReferencesAreRefusedOrNotThere) {
  Repo repo;
  git(repo.folder(), {"pack-refs", "--all"});
  damageEach(repo, repo.folder() + "/.git/packed-refs", 11);
  damageEach(repo, repo.folder() + "/.git/HEAD", 3);
}

TEST(GitDamage, NothingIsWrittenOverADamagedIndex) {
  Repo repo;
  const std::string index = repo.folder() + "/.git/index";
  std::string damaged = contentOf(index);
  damaged[damaged.size() / 2] = static_cast<char>(~damaged[damaged.size() / 2]);
  replace(index, damaged);
  repo.write("kept.txt", "changed\n");
  GitWorker worker(repo.broker, repo.folder(), GitWorker::Access::WRITE);
  ASSERT_EQ(worker.denial, "");
  EXPECT_EQ(worker.stageAll(), "repository_refused/index_unreadable");
  EXPECT_EQ(worker.commitAs("x"), "repository_refused/index_unreadable");
  EXPECT_EQ(contentOf(index), damaged);
  EXPECT_FALSE(fs::exists(index + ".lock"));
}

}  // namespace
}  // namespace factionos::test
