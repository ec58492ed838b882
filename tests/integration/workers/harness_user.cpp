// The user that the product runs as, and the one that does what only another may.
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness_parts.h"

namespace factionos::test {
namespace {

constexpr uid_t kTestUser = 54321;

struct Wish {
  pid_t pid =
      0;  // whose descriptors; 0: a file of another user is to be written, or what is there given away
  bool give = false;
  std::size_t size = 0;
  char path[256] = {};
};

constexpr uid_t kAnother = 54322;

void giveAway(const Wish& wish) {
  must(chmod(wish.path, 0777) == 0 && lchown(wish.path, kAnother, kAnother) == 0, wish.path);
}

void writeForAnother(int line, const Wish& wish) {
  std::string content(wish.size, '\0');
  must(recv(line, content.data(), content.size(), MSG_WAITALL) == static_cast<ssize_t>(content.size()),
       "content");
  const int file = open(wish.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  must(file >= 0 && write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
           ftruncate(file, static_cast<off_t>(content.size())) == 0 && fchown(file, kAnother, kAnother) == 0,
       wish.path);
  close(file);
}

// The helper of descriptorsOf() and writeAsAnother(): answers with lines, an empty one at the end.
int helperLine = -1;
pid_t helperPid = 0;

[[noreturn]] void listDescriptors(int line) {
  for (Wish wish; recv(line, &wish, sizeof wish, MSG_WAITALL) == sizeof wish;) {
    const pid_t pid = wish.pid;
    if (pid == 0 && !wish.give) writeForAnother(line, wish);
    if (pid == 0 && wish.give) giveAway(wish);
    std::map<int, std::string> found;
    std::error_code ignored;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", ignored)) {
      found[std::stoi(entry.path().filename())] =
          std::filesystem::read_symlink(entry.path(), ignored).string();
    }
    std::string text;
    for (const auto& [number, target] : found) text += std::to_string(number) + " " + target + "\n";
    text += "\n";
    must(write(line, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "answer");
  }
  _exit(0);
}

void startHelper() {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  helperPid = fork();
  must(helperPid >= 0, "fork");
  if (helperPid == 0) {
    close(ends[0]);
    listDescriptors(ends[1]);
  }
  close(ends[1]);
  helperLine = ends[0];
}

std::string answer() {
  std::string text;
  while (text != "\n" && !text.ends_with("\n\n")) {
    char buffer[4096];
    const ssize_t got = read(helperLine, buffer, sizeof buffer);
    must(got > 0, "helper");
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

pid_t otherUsersHelper() {
  return helperPid;
}

bool writeAsAnother(const std::string& path, const std::string& content) {
  if (helperLine < 0) return false;
  Wish wish;
  wish.size = content.size();
  path.copy(wish.path, sizeof wish.path - 1);
  must(write(helperLine, &wish, sizeof wish) == sizeof wish, "ask");
  must(write(helperLine, content.data(), content.size()) == static_cast<ssize_t>(content.size()), "ask");
  answer();
  return true;
}

bool giveToAnother(const std::string& path) {
  if (helperLine < 0) return false;
  Wish wish;
  wish.give = true;
  path.copy(wish.path, sizeof wish.path - 1);
  must(write(helperLine, &wish, sizeof wish) == sizeof wish, "ask");
  answer();
  return true;
}

std::optional<std::vector<std::string>> descriptorsOf(pid_t pid) {
  if (helperLine < 0) return std::nullopt;
  Wish wish;
  wish.pid = pid;
  must(write(helperLine, &wish, sizeof wish) == sizeof wish, "ask");
  std::vector<std::string> lines;
  std::istringstream list(answer());
  for (std::string line; std::getline(list, line) && !line.empty();) lines.push_back(line);
  return lines;
}

void becomeOrdinaryUser() {
  if (getuid() == 0) {
    startHelper();
    must(setgroups(0, nullptr) == 0, "setgroups");
    must(setresgid(kTestUser, kTestUser, kTestUser) == 0, "setresgid");
    must(setresuid(kTestUser, kTestUser, kTestUser) == 0, "setresuid");
    must(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0, "dumpable");
    setenv("HOME", "/nonexistent", 1);
  }
  must(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "subreaper");
}

}  // namespace factionos::test
