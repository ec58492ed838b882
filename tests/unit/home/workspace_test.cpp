#include "broker/home/workspace.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>

#include "tests/unit/home/temp_home.h"

namespace factionos::home {
namespace {

using namespace testing;

class Workspace : public ::testing::Test {
 protected:
  TempDir dir;
  // <dir>/user is the home directory of the broker's user; the FactionOS home and a project lie in it.
  std::string user = directory(dir / "user");
  std::string project = directory(user + "/project");
  std::string fosPath = user + "/.factionos";
  Home fos = makeFos();
  sandbox::WorkspaceSources sources = ownSources();
  WorkspaceGuard guard = makeGuard();

  static std::string directory(const std::string& name, mode_t mode = 0755) {
    std::filesystem::create_directories(name);
    EXPECT_EQ(::chmod(name.c_str(), mode), 0);
    return name;
  }
  Home makeFos() {
    auto made = Home::create(fosPath);
    if (!made) ADD_FAILURE() << made.problem().text();
    return std::move(made).value();
  }
  sandbox::WorkspaceSources ownSources() {
    sandbox::WorkspaceSources own;
    own.ownHomes = {user};
    own.passwdFile = dir / "passwd";
    put(own.passwdFile, "svc:x:33:33::" + project +
                            ":/bin/sh\nother:x:1001:1001::" + directory(dir / "other") + ":/bin/sh\n");
    return own;
  }
  WorkspaceGuard makeGuard() {
    auto made = WorkspaceGuard::create(fos, sources);
    if (!made) ADD_FAILURE() << made.problem().text();
    return std::move(made).value();
  }

  // "ok", or the label of the rule; both path forms and the descriptor form must agree where they can.
  enum class Form { kTyped, kStored };

