#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "process.h"
#include "tests/bench/suites.h"

namespace factionos::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kSizes[] = {100, 10'000, 50'000};
constexpr const char* kPolicy =
    "[[rule]]\nfamily = \"git\"\noperation = \"*\"\ndecision = \"allow\"\nuntil = 2099-01-01T00:00:00Z\n"
    "reason = \"measured\"\n"
    "[[rule]]\nfamily = \"file\"\noperation = \"*\"\ndecision = \"allow\"\nuntil = 2099-01-01T00:00:00Z\n"
    "reason = \"measured\"\n";

// A broker on a repository of so many files, and the same work by Node beside it, round for round.
class Repository {
 public:
  Repository(unsigned files, int rounds, int times)
      : broker_({.policy = kPolicy}),
        token_(broker_.token("read,propose")),
        files_(files),
        rounds_(rounds),
        times_(times) {
    for (unsigned i = 0; i < files; ++i) {
      const std::string directory = broker_.workspace() + "/d" + std::to_string(i / 100);
      if (i % 100 == 0) std::filesystem::create_directory(directory);
      std::ofstream(directory + "/f" + std::to_string(i)) << "file " << i << "\n";
    }
    std::ofstream(broker_.workspace() + "/bench.txt") << "first";
    shell(
        "git init -q -b main && git config user.name Ada && git config user.email ada@example.org && "
        "git add -A && git commit -q -m first");
    // Entries as young as the index itself would be read again by both, at every status.
    shell("sleep 1.1; git update-index -q --refresh");
    // What is not measured: a worker that starts.
    post("status", {});
  }

  void measure(Report& report) {
    const std::string on = ", " + std::to_string(files_) + " files";
    const std::string aim = files_ > 10'000 ? "≤ 1.2" : "< 1";
    compare(report, "status" + on, "status", aim,
            [this](int) { return timed([this]() { post("status", {}); }); });
    compare(report, "commit" + on, "commit", aim, [this](int i) {
      std::ofstream(broker_.workspace() + "/bench.txt")
          << "ours " << i << Clock::now().time_since_epoch().count();
      shell("git add bench.txt");
      return timed([this]() { post("commit", R"(,"message":"measured")"); });
    });
  }

  void measureFiles(Report& report) {
    const std::string content(4096, 'x');
    compare(report, "file write, 4 KiB", "write", "", [&](int i) {
      // In place of what is there, as an agent that has read it.
      const auto digest = file("stat", "").at("/file/digest");
      const std::string members =
          R"(,"content":")" + content + std::to_string(i) + R"(","expectedDigest":")" + digest + "\"";
      return timed([&]() { file("write", members); });
    });
    compare(report, "file read, 4 KiB", "read", "",
            [this](int) { return timed([this]() { file("read", ""); }); });
  }

 private:
  void shell(const std::string& line) {
    const auto done = test::runProcess(
        {"/bin/sh", "-c", "cd '" + broker_.workspace() + "' && " + line},
        {"PATH=/usr/bin:/bin", "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"},
        broker_.home());
    if (done.status != 0) throw std::runtime_error("git failed: " + done.err);
  }

  test::Reply ask(const std::string& route, const std::string& members) {
    auto reply = broker_.post(route, R"({"workspace":"demo")" + members + "}", token_, test::uniqueKey());
    if (reply.status != 200) throw std::runtime_error(route + " was refused: " + reply.body);
    return reply;
  }
  test::Reply post(const std::string& operation, const std::string& members) {
    return ask("/v1/git/" + operation, members);
  }
  test::Reply file(const std::string& operation, const std::string& members) {
    return ask("/v1/file/" + operation, R"(,"path":"bench.txt")" + members);
  }

  template <typename Work>
  static double timed(Work work) {
    const auto begin = Clock::now();
    work();
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

  std::vector<double> byNode(const std::string& what) {
    const auto done =
        test::runProcess({"/usr/bin/env", "node", std::string(FACTIONOS_BENCH_NODE) + "/repository.js", what,
                          broker_.workspace(), std::to_string(times_)},
                         {"PATH=/usr/local/bin:/usr/bin:/bin"}, broker_.home());
    if (done.status != 0) throw std::runtime_error("node failed: " + done.err);
    std::vector<double> times;
    std::istringstream lines(done.out);
    for (double each = 0; lines >> each;) times.push_back(each);
    return times;
  }

  // The sides take turns, so that what else the machine does meets them alike.
  template <typename Ours>
  void compare(Report& report, const std::string& what, const std::string& theirs, const std::string& aim,
               Ours ours) {
    std::vector<double> here;
    std::vector<double> there;
    for (int round = 0; round < rounds_; ++round) {
      for (int i = 0; i < times_; ++i) here.push_back(ours(round * times_ + i));
      const auto times = byNode(theirs);
      there.insert(there.end(), times.begin(), times.end());
    }
    const std::string rival = theirs == "write" || theirs == "read" ? "Node's fs" : "git as a child of Node";
    report.add({"git", what, "ms", quantile(here, 0.5), Beside{rival, quantile(there, 0.5)}, aim});
  }

  test::LiveBroker broker_;
  std::string token_;
  unsigned files_;
  int rounds_;
  int times_;
};

}  // namespace

void measureGit(Report& report, Effort effort, Meter&) {
  const bool full = effort == Effort::kFull;
  for (const unsigned files : kSizes) {
    if (!full && files > kSizes[0]) break;
    const int times = files > 10'000 ? 4 : 10;
    Repository repository(files, full ? 3 : 1, full ? times : 3);
    repository.measure(report);
    if (files == kSizes[0]) repository.measureFiles(report);
  }
}

}  // namespace factionos::bench
