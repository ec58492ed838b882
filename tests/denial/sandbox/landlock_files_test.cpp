// Landlock's file rights on the real kernel: each with an allowed neighbour.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox {
namespace {

using testing::commandPolicy;
using testing::failureOf;
using testing::filePolicy;
using testing::inChild;
using testing::Notes;
using testing::openErrno;
using testing::Outcome;
using testing::result;

// A directory that anybody may write, with two subdirectories of the same content.
class Ground {
 public:
  Ground() {
    std::string pattern = std::filesystem::temp_directory_path() / "factionos-ground-XXXXXX";
    root_ = mkdtemp(pattern.data());
    open(root_);
    for (const char* const part : {"/granted", "/other"}) {
      std::filesystem::create_directory(root_ + part);
      open(root_ + part);
      for (const char* const name : {"/file", "/victim", "/moved"}) {
        std::ofstream(root_ + part + name) << "content";
        open(root_ + part + name);
      }
      std::filesystem::create_directory(root_ + part + "/directory");
      open(root_ + part + "/directory");
      std::filesystem::copy_file("/bin/true", root_ + part + "/program");
      open(root_ + part + "/program");
    }
  }
  ~Ground() { std::filesystem::remove_all(root_); }
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;
  [[nodiscard]] std::string granted(const char* name) const { return root_ + "/granted" + name; }
  [[nodiscard]] std::string other(const char* name) const { return root_ + "/other" + name; }

