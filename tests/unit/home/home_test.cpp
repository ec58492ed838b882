#include "broker/home/home.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/unit/home/temp_home.h"

namespace factionos::home {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

Problem openProblem(const std::string& path) {
  auto opened = Home::open(path);
  if (opened) return {ProblemCode::kIo, "opened although it must not", {}};
  return opened.problem();
}

TEST(LocateHome, FlagWinsOverEnvironmentWinsOverUserHome) {
  EXPECT_EQ(*locateHome({"/a", "/b", "/c"}), "/a");
  EXPECT_EQ(*locateHome({std::nullopt, "/b", "/c"}), "/b");
  EXPECT_EQ(*locateHome({std::nullopt, std::nullopt, "/c"}), "/c/.factionos");
  EXPECT_FALSE(locateHome({}).ok());
}

TEST(LocateHome, IsAbsoluteAndNormal) {
  EXPECT_EQ(*locateHome({"/a/./b/../c/", std::nullopt, std::nullopt}), "/a/c");
  EXPECT_EQ(*locateHome({"rel", std::nullopt, std::nullopt}),
            (std::filesystem::current_path() / "rel").string());
}

TEST_F(HomeTest, IsMadeWithSafeModesWhateverTheUmask) {
  const mode_t before = ::umask(0777);
  auto made = Home::create(dir / "other");
  ::umask(before);
  ASSERT_TRUE(made.ok()) << made.problem().text();
  for (const char* name : {"", "/state", "/run", "/spool", "/tokens"}) {
    EXPECT_EQ(modeOf((dir / "other") + name), 0700U) << name;
  }
  ::umask(0);
  const Status written = made->writeFile(Folder::kState, "x", "y", WriteMode::kCreateNew);
  ::umask(before);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(modeOf(dir / "other/state/x"), 0600U);
}

TEST_F(HomeTest, MakingItTwiceKeepsWhatIsThere) {
  ASSERT_TRUE(home.writeFile(Folder::kTop, "config.toml", "# mine\n", WriteMode::kCreateNew).ok());
  ASSERT_TRUE(Home::create(path).ok());
  EXPECT_EQ(get(path + "/config.toml"), "# mine\n");
}

TEST_F(HomeTest, MissingHomeNamesInit) {
  const Problem problem = openProblem(dir / "nowhere");
  EXPECT_EQ(problem.code, ProblemCode::kNotFound);
  EXPECT_THAT(problem.remedy, HasSubstr("factionos init"));
}

TEST_F(HomeTest, RootAndRelativePathsAreNoHome) {
  EXPECT_FALSE(Home::open("/").ok());
  EXPECT_FALSE(Home::create("relative").ok());
}

// F5: a home that others can read is refused, and the message names the entry and the command that mends it.
TEST_F(HomeTest, F5_WorldReadableFileStopsTheStart) {
  for (const char* name : {"config.toml", "policy.toml", "operator.key"}) {
    put(path + "/" + name, "x", 0644);
    const Problem problem = openProblem(path);
    EXPECT_EQ(problem.code, ProblemCode::kUnsafe);
    EXPECT_THAT(problem.message, HasSubstr(name));
    EXPECT_THAT(problem.remedy, HasSubstr(std::string("chmod 600 \"$FACTIONOS_HOME/") + name));
    ASSERT_EQ(::chmod((path + "/" + name).c_str(), 0600), 0);
    ASSERT_TRUE(Home::open(path).ok()) << "the control: the same file, closed, is accepted";
  }
}

TEST_F(HomeTest, F5_ReadableTokenFileStopsTheStart) {
  put(path + "/tokens/ci", "fos_x", 0640);
  const Problem problem = openProblem(path);
  EXPECT_THAT(problem.message, HasSubstr("tokens/ci"));
  EXPECT_THAT(problem.text(), Not(HasSubstr("fos_x")));
}

TEST_F(HomeTest, OpenFolderStopsTheStart) {
  for (const char* name : {"state", "run", "spool", "tokens"}) {
    const std::string folder = path + "/" + name;
    ASSERT_EQ(::chmod(folder.c_str(), 0750), 0);
    const Problem problem = openProblem(path);
    EXPECT_THAT(problem.message, HasSubstr(std::string(name) + "/"));
    EXPECT_THAT(problem.remedy, HasSubstr("chmod 700"));
    ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  }
  EXPECT_TRUE(Home::open(path).ok());
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  EXPECT_THAT(openProblem(path).message, HasSubstr("home directory"));
}

TEST_F(HomeTest, F5_SymbolicLinksAreRefusedEverywhere) {
  put(dir / "elsewhere.toml", "x");
  const std::string outside = dir / "outside";
  ASSERT_EQ(::mkdir(outside.c_str(), 0700), 0);

  ASSERT_EQ(::symlink((dir / "elsewhere.toml").c_str(), (path + "/config.toml").c_str()), 0);
  EXPECT_THAT(openProblem(path).message, HasSubstr("config.toml is a symbolic link"));
  ASSERT_EQ(::unlink((path + "/config.toml").c_str()), 0);

  ASSERT_EQ(::symlink((dir / "elsewhere.toml").c_str(), (path + "/tokens/ci").c_str()), 0);
  EXPECT_THAT(openProblem(path).message, HasSubstr("tokens/ci is a symbolic link"));
  ASSERT_EQ(::unlink((path + "/tokens/ci").c_str()), 0);

  ASSERT_EQ(::rmdir((path + "/state").c_str()), 0);
  ASSERT_EQ(::symlink(outside.c_str(), (path + "/state").c_str()), 0);
  EXPECT_THAT(openProblem(path).message, HasSubstr("state/ is a symbolic link"));

  ASSERT_EQ(::symlink(path.c_str(), (dir / "link").c_str()), 0);
  EXPECT_THAT(openProblem(dir / "link").message, HasSubstr("home directory is a symbolic link"));
  EXPECT_FALSE(Home::create(dir / "link").ok());
}

TEST_F(HomeTest, ForeignOwnerIsRefused) {
  if (::geteuid() == 0) {
    put(path + "/policy.toml", "x");
    ASSERT_EQ(::chown((path + "/policy.toml").c_str(), 12345, 12345), 0);
    const Problem problem = openProblem(path);
    EXPECT_THAT(problem.message, HasSubstr("policy.toml belongs to another user"));
    EXPECT_THAT(problem.remedy, HasSubstr("chown"));
    ASSERT_EQ(::chown((path + "/policy.toml").c_str(), 0, 0), 0);
    ASSERT_TRUE(Home::open(path).ok());
    ASSERT_EQ(::chown((path + "/run").c_str(), 12345, 12345), 0);
    EXPECT_THAT(openProblem(path).message, HasSubstr("run/ belongs to another user"));
  } else {
    EXPECT_THAT(openProblem("/var/lib").message, HasSubstr("belongs to another user"));
  }
}

TEST_F(HomeTest, AncestorThatOthersMayChangeIsRefused) {
  ASSERT_EQ(::chmod(dir.path().c_str(), 0777), 0);
  EXPECT_THAT(openProblem(path).message, HasSubstr("above the home"));
  ASSERT_EQ(::chmod(dir.path().c_str(), 01777), 0);
  EXPECT_TRUE(Home::open(path).ok()) << "the control: a sticky directory keeps others from exchanging it";
}

// What every command may read holds no home: /usr and /etc exist everywhere, /bin is a link on most machines.
TEST_F(HomeTest, NoHomeLiesWhereEveryCommandMayRead) {
  for (const char* place : {"/usr/factionos-test", "/usr/local/factionos-test", "/etc/factionos-test",
                            "/bin/factionos-test", "/usr/share", "/etc"}) {
    const auto made = Home::create(place);
    ASSERT_FALSE(made.ok()) << place;
    EXPECT_EQ(made.problem().code, ProblemCode::kRefused) << place;
    EXPECT_FALSE(made.problem().remedy.empty());
    EXPECT_EQ(Home::open(place).problem().code, ProblemCode::kRefused) << place;
  }
  // The control: the same user may have one elsewhere.
  EXPECT_TRUE(Home::create(dir / "elsewhere").ok());
}

TEST_F(HomeTest, ModesThatWereOpenedAreClosedAgainByDescriptor) {
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  ASSERT_EQ(::chmod((path + "/state").c_str(), 0755), 0);
  ASSERT_EQ(::rename(path.c_str(), (dir / "moved").c_str()), 0);
  EXPECT_TRUE(home.tighten().ok());
  EXPECT_EQ(modeOf(dir / "moved"), 0700U);
  EXPECT_EQ(modeOf(dir / "moved/state"), 0700U);
}

TEST_F(HomeTest, CheckTellsEveryComplaint) {
  put(path + "/config.toml", "x", 0666);
  put(path + "/spool/one", "x", 0604);
  ASSERT_EQ(::rmdir((path + "/run").c_str()), 0);
  const auto problems = Home::check(path);
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_THAT(problems[0].message, HasSubstr("config.toml"));
  EXPECT_THAT(problems[1].message, HasSubstr("run/ is missing"));
  EXPECT_THAT(problems[2].message, HasSubstr("spool/one"));
}

TEST_F(HomeTest, NamesThatAreNoLabelsAreNotTold) {
  put(path + "/spool/\x1b[31mred secret", "x", 0644);
  const auto problems = Home::check(path);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0].text(), Not(HasSubstr("secret")));
  EXPECT_THAT(problems[0].text(), Not(HasSubstr("\x1b")));
}

