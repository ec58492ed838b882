#include "process.h"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace factionos::test {
namespace {

std::string uniqueName(const std::string& folder) {
  static std::atomic<int> counter{0};
  return folder + "/process-" + std::to_string(::getpid()) + "-" + std::to_string(++counter);
}

}  // namespace

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

bool pollPause() {
  return ::poll(nullptr, 0, 5) == 0;
}

std::string readFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void writeFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

Process::Process(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                 const std::string& folder, const std::string& input) {
  const auto base = uniqueName(folder);
  outFile_ = base + ".out";
  errFile_ = base + ".err";
  const auto inFile = base + ".in";
  writeFile(inFile, input);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, inFile.c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, outFile_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_addopen(&actions, 2, errFile_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const auto arguments = pointers(argv);
  const auto variables = pointers(environment);
  const int error =
      ::posix_spawnp(&pid_, argv[0].c_str(), &actions, nullptr, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) pid_ = -1;
}

Process::~Process() {
  if (pid_ > 0 && !status_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

bool Process::running() {
  if (status_ || pid_ <= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
  return false;
}

std::string Process::out() const {
  return readFile(outFile_);
}
std::string Process::err() const {
  return readFile(errFile_);
}

std::string Process::waitForLine(const std::string& text) {
  std::string found;
  eventually([&]() {
    for (const auto& all : {out(), err()}) {
      std::istringstream lines(all);
      for (std::string line; std::getline(lines, line);) {
        if (line.find(text) != std::string::npos && !lines.eof()) {
          found = line;
          return true;
        }
      }
    }
    return !running();
  });
  return found;
}

Finished Process::finish(int timeoutSeconds) {
  if (!eventually([this]() { return !running(); }, timeoutSeconds)) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    status_ = 256 + SIGKILL;
  }
  return {.status = status_.value_or(-1), .out = out(), .err = err()};
}

void Process::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

Finished runProcess(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                    const std::string& folder, const std::string& input) {
  Process process(argv, environment, folder, input);
  return process.finish();
}

std::vector<pid_t> descendants(pid_t root) {
  std::vector<std::pair<pid_t, pid_t>> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto stat = readFile("/proc/" + name + "/stat");
    const auto close = stat.rfind(')');
    if (close == std::string::npos || close + 2 >= stat.size() || stat[close + 2] == 'Z') continue;
    std::istringstream rest(stat.substr(close + 4));
    pid_t parent = 0;
    rest >> parent;
    all.emplace_back(std::stoi(name), parent);
  }
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const auto& [pid, parent] : all) {
      if (parent == found[i]) found.push_back(pid);
    }
  }
  found.erase(found.begin());
  return found;
}

}  // namespace factionos::test
