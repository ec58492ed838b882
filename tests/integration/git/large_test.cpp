// Many files. FACTIONOS_LARGE=1: 200,000 untracked and 50,000 tracked ones, as G16 has them; else a
// twentieth.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

unsigned scaled(unsigned whole) {
  return std::getenv("FACTIONOS_LARGE") != nullptr ? whole : whole / 20;
}

void fill(const std::string& folder, unsigned count) {
  std::filesystem::create_directories(folder);
  for (unsigned i = 0; i < count; ++i) {
    const std::string path = folder + "/f" + std::to_string(i);
    close(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  }
}

TEST(GitLarge, ManyUntrackedFilesAreCountedAndCut) {
  Repo repo;
  const unsigned count = scaled(200'000);
  fill(repo.folder() + "/many", count);
  GitWorker worker(repo.broker, repo.folder());
  auto all = worker.repository.statusRequest();
  all.initRequest().setUntracked(schema::Untracked::ALL);
  all.getRequest().setLimit(1000);
  auto answer = worker.call(all);
  ASSERT_EQ(denialText(answer.getDenial()), "");
  EXPECT_EQ(answer.getStatus().getEntries().size(), 1000u);
  EXPECT_TRUE(answer.getStatus().getTruncated());
  if (!answer.getStatus().getCountsTruncated()) {
    EXPECT_EQ(answer.getStatus().getUntracked(), count);
  }
  auto normal = worker.call(worker.repository.statusRequest());
  EXPECT_EQ(normal.getStatus().getUntracked(), 1u);
}

// So many that names and times alone are not asked any more, and then one less than that.
TEST(GitLarge, ManyChangesAreGits) {
  for (const unsigned count : {500U, 999U, 1500U}) {
    Repo repo;
    fill(repo.folder() + "/d", count / 2);
    repo.commit("many");
    for (unsigned i = 0; i < count / 2; ++i) {
      repo.write("d/f" + std::to_string(i), "changed\n");
      repo.write("new" + std::to_string(i), "new\n");
    }
    std::filesystem::remove(repo.folder() + "/kept.txt");
    GitWorker worker(repo.broker, repo.folder());
    EXPECT_EQ(worker.status(), porcelain(repo.folder())) << count;
    EXPECT_EQ(worker.status(schema::Untracked::NORMAL), porcelain(repo.folder(), "normal")) << count;
    EXPECT_EQ(worker.status(schema::Untracked::NO), porcelain(repo.folder(), "no")) << count;
  }
}

TEST(GitLarge, ManyTrackedFilesAreLookedAt) {
  Repo repo;
  for (unsigned i = 0; i < 50; ++i) fill(repo.folder() + "/d" + std::to_string(i), scaled(50'000) / 50);
  repo.commit("many");
  repo.write("d3/f3", "changed\n");
  GitWorker worker(repo.broker, repo.folder(), GitWorker::Access::WRITE);
  EXPECT_EQ(worker.status(), std::vector<std::string>{".M d3/f3"});
  EXPECT_EQ(worker.stageAll(), "");
  EXPECT_EQ(worker.commitAs("one of many"), "");
  EXPECT_TRUE(porcelain(repo.folder()).empty());
}

// Enough of them, in enough directories, that more than one thread looks: what each finds is told, and once.
TEST(GitLarge, ChangesInManyDirectoriesAreGits) {
  Repo repo;
  const auto directory = [](unsigned i) { return "d" + std::to_string(i % 7) + "/e" + std::to_string(i); };
  for (unsigned i = 0; i < 60; ++i) fill(repo.folder() + "/" + directory(i), 60);
  repo.write(".gitignore", "*.o\n");
  repo.commit("many");
  for (unsigned i = 0; i < 60; ++i) repo.write(directory(i) + "/made.o", "ignored\n");
  for (const bool changed : {false, true}) {
    if (changed) {
      for (unsigned i = 0; i < 60; ++i) {
        repo.write(directory(i) + "/f" + std::to_string(i), "changed\n");
        std::filesystem::remove(repo.folder() + "/" + directory(i) + "/f3");
        repo.write(directory(i) + "/new" + std::to_string(i), "new\n");
      }
      std::filesystem::remove_all(repo.folder() + "/" + directory(8));
      std::filesystem::rename(repo.folder() + "/" + directory(9), repo.folder() + "/moved");
      std::filesystem::create_directory_symlink("../moved", repo.folder() + "/" + directory(9));
      std::filesystem::remove_all(repo.folder() + "/" + directory(10));
      repo.write(directory(10), "a file now\n");
    }
    GitWorker worker(repo.broker, repo.folder());
    EXPECT_EQ(worker.status(), porcelain(repo.folder())) << changed;
    EXPECT_EQ(worker.status(schema::Untracked::NORMAL), porcelain(repo.folder(), "normal")) << changed;
    EXPECT_EQ(worker.status(schema::Untracked::NO), porcelain(repo.folder(), "no")) << changed;
  }
}

}  // namespace
}  // namespace factionos::test