TEST_F(HomeTest, LeftoverSocketDoesNotStopTheStart) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = path + "/run/api.sock";
  ASSERT_LT(name.size(), sizeof address.sun_path);
  name.copy(address.sun_path, name.size());
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::chmod(name.c_str(), 0666), 0);
  EXPECT_TRUE(Home::open(path).ok());
  ::close(socket);
}

TEST_F(HomeTest, FilesAreReadThroughTheFolderThatWasChecked) {
  ASSERT_TRUE(home.writeFile(Folder::kState, "kept", "right", WriteMode::kCreateNew).ok());
  // The home's path is exchanged after the check.
  ASSERT_EQ(::rename(path.c_str(), (dir / "moved").c_str()), 0);
  auto impostor = Home::create(path);
  ASSERT_TRUE(impostor.ok());
  ASSERT_TRUE(impostor->writeFile(Folder::kState, "kept", "wrong", WriteMode::kCreateNew).ok());
  EXPECT_EQ(*home.readFile(Folder::kState, "kept", 100), "right");
}

TEST_F(HomeTest, F5_WritingNeverFollowsALink) {
  put(dir / "victim", "precious");
  ASSERT_EQ(::symlink((dir / "victim").c_str(), (path + "/tokens/ci").c_str()), 0);
  const Status created = home.writeFile(Folder::kTokens, "ci", "fos", WriteMode::kCreateNew);
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.problem().code, ProblemCode::kExists);
  auto opened = home.openFile(Folder::kTokens, "ci", O_RDWR);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.problem().code, ProblemCode::kUnsafe);
  ASSERT_TRUE(home.writeFile(Folder::kTokens, "ci", "new", WriteMode::kReplace).ok());
  EXPECT_EQ(get(dir / "victim"), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(path + "/tokens/ci"));
}

