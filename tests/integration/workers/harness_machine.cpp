// What is alive below a test, and what this machine has.
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <sstream>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness_parts.h"
#include "protocol/rpc/descriptor.h"
#include "tests/absent.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::test {

std::vector<pid_t> childrenOf(pid_t parent) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::istringstream list(World::read(task.path().string() + "/children"));
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

std::string nameOf(pid_t pid) {
  std::string name = World::read("/proc/" + std::to_string(pid) + "/comm");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

namespace {
bool isZombie(pid_t pid) {
  const std::string status = World::read("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name = status.rfind(')');
  return name == std::string::npos || status[name + 2] == 'Z' || status[name + 2] == 'X';
}
}  // namespace

std::vector<pid_t> descendants() {
  std::vector<pid_t> found;
  std::vector<pid_t> open = childrenOf(getpid());
  std::erase(open, otherUsersHelper());
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    if (!isZombie(pid) && nameOf(pid) != sandbox::testing::kOldKernel) found.push_back(pid);
    for (const pid_t child : childrenOf(pid)) open.push_back(child);
  }
  return found;
}

void expectNothingAlive() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  std::vector<pid_t> left = descendants();
  while (!left.empty() && std::chrono::steady_clock::now() < end) {
    siginfo_t info{};
    waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    poll(nullptr, 0, 5);
    left = descendants();
  }
  std::string names;
  for (const pid_t pid : left) names += nameOf(pid) + " ";
  EXPECT_TRUE(left.empty()) << "still alive: " << names;
}

bool refusesConnections(std::uint16_t port) {
  const rpc::OwnFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

bool hasProgram(const std::string& name) {
  for (const char* directory : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {
    if (access((directory + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

bool lacks(const char* feature) {
  if (mustHaveAll()) {
    ADD_FAILURE() << "this machine must have " << feature;
    return false;
  }
  std::cerr << "skipped: this machine has no " << feature << "\n";
  return true;
}

std::string storyName(const testing::TestParamInfo<Story>& info) {
  return info.param == Story::kNamespaces ? "Namespaces" : "NoNamespaces";
}

}  // namespace factionos::test
