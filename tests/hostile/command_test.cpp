// A command that turns against all that is outside of its tree: launcher, front, its own session, keeper and
// pty worker, another session's command, and the broker (which this test plays). In both kernel stories.
#include <cctype>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "protocol/rpc/descriptor.h"
#include "protocol/schemas/front.capnp.h"

namespace factionos::test {
namespace {

// act → result, for each process
using Results = std::map<pid_t, std::map<std::string, std::string>>;

Results parse(const std::string& output) {
  Results results;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    pid_t pid = 0;
    std::string act;
    std::string result;
    if (words >> pid >> act >> result && std::islower(static_cast<unsigned char>(act.front())) != 0)
      results[pid][act] = result;  // and not what was typed, which the terminal echoes
  }
  return results;
}

// What an outsider can see of a process that nobody may change.
struct Standing {
  bool alive = false;
  int processors = 0;
  int nice = 0;
  int scheduler = 0;
  std::string name;

  static Standing of(pid_t pid) {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(pid, sizeof set, &set);
    return {kill(pid, 0) == 0, CPU_COUNT(&set), getpriority(PRIO_PROCESS, static_cast<id_t>(pid)),
            sched_getscheduler(pid), nameOf(pid)};
  }
  bool operator==(const Standing&) const = default;
};

class SilentGate final : public schema::Gate::Server {
  kj::Promise<void> start(StartContext) override { return kj::NEVER_DONE; }
};

// All of ours that there is, and a workspace with the program that turns against them.
struct Box {
  Box() { std::filesystem::copy_file(FACTIONOS_HOSTILE_COMMAND, broker.world.workspace + "/hostile"); }

  void startFront() {
    auto pair = rpc::socketPair();
    frontLine = kj::heap<rpc::Connection>(broker.loop, kj::mv(pair.first),
                                          rpc::ConnectionOptions{.role = rpc::Role::kServer},
                                          capnp::Capability::Client(kj::heap<SilentGate>()));
    auto request = broker.launcher.startRequest();
    request.setRole(schema::Role::FRONT);
    request.initScope().setNone();
    request.setLine(rpc::carryDescriptor<schema::Descriptor>(kj::mv(pair.second)));
    auto response = broker.wait(kj::Promise<capnp::Response<schema::Launcher::StartResults>>(request.send()));
    ASSERT_TRUE(response.hasWorker());
    front = response.getWorker();
  }

  Broker broker;
  kj::Own<rpc::Connection> frontLine;
  kj::Maybe<schema::Worker::Client> front;
};

class HostileCommand : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, HostileCommand, testing::Values(Story::kNamespaces, Story::kForbidden),
                         storyName);

// The same acts by the same user on a process that is not ours.
void expectControl() {
  const pid_t victim = fork();
  if (victim == 0) {
    pause();
    _exit(0);
  }
  FILE* pipe = popen((std::string(FACTIONOS_HOSTILE_COMMAND) + " " + std::to_string(victim)).c_str(), "r");
  std::string output(1 << 16, '\0');
  output.resize(fread(output.data(), 1, output.size(), pipe));
  pclose(pipe);
  const auto results = parse(output)[victim];
  for (const char* act :
       {"signal", "signal_thread", "signal_queue", "signal_by_handle", "environment", "maps", "descriptors",
        "directory", "limit", "pin", "priority", "io_priority", "out_of_memory_score", "end"})
    EXPECT_EQ(results.at(act), "ok") << "the control of " << act;
  waitpid(victim, nullptr, 0);
}

TEST_P(HostileCommand, CantTouchAnyProcessOfOurs) {
  expectControl();
  Box box;
  box.startFront();
  auto& broker = box.broker;
  const auto other = broker.start(argv({"sleep", "1000"}, GetParam()));
  const auto bad = broker.start(shell("read targets; ./hostile $targets; read end", GetParam()));
  ASSERT_TRUE(bad->started()) << bad->result.denial;
  std::map<pid_t, Standing> before;
  std::string targets = "1";
  std::set<std::string> names;
  for (const pid_t pid : descendants()) {
    const auto name = nameOf(pid);
    if (name == "sh" || name == "dash") continue;  // itself
    before[pid] = Standing::of(pid);
    names.insert(name);
    targets += " " + std::to_string(pid);
  }
  before[getpid()] = Standing::of(getpid());
  targets += " " + std::to_string(getpid()) + "\n";
  for (const char* name : {"launcher", "front", "session", "keeper", "gofer", "pty", "sleep"})
    EXPECT_TRUE(names.contains(name)) << name;

  EXPECT_EQ(bad->input(targets), "");
  bad->expectOutput("finished");
  const auto results = parse(bad->output());
  EXPECT_EQ(results.size(), before.size() + 1);
  // 1 is the keeper where there is a pid namespace, else the machine's own first process.
  const std::set<std::string> refusals = {"EPERM", "EACCES", "ESRCH", "ENOENT", "ENOSYS"};
  for (const auto& [pid, acts] : results) {
    for (const auto& [act, errorName] : acts)
      EXPECT_TRUE(refusals.contains(errorName))
          << pid << " (" << nameOf(pid) << ") " << act << " " << errorName;
  }
  for (const auto& [pid, standing] : before)
    EXPECT_EQ(Standing::of(pid), standing) << pid << " " << standing.name;
  bad->kill();
  other->kill();
}

}  // namespace
}  // namespace factionos::test
