#include "tests/crash/rig.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <new>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/audit/reader.h"
#include "process.h"
#include "tests/crash/inspector.h"
#include "tests/crash/operator_line.h"

namespace factionos::test {
namespace {

std::vector<std::string> environmentOf(const std::string& home) {
  const char* user = std::getenv("HOME");
  return {"PATH=/usr/local/bin:/usr/bin:/bin", std::string("HOME=") + (user != nullptr ? user : "/"),
          "FACTIONOS_HOME=" + home, "TERM=dumb", "LANG=C.UTF-8"};
}

std::string commOf(pid_t pid) {
  auto comm = readFile("/proc/" + std::to_string(pid) + "/comm");
  if (!comm.empty()) comm.pop_back();
  return comm;
}

pid_t parentOf(pid_t pid) {
  const auto stat = readFile("/proc/" + std::to_string(pid) + "/stat");
  const auto close = stat.rfind(')');
  return close == std::string::npos ? 0 : std::atoi(stat.c_str() + close + 4);
}

}  // namespace

const char* nameOf(Victim victim) {
  constexpr const char* kNames[] = {"broker", "launcher", "front",   "session",  "keeper",
                                    "pty",    "spare",    "command", "container"};
  return kNames[static_cast<std::size_t>(victim)];
}

Rig::Rig() {
  ::umask(022);
  std::string pattern = "/var/tmp/factionos-crash.XXXXXX";
  root_ = ::mkdtemp(pattern.data());
  home_ = root_ + "/home";
  workspace_ = root_ + "/ws";
  std::filesystem::create_directory(workspace_);
  const auto environment = environmentOf(home_);
  const auto made = runProcess({FACTIONOS_CLI, "init", "--no-passphrase"}, environment, root_);
  EXPECT_EQ(made.status, 0) << made.err;
  const auto added = runProcess({FACTIONOS_CLI, "workspace", "add", "demo", workspace_}, environment, root_);
  EXPECT_EQ(added.status, 0) << added.err;
  // A task needs a template, and no engine.
  writeFile(home_ + "/config.toml",
            readFile(home_ + "/config.toml") + "\n[[template]]\nid = \"t\"\ncommand = [\"/bin/true\"]\n");
  const auto page = root_ + "/control";
  writeFile(page, std::string(sizeof(Control), '\0'));
  const int file = ::open(page.c_str(), O_RDWR | O_CLOEXEC);
  void* mapped = ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  control_ = new (mapped) Control{};
}

Rig::~Rig() {
  if (alive()) {
    const auto all = tree();
    kill();
    gone(all);
  }
  if (address_ >= 0) ::close(address_);
  ::munmap(control_, sizeof(Control));
  std::error_code error;
  std::filesystem::remove_all(root_, error);
}

void Rig::stopAt(const std::string& places) {
  ASSERT_LT(places.size(), control_->places.size());
  control_->places.fill('\0');
  places.copy(control_->places.data(), places.size());
  ++control_->placesSet;
}

void Rig::start(const std::string& places) {
  stopAt(places);
  if (address_ >= 0) ::close(address_);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  address_ = ends[0];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, (root_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
  const std::vector<std::string> texts{FACTIONOS_FAULTY, root_ + "/control", "--home",         home_,
                                       "--listen",       "127.0.0.1:0",      "--print-address"};
  const auto variables = environmentOf(home_);
  EXPECT_EQ(::posix_spawn(&pid_, FACTIONOS_FAULTY, &actions, nullptr, pointers(texts).data(),
                          pointers(variables).data()),
            0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
}

bool Rig::serving() {
  // One line and then nothing: the end of file means that the broker is gone, since nobody else has the pipe.
  char each = 0;
  while (::read(address_, &each, 1) == 1) {
    if (each == '\n') return true;
  }
  return false;
}

Rig::Change Rig::await() {
  if (!alive()) return Change::kEnded;
  int status = 0;
  while (::waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
  }
  if (WIFSTOPPED(status)) return Change::kStopped;
  note(status);
  return Change::kEnded;
}

bool Rig::ended() {
  int status = 0;
  if (alive() && ::waitpid(pid_, &status, WNOHANG) == pid_) note(status);
  return !alive();
}

void Rig::note(int status) {
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
  dumped_ = WIFSIGNALED(status) && WCOREDUMP(status);
  pid_ = -1;
}

void Rig::resume() const {
  signal(SIGCONT);
}

void Rig::runOut() {
  while (await() == Change::kStopped) resume();
}

void Rig::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

int Rig::kill() {
  signal(SIGKILL);
  while (await() == Change::kStopped) {
  }
  return status_;
}

int Rig::stop() {
  signal(SIGTERM);
  runOut();
  return status_;
}

std::vector<pid_t> Rig::tree() const {
  return pid_ > 0 ? descendants(pid_) : std::vector<pid_t>{};
}

std::vector<pid_t> Rig::find(Victim victim) const {
  if (victim == Victim::kBroker) return {pid_};
  std::vector<pid_t> found;
  for (const auto pid : tree()) {
    const auto name = commOf(pid);
    const auto parent = parentOf(pid);
    // The launcher's children bear its name until they have executed what they are to be.
    const bool matches = victim == Victim::kLauncher ? name == "launcher" && parent == pid_
                         : victim == Victim::kCommand
                             ? name != "session" && name != "keeper" && name != "gofer" &&
                                   name != "launcher" && name != "front" && name != "pty" &&
                                   name != "spare" && name != "container"
                             : name == nameOf(victim);
    if (matches) found.push_back(pid);
  }
  return found;
}

bool Rig::gone(const std::vector<pid_t>& processes) {
  return eventually(
      [&]() {
        return std::ranges::all_of(processes, [](pid_t pid) {
          const auto stat = readFile("/proc/" + std::to_string(pid) + "/stat");
          const auto close = stat.rfind(')');
          return close == std::string::npos || stat[close + 2] == 'Z';
        });
      },
      15);
}

std::optional<std::size_t> Rig::descriptors(Victim victim) const {
  std::size_t sum = 0;
  for (const auto pid : find(victim)) {
    const auto count = Inspector::count(pid);
    if (!count) return std::nullopt;
    sum += *count;
  }
  return sum;
}

std::string Rig::log() const {
  return readFile(root_ + "/log");
}

bool Rig::reachable() const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (home_ + "/run/api.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool taken = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return taken;
}

Reply Rig::get(const std::string& target) const {
  return requestUnix(home_ + "/run/api.sock", "GET", target, "", {});
}

Reply Rig::post(const std::string& target, const std::string& body, const std::string& key) const {
  return requestUnix(home_ + "/run/api.sock", "POST", target, body, {{"Idempotency-Key", key}});
}

int Rig::approve(const std::string& action, std::uint64_t revision) const {
  return decide(action, revision, true);
}

int Rig::reject(const std::string& action, std::uint64_t revision) const {
  return decide(action, revision, false);
}

int Rig::decide(const std::string& action, std::uint64_t revision, bool approve) const {
  try {
    const auto key = operatorKeyOf(home_);
    OperatorLine line(home_, key);
    const auto problem =
        line.decide(action, revision, approve ? schema::Verdict::APPROVE : schema::Verdict::REJECT);
    return problem ? static_cast<int>(*problem) : 0;
  } catch (const kj::Exception&) {
    return -1;
  }
}

audit::Verdict Rig::verify() const {
  return audit::verify({.stateDirectory = home_ + "/state"});
}

std::vector<audit::Line> Rig::records() const {
  std::vector<audit::Line> all;
  for (;;) {
    auto page =
        audit::list({.stateDirectory = home_ + "/state"}, all.empty() ? 0 : all.back().sequence, 1000);
    if (page.empty()) return all;
    all.insert(all.end(), std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
  }
}

bool Rig::scratchIsEmpty() const {
  std::error_code error;
  return std::filesystem::is_empty(home_ + "/run/scratch", error) || error;
}

}  // namespace factionos::test