TEST_F(HomeTest, ReplacingLeavesNoTemporaryFile) {
  ASSERT_TRUE(home.writeFile(Folder::kSpool, "a", "1", WriteMode::kReplace).ok());
  ASSERT_TRUE(home.writeFile(Folder::kSpool, "a", "2", WriteMode::kReplace).ok());
  EXPECT_EQ(get(path + "/spool/a"), "2");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path + "/spool"), {}), 1);
}

TEST_F(HomeTest, NamesAreOneComponent) {
  for (const char* name : {"", ".", "..", "../home", "a/b", "/etc/passwd"}) {
    EXPECT_FALSE(home.readFile(Folder::kState, name, 10).ok()) << name;
    EXPECT_FALSE(home.writeFile(Folder::kState, name, "", WriteMode::kReplace).ok()) << name;
    EXPECT_FALSE(home.removeFile(Folder::kState, name).ok()) << name;
  }
}

TEST_F(HomeTest, ReadingIsBoundedAndTakesNoFifo) {
  ASSERT_TRUE(home.writeFile(Folder::kState, "five", "12345", WriteMode::kCreateNew).ok());
  EXPECT_EQ(*home.readFile(Folder::kState, "five", 5), "12345");
  EXPECT_EQ(home.readFile(Folder::kState, "five", 4).problem().code, ProblemCode::kInvalid);
  ASSERT_EQ(::mkfifo((path + "/state/pipe").c_str(), 0600), 0);
  EXPECT_EQ(home.readFile(Folder::kState, "pipe", 5).problem().code, ProblemCode::kUnsafe);
}