 private:
  static void open(const std::string& path) { chmod(path.c_str(), 0777); }
  std::string root_;
};

int execErrno(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    execl(path.c_str(), "program", nullptr);
    _exit(errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

// One act that needs one right, on names below a directory.
struct Right {
  const char* name;
  Access access;
  int sinceAbi;
  int (*act)(const std::string& directory);
};

int makeNode(const std::string& path, mode_t kind) {
  return result(mknod(path.c_str(), kind | 0600, 0));
}

const Right kRights[] = {
    {"read_file", access::kReadFile, 1,
     [](const std::string& d) { return openErrno(d + "/file", O_RDONLY); }},
    {"write_file", access::kWriteFile, 1,
     [](const std::string& d) { return openErrno(d + "/file", O_WRONLY); }},
    {"read_dir", access::kReadDir, 1,
     [](const std::string& d) { return openErrno(d + "/directory", O_RDONLY); }},
    {"execute", access::kExecute | access::kReadFile, 1,
     [](const std::string& d) { return execErrno(d + "/program"); }},
    {"remove_file", access::kRemoveFile, 1,
     [](const std::string& d) { return result(unlink((d + "/victim").c_str())); }},
    {"remove_dir", access::kRemoveDir, 1,
     [](const std::string& d) { return result(rmdir((d + "/directory").c_str())); }},
    {"make_reg", access::kMakeReg, 1, [](const std::string& d) { return makeNode(d + "/new", S_IFREG); }},
    {"make_dir", access::kMakeDir, 1,
     [](const std::string& d) { return result(mkdir((d + "/new").c_str(), 0700)); }},
    {"make_sym", access::kMakeSym, 1,
     [](const std::string& d) { return result(symlink("x", (d + "/new").c_str())); }},
    {"make_fifo", access::kMakeFifo, 1, [](const std::string& d) { return makeNode(d + "/new", S_IFIFO); }},
    {"make_sock", access::kMakeSock, 1, [](const std::string& d) { return makeNode(d + "/new", S_IFSOCK); }},
    {"truncate", access::kTruncate, 3,
     [](const std::string& d) { return result(truncate((d + "/file").c_str(), 0)); }},
    {"refer", access::kRefer | access::kMakeReg | access::kRemoveFile, 2,
     [](const std::string& d) {
       return result(rename((d + "/moved").c_str(), (d + "/directory/moved").c_str()));
     }},
};

TEST(Landlock, EachRightIsGrantedWhereListedAndNowhereElse) {
  const int abi = landlockAbi();
  if (abi == 0) ABSENT("no Landlock");
  for (const Right& right : kRights) {
    if (abi < right.sinceAbi) {
      if (test::mustHaveAll()) ADD_FAILURE() << right.name << " needs ABI " << right.sinceAbi;
      continue;
    }
    const Ground ground;
    const bool refers = right.access.has(access::kRefer);
    const auto act = [&right, &ground, refers](Notes& notes) {
      // execve of a dynamic program opens its libraries: they are granted in every case.
      Policy policy = filePolicy({allowPath(ground.granted(""), right.access, "test"),
                                  allowPath("/usr", access::kReadExec, "test"),
                                  allowPathIfPresent("/lib", access::kReadExec, "test"),
                                  allowPathIfPresent("/lib64", access::kReadExec, "test")});
      if (refers) {
        policy.files.rules.push_back(
            allowPath(ground.other(""), right.access - access::kRefer, "all but the one"));
      }
      enter(policy);
      notes.numbers[0] = right.act(ground.granted(""));
      notes.numbers[1] = right.act(ground.other(""));
      return 0;
    };
    const Outcome outcome = inChild(act);
    ASSERT_EQ(outcome.exitStatus, 0) << right.name;
    EXPECT_EQ(outcome.notes.numbers[0], 0) << right.name << " where it is granted";
    // A move that wants nothing but the right to refer is said to cross devices.
    EXPECT_EQ(outcome.notes.numbers[1], refers ? EXDEV : EACCES) << right.name;
    const Outcome control = inChild([&right, &ground](Notes& notes) {
      notes.numbers[0] = right.act(ground.other(""));
      return 0;
    });
    EXPECT_EQ(control.notes.numbers[0], 0) << "control of " << right.name;
  }
}

TEST(Landlock, TheOracleIsTheFile) {
  if (landlockAbi() < 3) ABSENT("Landlock below ABI 3");
  const Ground ground;
  inChild([&ground](Notes&) {
    enter(filePolicy({allowPath(ground.granted(""), access::kReadWrite, "test")}));
    truncate(ground.granted("/file").c_str(), 0);
    truncate(ground.other("/file").c_str(), 0);
    unlink(ground.other("/victim").c_str());
    return 0;
  });
  EXPECT_EQ(std::filesystem::file_size(ground.granted("/file")), 0U);
  EXPECT_EQ(std::filesystem::file_size(ground.other("/file")), 7U);
  EXPECT_TRUE(std::filesystem::exists(ground.other("/victim")));
}

TEST(Landlock, AnEmptyListDeniesEveryOpen) {
  if (landlockAbi() == 0) ABSENT("no Landlock");
  const Outcome outcome = inChild([](Notes& notes) {
    notes.numbers[0] = openErrno("/dev/null", O_RDONLY);
    enter(filePolicy({}));
    notes.numbers[1] = openErrno("/dev/null", O_RDONLY);
    notes.numbers[2] = openErrno("/", O_RDONLY | O_DIRECTORY);
    notes.numbers[3] = openErrno("/proc/self/status", O_RDONLY);
    return 0;
  });
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(outcome.notes.numbers[i], EACCES) << i;
}

TEST(Landlock, AnOpenDescriptorAndASingleFileCanBeGranted) {
  if (landlockAbi() == 0) ABSENT("no Landlock");
  const Ground ground;
  const Outcome outcome = inChild([&ground](Notes& notes) {
    const Fd directory(open(ground.granted("").c_str(), O_PATH | O_CLOEXEC));
    Policy policy =
        filePolicy({allowDescriptor(directory.get(), access::kReadFile, "test"),
                    allowPath(ground.other("/file"), access::kReadWrite, "file rights are picked out"),
                    allowPathIfPresent("/no/such/path", access::kRead, "test"),
                    allowPath("/dev/null", access::kDevice, "test")});
    policy.keep.push_back(directory.get());
    enter(policy);
    notes.numbers[0] = openErrno(ground.granted("/file"), O_RDONLY);
    notes.numbers[1] = openErrno(ground.other("/file"), O_RDWR);
    notes.numbers[2] = openErrno("/dev/null", O_WRONLY);
    notes.numbers[3] = openErrno(ground.other("/victim"), O_RDONLY);
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], 0);
  EXPECT_EQ(outcome.notes.numbers[2], 0);
  EXPECT_EQ(outcome.notes.numbers[3], EACCES);
}

TEST(Landlock, ARuleThatCannotHoldIsFatal) {
  if (landlockAbi() == 0) ABSENT("no Landlock");
  const auto failure = [](FileRule rule) { return failureOf([&rule] { enter(filePolicy({rule})); }); };
  EXPECT_EQ(failure(allowPath("/no/such/path", access::kRead, "test")).reason, "landlock_path_unusable");
  EXPECT_EQ(failure(allowPath("/etc/passwd", access::kMakeDir, "not a right of files")).reason,
            "landlock_rule_empty");
  EXPECT_EQ(failure(allowDescriptor(999, access::kRead, "closed")).reason, "landlock_path_unusable");
}

}  // namespace
}  // namespace factionos::sandbox