  std::string verdict(const std::string& path, Form form = Form::kTyped) {
    auto checked = form == Form::kTyped ? guard.checkTyped(path) : guard.checkStored(path);
    if (const auto* refusal = std::get_if<WorkspaceRefusal>(&checked)) {
      EXPECT_EQ(refusal->problem.text().find(dir.path()), std::string::npos) << "a path is told";
      EXPECT_FALSE(refusal->problem.remedy.empty());
      return label(refusal->rule);
    }
    return "ok";
  }
  std::string verdictOfFd(const std::string& path) {
    const sandbox::Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    auto refusal = guard.rules().judge(fd.get());
    return refusal ? label(*refusal) : "ok";
  }
};

TEST_F(Workspace, AProjectIsAccepted) {
  auto checked = guard.checkTyped(project);
  ASSERT_TRUE(std::holds_alternative<CheckedWorkspace>(checked));
  const auto& workspace = std::get<CheckedWorkspace>(checked);
  EXPECT_TRUE(workspace.fd);
  EXPECT_EQ(workspace.path, project);
  EXPECT_NE(::fcntl(workspace.fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(verdict(project, Form::kStored), "ok");
  EXPECT_EQ(verdictOfFd(project), "ok");
}

// 1.7 and P14: all three directions, plain, with "..", through links, and by descriptor.
TEST_F(Workspace, P14_RelationsToTheHomeAreRefusedInEveryDirection) {
  directory(fosPath + "/state/deep/er", 0700);
  ASSERT_EQ(::symlink(fosPath.c_str(), (dir / "to-home").c_str()), 0);
  ASSERT_EQ(::symlink((fosPath + "/state").c_str(), (project + "/innocent").c_str()), 0);
  ASSERT_EQ(::symlink(dir.path().c_str(), (dir / "to-parent").c_str()), 0);
  const struct {
    std::string path;
    const char* rule;
  } cases[] = {
      {fosPath, "is_home"},
      {fosPath + "/", "is_home"},
      {project + "/../.factionos", "is_home"},
      {dir / "to-home", "is_home"},
      {dir / "to-home/", "is_home"},
      {user, "contains_home"},
      {project + "/..", "contains_home"},
      {dir.path(), "contains_home"},
      {dir / "to-parent", "contains_home"},
      {fosPath + "/state/../..", "contains_home"},
      {fosPath + "/state", "inside_home"},
      {fosPath + "/tokens/../spool", "inside_home"},
      {fosPath + "/state/deep/er", "inside_home"},
      {directory(fosPath + "/not-one-of-ours"), "inside_home"},
      {project + "/innocent", "inside_home"},
      {dir / "to-home/state/deep", "inside_home"},
  };
  for (const auto& [path, rule] : cases) {
    EXPECT_EQ(verdict(path), rule) << path;
    EXPECT_EQ(verdictOfFd(path), rule) << path;
  }
}

TEST_F(Workspace, StoredPathMayNotLeadThroughALink) {
  ASSERT_EQ(::symlink(project.c_str(), (dir / "link").c_str()), 0);
  directory(project + "/sub");
  auto typed = guard.checkTyped(dir / "link");
  ASSERT_TRUE(std::holds_alternative<CheckedWorkspace>(typed));
  EXPECT_EQ(std::get<CheckedWorkspace>(typed).path, project) << "what is stored is the resolved path";
  EXPECT_EQ(verdict(dir / "link", Form::kStored), "symlink");
  EXPECT_EQ(verdict(dir / "link/sub", Form::kStored), "symlink");
  EXPECT_EQ(verdict(project + "/sub/../sub", Form::kStored), "bad_path");
  EXPECT_EQ(verdict(project + "/sub/", Form::kStored), "ok");
  // The directory is exchanged for a link after it was added.
  ASSERT_EQ(::rmdir((project + "/sub").c_str()), 0);
  ASSERT_EQ(::symlink(fosPath.c_str(), (project + "/sub").c_str()), 0);
  EXPECT_EQ(verdict(project + "/sub", Form::kStored), "symlink");
}

TEST_F(Workspace, HomeDirectoriesOfUsersAreRefused) {
  EXPECT_EQ(verdict(dir / "other"), "user_home");
  directory(dir / "other/work");
  EXPECT_EQ(verdict(dir / "other/work"), "ok") << "the control: below another's home the modes decide";
  EXPECT_EQ(verdict(project), "ok") << "the folder of a service's account is no person's home";
  // Without the FactionOS home in it, the user's home and what holds it are refused all the same.
  sources.ownHomes = {directory(dir / "elsewhere/user2")};
  guard = makeGuard();
  EXPECT_EQ(verdict(dir / "elsewhere/user2"), "user_home");
  EXPECT_EQ(verdict(dir / "elsewhere"), "user_home");
}

TEST_F(Workspace, P6_NoFallBackToTheHomeDirectory) {
  // What is refused has no other directory in its place: a refusal carries none.
  auto checked = guard.checkTyped(user);
  EXPECT_TRUE(std::holds_alternative<WorkspaceRefusal>(checked));
}

TEST_F(Workspace, SystemAndSocketDirectoriesAreRefused) {
  const struct {
    const char* path;
    const char* rule;
  } cases[] = {
      {"/", "root"},
      {"//", "root"},
      {"/..", "root"},
      {"/usr", "system_directory"},
      {"/usr/bin", "system_directory"},
      {"/usr/../usr/lib", "system_directory"},
      {"/bin", "system_directory"},
      {"/etc", "system_directory"},
      {"/proc", "system_directory"},
      {"/proc/self/fd", "system_directory"},
      {"/dev", "system_directory"},
      {"/sys", "system_directory"},
      {"/var", "system_directory"},
      {"/var/tmp", "system_directory"},
      {"/run", "socket_directory"},
      {"/var/run", "socket_directory"},
  };
  for (const auto& [path, rule] : cases) {
    if (!std::filesystem::exists(path)) continue;
    EXPECT_EQ(verdict(path), rule) << path;
    EXPECT_EQ(verdictOfFd(path), rule) << path;
  }
}

TEST_F(Workspace, SharedTemporaryDirectoryItselfIsRefused) {
  for (const char* path : {"/tmp", "/var/tmp"}) EXPECT_NE(verdict(path), "ok") << path;
}

TEST_F(Workspace, PathsThatAreNoneAreRefused) {
  put(dir / "file", "x");
  EXPECT_EQ(verdict(""), "bad_path");
  EXPECT_EQ(verdict("relative"), "bad_path");
  EXPECT_EQ(verdict(std::string("/srv\0/x", 7)), "bad_path");
  EXPECT_EQ(verdict(dir / "nothing"), "not_found");
  EXPECT_EQ(verdict(dir / "file"), "not_directory");
  EXPECT_EQ(verdict(dir / "file", Form::kStored), "not_directory");
  EXPECT_EQ(verdictOfFd(dir / "file"), "not_directory");
  EXPECT_EQ(guard.rules().judge(-1), sandbox::WorkspaceRule::kBadPath);
}

TEST_F(Workspace, ForeignDirectoryOpenToEverybodyIsRefused) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "giving a directory to another user needs root; no kernel feature is missing";
  const std::string shared = directory(dir / "shared", 0777);
  EXPECT_EQ(verdict(shared), "ok") << "the control: our own";
  ASSERT_EQ(::chown(shared.c_str(), 12345, 12345), 0);
  EXPECT_EQ(verdict(shared), "foreign_owner");
  ASSERT_EQ(::chmod(shared.c_str(), 0770), 0);
  EXPECT_EQ(verdict(shared), "ok") << "access by group or ACL is a grant";
}

TEST_F(Workspace, DirectoryWithoutAccessIsRefused) {
  const std::string closed = directory(dir / "closed", 0500);
  if (::geteuid() == 0) {
    // Root passes every mode; ask as somebody else, with the descriptors of before.
    ASSERT_EQ(::chown(closed.c_str(), 12345, 12345), 0);
    const sandbox::Fd fd(::open(closed.c_str(), O_PATH | O_CLOEXEC));
    ASSERT_EQ(::seteuid(12345), 0);
    auto refusal = guard.rules().judge(fd.get());
    ASSERT_EQ(::seteuid(0), 0);
    ASSERT_TRUE(refusal.has_value());
    EXPECT_EQ(*refusal, sandbox::WorkspaceRule::kNoAccess);
  } else {
    EXPECT_EQ(verdict(closed), "no_access");
  }
}

// The mount table is a file here, so that no privilege is needed to show the home a second time.
TEST_F(Workspace, MountThatShowsTheHomeBelowAWorkspaceIsSeen) {
  const std::string spaced = directory(dir / "with space");
  const std::string point = spaced + "/view";
  ASSERT_EQ(::symlink(fosPath.c_str(), point.c_str()), 0);  // stands in for the mount: opened, it is the home
  sources.mountInfo = dir / "mountinfo";
  put(sources.mountInfo, "36 35 98:0 / " + dir.path() + "/with\\040space/view rw - ext4 /dev/x rw\n");
  guard = makeGuard();
  EXPECT_EQ(verdict(spaced), "contains_home");
  EXPECT_EQ(verdict(project), "ok");
}

TEST_F(Workspace, AMountOfTheHomeWhereEveryCommandMayReadLeavesNoGuard) {
  sources.mountInfo = dir / "mountinfo";
  // "/usr/.." stands in for a mount of the whole file system below /usr: opened, it holds the home.
  put(sources.mountInfo, "36 35 98:0 / /usr/.. rw - ext4 /dev/x rw\n");
  const auto made = WorkspaceGuard::create(fos, sources);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.problem().code, ProblemCode::kRefused);
  put(sources.mountInfo, "36 35 98:0 / /usr/share rw - ext4 /dev/x rw\n");
  EXPECT_TRUE(WorkspaceGuard::create(fos, sources).ok());
}

TEST_F(Workspace, WithoutAMountTableThereIsNoGuard) {
  sources.mountInfo = dir / "nothing";
  EXPECT_FALSE(WorkspaceGuard::create(fos, sources).ok());
}

TEST_F(Workspace, RealBindMountOfTheHomeIsSeenFromBothSides) {
  const std::string outer = directory(dir / "outer");
  const std::string view = directory(outer + "/view");
  if (::mount(fosPath.c_str(), view.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    GTEST_SKIP() << "bind mounts are not permitted here; the mount table's reader is tested without them";
  }
  EXPECT_EQ(verdict(outer), "contains_home");
  EXPECT_EQ(verdict(view), "is_home");
  EXPECT_EQ(verdict(view + "/state"), "inside_home");
  EXPECT_EQ(::umount2(view.c_str(), MNT_DETACH), 0);
  EXPECT_EQ(verdict(outer), "ok");
}

TEST_F(Workspace, ProfileDirectoriesMayBeTheSystemsButNeverOurs) {
  const auto rule = [&](const std::string& path) -> std::string {
    auto refusal = guard.checkProfileDirectory(path);
    return refusal ? label(refusal->rule) : "ok";
  };
  EXPECT_EQ(rule("/usr"), "ok");
  EXPECT_EQ(rule("/opt"), "ok");
  EXPECT_EQ(rule(directory(dir / "tools")), "ok");
  EXPECT_EQ(rule(fosPath), "is_home");
  EXPECT_EQ(rule(fosPath + "/run"), "inside_home");
  EXPECT_EQ(rule(dir.path()), "contains_home");
  EXPECT_EQ(rule("/"), "root");
  EXPECT_EQ(rule("/proc"), "system_directory");
  EXPECT_EQ(rule("/run"), "socket_directory");
  EXPECT_EQ(rule("/boot"), std::filesystem::exists("/boot") ? "system_directory" : "not_found");
  EXPECT_NE(rule("/tmp"), "ok");
  EXPECT_EQ(rule(dir / "other"), "user_home");
}

}  // namespace
}  // namespace factionos::home
