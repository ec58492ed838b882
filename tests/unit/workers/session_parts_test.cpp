// The parts of a session that need no process of their own.
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "workers/session/cadence.h"
#include "workers/session/command_environment.h"
#include "workers/session/digest.h"
#include "workers/session/hold.h"
#include "workers/session/private_copy.h"
#include "workers/session/protected_paths.h"
#include "workers/session/pty_pair.h"
#include "workers/session/resolve.h"
#include "workers/session/scratch.h"
#include "workers/session/script_operand.h"
#include "workers/session/system_paths.h"
#include "workers/session/watch.h"

namespace factionos::session {
namespace {

using testing::ElementsAre;

class Directory {
 public:
  Directory() {
    std::string pattern = "/tmp/factionos-unit-XXXXXX";
    path = mkdtemp(pattern.data());
    handle.reset(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(path + "/" + name).parent_path());
    std::ofstream(path + "/" + name) << content;
  }

  std::string path;
  sandbox::Fd handle;
};

// ---- paths and labels

TEST(SystemPaths, WithinIsByWholeParts) {
  EXPECT_TRUE(isWithin("/usr", "/usr"));
  EXPECT_TRUE(isWithin("/usr/bin/true", "/usr"));
  EXPECT_FALSE(isWithin("/usrlocal/x", "/usr"));
  EXPECT_FALSE(isWithin("/us", "/usr"));
  EXPECT_TRUE(isWithin("/anything", "/"));
}

TEST(SystemPaths, ProgramsComeFromProgramDirectories) {
  EXPECT_TRUE(isSystemProgram("/usr/bin/true"));
  EXPECT_FALSE(isSystemProgram("/etc/init.d/x"));
  EXPECT_FALSE(isSystemProgram("/home/u/x"));
}

TEST(SystemPaths, LabelsFollowTheirGrammar) {
  EXPECT_TRUE(isLabel("gcc-12.2+x_y@z:a/b c"));
  EXPECT_FALSE(isLabel(""));
  EXPECT_FALSE(isLabel("-rf"));
  EXPECT_FALSE(isLabel(std::string(65, 'a')));
  EXPECT_FALSE(isLabel("a\nb"));
}

// ---- digests

TEST(Digest, IsBlake2bOfTheContent) {
  const Directory directory;
  directory.write("empty", "");
  const sandbox::Fd file(open((directory.path + "/empty").c_str(), O_RDONLY | O_CLOEXEC));
  const auto hashed = std::get<Hashed>(hashFile(file.get(), 10));
  // RFC 7693's function at 32 bytes over nothing.
  EXPECT_EQ(hashed.digest[0], 0x0e);
  EXPECT_EQ(hashed.digest[1], 0x57);
  EXPECT_EQ(hashed.digest[31], 0xa8);
}

TEST(Digest, HasALimitAndTakesFilesAlone) {
  const Directory directory;
  directory.write("file", "12345");
  const sandbox::Fd file(open((directory.path + "/file").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(std::get<Denied>(hashFile(file.get(), 4)).code, "file_too_large");
  EXPECT_TRUE(std::holds_alternative<Hashed>(hashFile(file.get(), 5)));
  const sandbox::Fd handle(open(directory.path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(std::get<Denied>(hashFile(handle.get(), 4)).code, "file_unreadable");
}

TEST(Digest, StateChangesWithTheFile) {
  const Directory directory;
  directory.write("file", "12345");
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(stat((directory.path + "/file").c_str(), &before), 0);
  EXPECT_EQ(hashState(before).digest, hashState(before).digest);
  directory.write("file", "123456");
  ASSERT_EQ(stat((directory.path + "/file").c_str(), &after), 0);
  EXPECT_NE(hashState(before).digest, hashState(after).digest);
}

TEST(ReadLease, KeepsWritersOutWhileItIsHeld) {
  const Directory directory;
  directory.write("file", "x");
  const std::string path = directory.path + "/file";
  const sandbox::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  signal(SIGIO, SIG_IGN);
  {
    const ReadLease lease(file.get());
    ASSERT_EQ(lease.state(), ReadLease::State::kHeld);
    EXPECT_EQ(open(path.c_str(), O_WRONLY | O_NONBLOCK), -1);
    EXPECT_EQ(errno, EWOULDBLOCK);
  }
  const sandbox::Fd writer(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_TRUE(writer);
  EXPECT_EQ(ReadLease(file.get()).state(), ReadLease::State::kOpenForWriting);
}

// ---- resolving

TEST(Resolver, OperandsAreRegularFilesInside) {
  const Directory directory;
  directory.write("sub/file", "x");
  ASSERT_EQ(symlink("/etc/passwd", (directory.path + "/out").c_str()), 0);
  ASSERT_EQ(symlink("sub/file", (directory.path + "/in").c_str()), 0);
  const Resolver resolver(directory.handle.get(), realPath(directory.handle.get()), {});
  EXPECT_TRUE(std::get<sandbox::Fd>(resolver.operand("sub/file")));
  EXPECT_TRUE(std::get<sandbox::Fd>(resolver.operand("in")));
  EXPECT_TRUE(std::get<sandbox::Fd>(resolver.operand(directory.path + "/sub/file")));
  for (const std::string& name : {std::string(), std::string("sub"), std::string("out"), std::string("../x"),
                                  std::string("/etc/passwd"), std::string("absent"), directory.path,
                                  directory.path + "/", directory.path + "x/file"}) {
    EXPECT_FALSE(std::get<sandbox::Fd>(resolver.operand(name))) << name;
  }
}

// ---- what is protected

TEST(ProtectedPaths, OnlyWhatExistsAndParentsFirst) {
  const Directory directory;
  EXPECT_TRUE(findProtected(directory.handle.get()).present.empty());
  directory.write(".git/hooks/x", "");
  directory.write(".git/config", "[core]\nhooksPath = tools/hooks\n");
  directory.write("tools/hooks/x", "");
  directory.write(".git/modules/lib/config", "");
  directory.write(".vscode/tasks.json", "");
  std::vector<std::string> names;
  for (const ProtectedPath& path : findProtected(directory.handle.get()).present) {
    names.push_back(path.path + (path.guard == Guard::kMountPoint ? "!" : ""));
  }
  EXPECT_THAT(names, ElementsAre(".git!", ".git/config", ".git/hooks", ".git/modules!", ".git/modules/lib!",
                                 ".git/modules/lib/config", ".vscode", "tools!", "tools/hooks"));
}

std::vector<std::string> readOnly(const Directory& directory) {
  std::vector<std::string> names;
  for (const ProtectedPath& path : findProtected(directory.handle.get()).present) {
    if (path.guard == Guard::kReadOnly) names.push_back(path.path);
  }
  return names;
}

TEST(ProtectedPaths, SubmodulesAreFoundWhateverTheirNames) {
  const Directory directory;
  directory.write(".git/modules/lib/foo/config", "[core]\nworktree = ../../../../lib/foo\nhooksPath = hk\n");
  directory.write(".git/modules/lib/foo/hooks/x", "");
  directory.write(".git/modules/lib/foo/modules/deep/config", "");
  directory.write(".git/modules/lib/HEAD", "a mark that hides nothing");
  directory.write(".git/worktrees/side/config.worktree", "[core]\nhooksPath = side-hooks\n");
  directory.write("lib/foo/hk/x", "");
  directory.write("side-hooks/x", "");
  EXPECT_THAT(readOnly(directory),
              ElementsAre(".git/modules/lib/foo/config", ".git/modules/lib/foo/hooks",
                          ".git/modules/lib/foo/modules/deep/config", ".git/worktrees/side/config.worktree",
                          "lib/foo/hk", "side-hooks"));
}

TEST(ProtectedPaths, ConfigurationIsReadAsGitReadsIt) {
  const Directory directory;
  directory.write(".git/config",
                  "\xef\xbb\xbf[core]\nhooksPath = a/\n[include]\npath = ../shared/git.inc\n[includeIf "
                  "\"onbranch:x\"]\npath = more.inc\n");
  directory.write(".git/config.worktree", "[core]\nhooksPath = b\n");
  directory.write("shared/git.inc", "[core]\nhooksPath = c\n[include]\npath = git.inc\n");
  directory.write(".git/more.inc", "[core]\nhooksPath = ../outside\n");
  for (const char* hooks : {"a", "b", "c"}) directory.write(std::string(hooks) + "/x", "");
  EXPECT_THAT(readOnly(directory), ElementsAre(".git/config", ".git/config.worktree", ".git/more.inc", "a",
                                               "b", "c", "shared/git.inc"));
  EXPECT_FALSE(findProtected(directory.handle.get()).linked);
}

TEST(ProtectedPaths, NothingBelowAReadOnlyDirectoryIsWritableAgain) {
  const Directory directory;
  directory.write(".git/config", "[core]\nhooksPath = tools/sub/hooks\nhooksPath = tools\n");
  directory.write("tools/sub/hooks/x", "");
  EXPECT_THAT(readOnly(directory), ElementsAre(".git/config", "tools"));
  EXPECT_EQ(findProtected(directory.handle.get()).present.size(), 3U);
}

TEST(ProtectedPaths, TooManySubmodulesAreReadOnlyAsAWhole) {
  const Directory directory;
  for (int i = 0; i < 1100; ++i)
    std::filesystem::create_directories(directory.path + "/.git/modules/m" + std::to_string(i));
  const ProtectedPaths found = findProtected(directory.handle.get());
  EXPECT_TRUE(found.coarse);
  EXPECT_THAT(readOnly(directory), ElementsAre(".git/modules"));
}

TEST(ProtectedPaths, AGitFileIsReadOnlyAndHooksOutsideAreNobodysConcern) {
  const Directory directory;
  directory.write(".git", "gitdir: /elsewhere\n");
  const ProtectedPaths found = findProtected(directory.handle.get());
  ASSERT_EQ(found.present.size(), 1U);
  EXPECT_EQ(found.present[0].guard, Guard::kReadOnly);

  const Directory other;
  other.write(".git/config", "[core]\nhooksPath = /etc\nhooksPath = ../x\n");
  EXPECT_EQ(findProtected(other.handle.get()).present.size(), 2U);
}

TEST(ProtectedPaths, LinksAreFollowedInsideAndTold) {
  const Directory directory;
  directory.write("real/settings.json", "{}");
  ASSERT_EQ(symlink("real", (directory.path + "/.claude").c_str()), 0);
  ASSERT_EQ(symlink("/etc", (directory.path + "/.codex").c_str()), 0);
  const ProtectedPaths found = findProtected(directory.handle.get());
  EXPECT_TRUE(found.linked);
  ASSERT_EQ(found.present.size(), 1U);
  EXPECT_EQ(found.present[0].path, "real");

  const Directory other;
  other.write("repository/hooks/x", "");
  ASSERT_EQ(symlink("repository", (other.path + "/.git").c_str()), 0);
  EXPECT_THAT(readOnly(other), ElementsAre("repository/hooks"));
}

// ---- what an approval covers

TEST(ScriptOperand, IsWhatAnInterpreterRuns) {
  const auto reads = [](std::string_view program, std::vector<std::string> before) {
    return readsAsScript(program, before);
  };
  EXPECT_TRUE(reads("python3.11", {}));
  EXPECT_TRUE(reads("sh", {"-e"}));
  EXPECT_TRUE(reads("python3", {"-u", "-W", "ignore"}));
  EXPECT_TRUE(reads("node", {"--require"}));
  EXPECT_FALSE(reads("perl", {"-pe", "s/a/b/"}));
  EXPECT_FALSE(reads("python3", {"-m", "black"}));
  EXPECT_FALSE(reads("sh", {"-ec", "x"}));
  EXPECT_FALSE(reads("node", {"--eval", "x"}));
  EXPECT_FALSE(reads("shfmt", {}));
  EXPECT_FALSE(reads("sed", {"-i"}));
}

TEST(PrivateCopy, CannotBeFoundAndLiesBesideItsOriginal) {
  const Directory directory;
  directory.write("tool", "content");
  const sandbox::Fd file(open((directory.path + "/tool").c_str(), O_RDONLY | O_CLOEXEC));
  for (const std::string& place : {directory.path, std::string("/nonexistent")}) {
    const auto copied = privateCopy(file.get(), place, 7);
    const int copy = std::get<sandbox::Fd>(copied).get();
    EXPECT_EQ(std::get<Hashed>(hashFile(copy, 7)).digest, std::get<Hashed>(hashFile(file.get(), 7)).digest);
    EXPECT_EQ(write(copy, "x", 1), -1);
    struct stat status {};
    ASSERT_EQ(fstat(copy, &status), 0);
    EXPECT_EQ(status.st_nlink, 0U);
    const std::string link = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(copy));
    EXPECT_EQ(link.starts_with(directory.path + "/"), place == directory.path) << link;
  }
  EXPECT_EQ(std::get<Denied>(privateCopy(file.get(), directory.path, 6)).code, "file_too_large");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path), {}), 1);
}

TEST(NamedFile, TellsRenamesThatCameBack) {
  const Directory directory;
  directory.write("sub/run.py", "approved");
  directory.write("evil.py", "swapped");
  const std::string path = directory.path + "/sub/run.py";
  Prepared prepared;
  CoveredFile covered;
  covered.operand = "sub/run.py";
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  covered.state = FileState::of(status);
  prepared.covered.push_back(std::move(covered));
  const NamedFile named = namedFiles(directory.handle.get(), prepared).front();
  EXPECT_TRUE(isUnchanged(directory.handle.get(), named));
  usleep(20'000);  // a tick of the clock that file systems stamp with
  ASSERT_EQ(rename(path.c_str(), (directory.path + "/aside").c_str()), 0);
  EXPECT_FALSE(isUnchanged(directory.handle.get(), named));
  ASSERT_EQ(rename((directory.path + "/aside").c_str(), path.c_str()), 0);
  EXPECT_FALSE(isUnchanged(directory.handle.get(), named));
}

// ---- terminals, scratch, measuring

TEST(Cadence, SlowsDownForATreeThatSleepsAndIsBackAtOnce) {
  Cadence cadence;
  EXPECT_EQ(cadence.between(), Cadence::kBusy);
  const TreeUse still{2, 1 << 20, 30};
  cadence.saw(still);
  EXPECT_EQ(cadence.between(), Cadence::kBusy);
  auto last = cadence.between();
  for (int i = 0; i < 10; ++i) {
    cadence.saw(still);
    EXPECT_GE(cadence.between(), last);
    last = cadence.between();
  }
  EXPECT_EQ(last, Cadence::kIdle);
  for (const TreeUse& moved : {TreeUse{2, 2 << 20, 30}, TreeUse{2, 2 << 20, 40}, TreeUse{3, 2 << 20, 40}}) {
    cadence.saw(moved);
    EXPECT_EQ(cadence.between(), Cadence::kBusy);
    cadence.saw(moved);
    EXPECT_GT(cadence.between(), Cadence::kBusy);
  }
  cadence.saw({3, 1 << 20, 40});  // less memory is no reason to hurry
  EXPECT_GT(cadence.between(), Cadence::kBusy);
}

TEST(PtyPair, HasTheSizeThatWasAskedForAndNoForeignName) {
  auto opened = openPtyPair({120, 40});
  const auto& pair = std::get<PtyPair>(opened);
  winsize size{};
  ASSERT_EQ(ioctl(pair.slave.get(), TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_col, 120);
  EXPECT_EQ(size.ws_row, 40);
  EXPECT_EQ(ttyname(pair.slave.get()), pair.slavePath);
  EXPECT_NE(fcntl(pair.master.get(), F_GETFD) & FD_CLOEXEC, 0);
  for (const WindowSize bad :
       {WindowSize{0, 1}, WindowSize{1, 0}, WindowSize{1001, 1}, WindowSize{1, 65535}}) {
    EXPECT_EQ(std::get<Denied>(openPtyPair(bad)).code, "window_invalid");
  }
}

TEST(Scratch, IsMadeInAPrivateDirectoryAndRemovedWhole) {
  const Directory directory;
  const auto scratch = Scratch::make(directory.path);
  ASSERT_TRUE(scratch);
  const Directory outside;
  outside.write("kept", "x");
  std::filesystem::create_directories(scratch->temporary() + "/a/b/c");
  std::ofstream(scratch->temporary() + "/a/b/c/file") << "x";
  ASSERT_EQ(symlink(outside.path.c_str(), (scratch->home() + "/link").c_str()), 0);
  ASSERT_EQ(chmod((scratch->temporary() + "/a").c_str(), 0), 0);
  scratch->remove();
  EXPECT_TRUE(std::filesystem::is_empty(directory.path));
  EXPECT_TRUE(std::filesystem::exists(outside.path + "/kept"));
}

TEST(Scratch, WantsAPrivateParent) {
  const Directory directory;
  ASSERT_EQ(chmod(directory.path.c_str(), 0755), 0);
  EXPECT_FALSE(Scratch::make(directory.path));
  EXPECT_FALSE(Scratch::make("relative"));
  EXPECT_FALSE(Scratch::make(directory.path + "/absent"));
}

TEST(Watch, CountsDescendants) {
  int hold[2];
  ASSERT_EQ(pipe2(hold, O_CLOEXEC), 0);
  const TreeUse before = measureTree(Memory::kResident, 100);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    close(hold[1]);
    _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
  }
  const TreeUse during = measureTree(Memory::kResident, 100);
  EXPECT_EQ(during.processes, before.processes + 1);
  EXPECT_GT(during.memoryBytes, before.memoryBytes);
  EXPECT_GE(tasksOfUser(), 2U);
  close(hold[1]);
  waitpid(child, nullptr, 0);
}

// ---- the environment

TEST(CommandEnvironment, ProfilesMayNotTouchOurNames) {
  EXPECT_TRUE(profileVariables({"CC=gcc", "EMPTY="}));
  for (const char* bad : {"PATH=/x", "HOME=/x", "TMPDIR=/x", "LD_PRELOAD=x", "LD_LIBRARY_PATH=x", "lower=x",
                          "1A=x", "=x", "X"}) {
    EXPECT_FALSE(profileVariables({bad})) << bad;
  }
}

}  // namespace
}  // namespace factionos::session
