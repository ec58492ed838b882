// Who else may read and write what a change makes in a repository: those who may its folder.
#include <cstdint>
#include <cstdio>

#include <sys/stat.h>
#include <sys/xattr.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

using Access = GitWorker::Access;

mode_t rightsOf(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

std::string octal(mode_t rights) {
  char text[8];
  std::snprintf(text, sizeof text, "%o", rights);
  return text;
}

void shareFolders(const std::string& folder, mode_t rights) {
  for (const char* below :
       {"", "/objects", "/refs", "/refs/heads", "/logs", "/logs/refs", "/logs/refs/heads"})
    ASSERT_EQ(chmod((folder + "/.git" + below).c_str(), rights), 0) << below;
}

class GitRights : public testing::TestWithParam<mode_t> {};

TEST_P(GitRights, OfWhatIsMadeAreThoseOfTheRepository) {
  Repo repo;
  const std::string dotGit = repo.folder() + "/.git";
  git(repo.folder(), {"gc", "-q"});  // no folder of objects is there that ours may come to lie in
  shareFolders(repo.folder(), GetParam());
  repo.write("a.txt", "first of its kind: " + octal(GetParam()) + "\n");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.stageAll(), "");
  ASSERT_EQ(worker.commitAs("with the rights of its folder"), "");

  const mode_t folders = GetParam() & 07775;
  const mode_t files = folders & 0666;
  EXPECT_EQ(octal(rightsOf(dotGit + "/index")), octal(files));
  EXPECT_EQ(octal(rightsOf(dotGit + "/refs/heads/" + branchNow(repo.folder()))), octal(files));
  const std::string object = worker.commit.substr(0, 2);
  EXPECT_EQ(octal(rightsOf(dotGit + "/objects/" + object)), octal(folders));
  EXPECT_EQ(octal(rightsOf(dotGit + "/objects/" + object + "/" + worker.commit.substr(2))),
            octal(files & 0444));
}

INSTANTIATE_TEST_SUITE_P(Folders, GitRights, testing::Values(0755, 02775, 0750, 0700, 0777),
                         [](const auto& each) { return "Of" + octal(each.param); });

// A list of one user beside the owner: the group's bits are its mask.
bool giveTo(const std::string& folder, std::uint32_t user) {
  struct Entry {
    std::uint16_t tag;
    std::uint16_t rights;
    std::uint32_t id;
  };
  constexpr std::uint32_t kNobody = ~0U;
  struct {
    std::uint32_t version = 2;  // linux/posix_acl_xattr.h
    Entry entries[5];
  } list{
      .entries = {
          {0x01, 7, kNobody}, {0x02, 7, user}, {0x04, 0, kNobody}, {0x10, 7, kNobody}, {0x20, 0, kNobody}}};
  return setxattr(folder.c_str(), "system.posix_acl_access", &list, sizeof list, 0) == 0;
}

TEST(GitRights, OfAGroupAreNotTheMaskOfAnAccessControlList) {
  Repo repo;
  const std::string dotGit = repo.folder() + "/.git";
  shareFolders(repo.folder(), 0700);
  if (!giveTo(dotGit, 1)) GTEST_SKIP() << "no access control lists on this file system";
  ASSERT_EQ(octal(rightsOf(dotGit)), "770");
  repo.write("a.txt", "new\n");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.stageAll(), "");
  EXPECT_EQ(octal(rightsOf(dotGit + "/index")), "600");
}

TEST(GitRights, OfWhatIsCheckedOutAreThoseOfTheRepository) {
  Repo repo;
  repo.write("run.sh", "#!/bin/sh\n", 0755);
  repo.write("new/deep.txt", "deep\n");
  repo.commit("more");
  git(repo.folder(), {"branch", "topic"});
  git(repo.folder(), {"rm", "-rq", "run.sh", "new"});
  repo.commit("less");
  shareFolders(repo.folder(), 0750);
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(checkOut("topic")), "");
  EXPECT_EQ(octal(rightsOf(repo.folder() + "/run.sh")), "750");
  EXPECT_EQ(octal(rightsOf(repo.folder() + "/new")), "750");
  EXPECT_EQ(octal(rightsOf(repo.folder() + "/new/deep.txt")), "640");
}

}  // namespace
}  // namespace factionos::test
