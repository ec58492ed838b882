// A template in a container, beside `docker run --rm` with the same flags on the same engine. Wants
// FACTIONOS_BENCH_ENGINE (its socket file, which this user may open), FACTIONOS_BENCH_IMAGE (default: the
// shipped one) and a program /bin/echo in it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/home/agent_template.h"
#include "tests/bench/suites.h"

extern char** environ;

namespace factionos::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kParallel = 20;

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Times {
  double firstByte = 0;  // ms
  double removed = 0;
};

std::string variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// What the worker asks the engine for, in the words of the engine's own command.
std::vector<std::string> dockerRun(const std::string& socket, const std::string& image,
                                   const std::string& workspace) {
  const home::AgentTemplate made;
  struct stat owner {};
  ::stat(workspace.c_str(), &owner);
  const auto memory = std::to_string(made.memoryMiB) + "m";
  return {"docker",
          "-H",
          "unix://" + socket,
          "run",
          "--rm",
          "--init",
          "--network",
          "none",
          "--ipc",
          "none",
          "--read-only",
          "--cap-drop",
          "ALL",
          "--security-opt",
          "no-new-privileges",
          "--pids-limit",
          std::to_string(made.processes),
          "--memory",
          memory,
          "--memory-swap",
          memory,
          "--cpus",
          "1",
          "--ulimit",
          "nofile=1024",
          "--ulimit",
          "core=0",
          "--log-driver",
          "none",
          "--tmpfs",
          "/tmp:rw,noexec,nosuid,nodev,size=" + std::to_string(made.temporaryMiB) + "m,mode=1777",
          "--user",
          std::to_string(owner.st_uid) + ":" + std::to_string(owner.st_gid),
          "--mount",
          "type=bind,source=" + workspace + ",target=/workspace",
          "--workdir",
          "/workspace",
          "--entrypoint",
          "/bin/echo",
          image,
          "hi"};
}

Times runDocker(std::vector<std::string> words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Times times;
  const auto begin = Clock::now();
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) throw std::runtime_error("there is no docker to compare with");
  char byte[64];
  if (::read(ends[0], byte, sizeof byte) > 0) times.firstByte = since(begin);
  int status = 0;
  ::waitpid(child, &status, 0);
  times.removed = since(begin);
  ::close(ends[0]);
  if (status != 0) throw std::runtime_error("docker run failed");
  return times;
}

Times runOurs(test::LiveBroker& broker, const std::string& token) {
  Times times;
  const auto begin = Clock::now();
  const auto started = broker.post("/v1/container/run", R"({"workspace":"demo","template":"bench"})", token,
                                   test::uniqueKey());
  if (started.status != 201) throw std::runtime_error("not started: " + started.body);
  const auto id = started.at("/run/id");
  for (;;) {
    const auto run = broker.get("/v1/container/runs/" + id + "?waitMs=10000", token);
    if (times.firstByte == 0 && !run.at("/run/output/text").empty()) times.firstByte = since(begin);
    const auto state = run.at("/run/state");
    if (state == "succeeded") break;
    if (state != "executing") throw std::runtime_error("a run failed: " + run.body);
  }
  times.removed = since(begin);
  return times;
}

template <typename Run>
double together(Run run) {
  std::vector<std::thread> threads;
  std::exception_ptr failure;
  const auto begin = Clock::now();
  for (int i = 0; i < kParallel; ++i)
    threads.emplace_back([&]() {
      try {
        run();
      } catch (...) {
        failure = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return since(begin);
}

template <typename Run>
Times medianOf(int times, Run run) {
  run();  // the image's pages, and whatever the engine makes at its first container
  std::vector<double> first, removed;
  for (int i = 0; i < times; ++i) {
    const auto each = run();
    first.push_back(each.firstByte);
    removed.push_back(each.removed);
  }
  return {.firstByte = quantile(std::move(first), 0.5), .removed = quantile(std::move(removed), 0.5)};
}

}  // namespace

void measureContainer(Report& report, Effort effort, Meter&) {
  const auto socket = variable("FACTIONOS_BENCH_ENGINE", "");
  if (socket.empty()) {
    std::printf("container skipped: FACTIONOS_BENCH_ENGINE names no engine's socket\n");
    return;
  }
  const auto image = variable("FACTIONOS_BENCH_IMAGE", home::AgentTemplate().image);
  test::LiveBroker broker(
      {.engine = socket,
       .config =
           "[[template]]\nid = \"bench\"\nimage = \"" + image + "\"\ncommand = [\"/bin/echo\", \"hi\"]\n\n",
       .policy = "[[rule]]\nfamily = \"container\"\noperation = \"*\"\ndecision = \"allow\"\nuntil = "
                 "2099-01-01T00:00:00Z\n"});
  const auto token = broker.token("read,propose", "bench");
  const int times = effort == Effort::kQuick ? 3 : 20;
  const auto ours = [&]() { return runOurs(broker, token); };
  const auto words = dockerRun(socket, image, broker.workspace());
  const auto theirs = [&]() { return runDocker(words); };
  const auto our = medianOf(times, ours);
  const auto their = medianOf(times, theirs);
  report.add({.suite = "container",
              .what = "request to first output",
              .unit = "ms",
              .value = our.firstByte,
              .beside = Beside{"docker run --rm", their.firstByte}});
  report.add({.suite = "container",
              .what = "request to removal, recorded",
              .unit = "ms",
              .value = our.removed,
              .beside = Beside{"docker run --rm", their.removed},
              .aim = "≤ 1.11"});
  report.add({.suite = "container",
              .what = "20 at once, to the last removal",
              .unit = "ms",
              .value = together([&]() { ours(); }),
              .beside = Beside{"docker run --rm", together([&]() { theirs(); })}});
}

}  // namespace factionos::bench
