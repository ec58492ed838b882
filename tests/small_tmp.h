// A file system that is soon full.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace factionos::test {

inline bool makeSmallTmp(unsigned kibibytes) {
  const std::string user = std::to_string(getuid());
  const std::string group = std::to_string(getgid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << user + " " + user + " 1";
  std::ofstream("/proc/self/gid_map") << group + " " + group + " 1";
  const std::string options = "mode=0700,size=" + std::to_string(kibibytes) + "k";
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", "/tmp", "tmpfs", 0, options.c_str()) == 0;
}

enum class InSmallTmp { kPassed, kFailed, kNotToBeHad };

// `story` in a process of its own whose /tmp holds no more than that, with what it expects printed and told
// by the end. kNotToBeHad: this machine has no user or no mount namespace.
template <typename Story>
InSmallTmp inSmallTmp(unsigned kibibytes, Story story) {
  constexpr int kNone = 2;
  const pid_t child = fork();
  if (child == 0) {
    if (!makeSmallTmp(kibibytes)) _exit(kNone);
    story();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNone) return InSmallTmp::kNotToBeHad;
  return status == 0 ? InSmallTmp::kPassed : InSmallTmp::kFailed;
}

// Takes all that is left there but for `kibibytes`.
inline void fillTmp(unsigned kibibytes) {
  {
    std::ofstream filler("/tmp/filler", std::ios::binary);
    const std::string block(4096, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  struct stat status {};
  ASSERT_EQ(stat("/tmp/filler", &status), 0);
  ASSERT_EQ(truncate("/tmp/filler", status.st_size - std::int64_t{kibibytes} * 1024), 0);
}

}  // namespace factionos::test