TEST_F(HomeTest, TwoBrokersNeverShareAHome) {
  auto first = home.lock();
  ASSERT_TRUE(first.ok());
  auto again = Home::open(path);
  ASSERT_TRUE(again.ok());
  auto second = again->lock();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.problem().code, ProblemCode::kBusy);
  EXPECT_THAT(second.problem().message, HasSubstr(std::to_string(::getpid())));
}

TEST_F(HomeTest, LockStateIsAskedWithoutTakingTheLock) {
  EXPECT_EQ(home.lockState()->holder, LockState::Holder::kNobody);
  {
    auto held = home.lock();
    ASSERT_TRUE(held.ok());
    auto state = home.lockState();
    ASSERT_TRUE(state.ok());
    EXPECT_EQ(state->holder, LockState::Holder::kBroker);
    EXPECT_EQ(state->pid, ::getpid());
  }
  EXPECT_EQ(home.lockState()->holder, LockState::Holder::kNobody);
  EXPECT_TRUE(home.lock().ok());
}

TEST_F(HomeTest, LockOfAKilledBrokerIsFree) {
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto held = home.lock();
    const char byte = held.ok() ? '1' : '0';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, '1');
  EXPECT_EQ(home.lockState()->pid, child);
  EXPECT_FALSE(home.lock().ok());
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(home.lock().ok());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(HomeTest, RemovedLockFileDoesNotLetASecondBrokerIn) {
  auto first = home.lock();
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(::unlink((path + "/run/broker.lock").c_str()), 0);
  auto second = home.lock();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.problem().code, ProblemCode::kBusy);
}

TEST_F(HomeTest, EditorsWaitForEachOther) {
  auto held = home.lockForEditing();
  ASSERT_TRUE(held.ok());
  int done[2];
  ASSERT_EQ(::pipe2(done, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    *held = sandbox::Fd();  // the inherited copy is the same lock
    auto own = home.lockForEditing();
    ::_exit(own.ok() && ::write(done[1], "x", 1) == 1 ? 0 : 1);
  }
  pollfd waiting{done[0], POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 50), 0) << "the second editor did not wait";
  *held = sandbox::Fd();
  EXPECT_EQ(::poll(&waiting, 1, 10000), 1);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(done[0]);
  ::close(done[1]);
}

TEST_F(HomeTest, UserModeSocketsLieInRun) {
  auto place = socketPlace(home, Mode::kUser, "");
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->path, path + "/run");
  EXPECT_EQ(place->mode, 0600U);
}

TEST_F(HomeTest, SystemModeSocketsNeedADirectoryThatOnlyTheBrokerChanges) {
  const std::string directory = dir / "sockets";
  ASSERT_EQ(::mkdir(directory.c_str(), 0750), 0);
  ASSERT_EQ(::chmod(directory.c_str(), 0750), 0);
  auto place = socketPlace(home, Mode::kSystem, "root", directory);
  ASSERT_TRUE(place.ok()) << place.problem().text();
  EXPECT_EQ(place->mode, 0660U);
  EXPECT_EQ(place->group, 0U);
  ASSERT_EQ(::chmod(directory.c_str(), 0770), 0);
  EXPECT_EQ(socketPlace(home, Mode::kSystem, "root", directory).problem().code, ProblemCode::kUnsafe);
  EXPECT_EQ(socketPlace(home, Mode::kSystem, "no-such-group-here", directory).problem().code,
            ProblemCode::kNotFound);
  ASSERT_EQ(::symlink(path.c_str(), (dir / "link").c_str()), 0);
  EXPECT_FALSE(socketPlace(home, Mode::kSystem, "root", dir / "link").ok());
}

TEST_F(HomeTest, PathTooLongForASocketIsToldBeforeBinding) {
  const std::string deep = dir / std::string(90, 'd');
  ASSERT_EQ(::mkdir(deep.c_str(), 0700), 0);
  auto made = Home::create(deep + "/home");
  ASSERT_TRUE(made.ok());
  auto place = socketPlace(*made, Mode::kUser, "");
  ASSERT_FALSE(place.ok());
  EXPECT_THAT(place.problem().message, HasSubstr("too long"));
}

}  // namespace
}  // namespace factionos::home
