// Objects that are written together are all waited for: what libgit2 writes, through whichever of its calls,
// and what it finds written already.
#include "workers/git/loose_objects.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "workers/git/files.h"
#include "workers/git/repository.h"

namespace factionos::git {
namespace {

namespace fs = std::filesystem;

class WrittenTogether : public testing::Test {
 protected:
  WrittenTogether() {
    std::string pattern = "/tmp/factionos-objects-XXXXXX";
    root = mkdtemp(pattern.data());
    git_libgit2_init();
    repository = make<Repository>(git_repository_init, root.c_str(), 0U);
    readLooseObjects(repository.get(), {objects()});
  }
  ~WrittenTogether() override {
    repository.reset();
    git_libgit2_shutdown();
    fs::remove_all(root);
  }

  [[nodiscard]] std::string objects() const { return root + "/.git/objects"; }
  [[nodiscard]] std::string fileOf(const git_oid& id) const {
    const std::string hex = hexOf(id);
    return objects() + "/" + hex.substr(0, 2) + "/" + hex.substr(2);
  }
  git_oid blob(const std::string& text) const {
    git_oid id;
    must(git_blob_create_from_buffer(&id, repository.get(), text.data(), text.size()));
    return id;
  }
  // Whether the file, the folder that it lies in and the one that this lies in are among those that are
  // waited for.
  [[nodiscard]] static bool holds(const std::vector<sandbox::Fd>& waiting, const std::string& file) {
    const auto has = [&waiting](const std::string& path) {
      struct stat status {};
      if (stat(path.c_str(), &status) != 0) return false;
      return std::ranges::any_of(waiting, [&status](const sandbox::Fd& each) {
        return identityOf(each.get()) == Identity{status.st_dev, status.st_ino};
      });
    };
    const fs::path folder = fs::path(file).parent_path();
    return has(file) && has(folder.string()) && has(folder.parent_path().string());
  }

  std::string root;
  Repository repository;
};

TEST_F(WrittenTogether, EachIsWaitedForAndNoOther) {
  const git_oid before = blob("before");
  const ObjectsTogether together(repository.get());
  EXPECT_TRUE(together.waiting().empty());
  const git_oid first = blob("first");
  const Index index = make<Index>(git_repository_index, repository.get());
  git_index_entry entry{};
  entry.path = "d/file";
  entry.mode = GIT_FILEMODE_BLOB;
  entry.id = first;
  must(git_index_add(index.get(), &entry));
  git_oid treeId;
  must(git_index_write_tree_to(&treeId, index.get(), repository.get()));
  const Tree tree = make<Tree>(git_tree_lookup, repository.get(), &treeId);
  git_signature* raw = nullptr;
  must(git_signature_new(&raw, "Ada", "ada@example.org", 1, 0));
  const Signature author(raw);
  git_oid commit;
  must(git_commit_create(&commit, repository.get(), nullptr, raw, raw, nullptr, "one", tree.get(), 0,
                         nullptr));
  const auto waiting = together.waiting();
  EXPECT_TRUE(holds(waiting, fileOf(first)));
  EXPECT_TRUE(holds(waiting, fileOf(treeId)));
  EXPECT_TRUE(holds(waiting, fileOf(*git_tree_entry_id(git_tree_entry_byname(tree.get(), "d")))));
  EXPECT_TRUE(holds(waiting, fileOf(commit)));
  EXPECT_FALSE(holds(waiting, fileOf(before)));
}

TEST_F(WrittenTogether, WhatIsThereAlreadyIsWaitedForTooAndOnce) {
  const git_oid id = blob("there");
  const ObjectsTogether together(repository.get());
  blob("there");
  blob("there");
  const auto waiting = together.waiting();
  EXPECT_TRUE(holds(waiting, fileOf(id)));
  EXPECT_EQ(waiting.size(), 3U) << "itself, its folder, and the one that this lies in";
}

TEST_F(WrittenTogether, OfManyNoneIsLeft) {
  const ObjectsTogether together(repository.get());
  for (int i = 0; i < 40; ++i) blob(std::to_string(i));
  EXPECT_TRUE(together.waiting().empty());
}

}  // namespace
}  // namespace factionos::git
