#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include <sqlite3.h>

#include "process.h"
#include "tests/bench/load.h"
#include "tests/bench/suites.h"

namespace factionos::bench {
namespace {

constexpr unsigned kConnections[] = {1, 64};

std::string eventBody(std::uint64_t number) {
  return R"({"source":"claude-code","event":"PreToolUse","payload":{"session_id":"5f0c2a6e","tool_name":"Bash","tool_use_id":"toolu_)" +
         std::to_string(number) + R"("}})";
}

// Node's http with the same token check; `mode` is what server.js understands.
class Node {
 public:
  Node(const std::string& mode, const std::string& token, const std::string& folder)
      : process_(
            {"/usr/bin/env", "node", std::string(FACTIONOS_BENCH_NODE) + "/server.js", mode, token, folder},
            {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + folder}, folder) {
    const auto line = process_.waitForLine("listening ");
    if (line.empty()) throw std::runtime_error("node did not start: " + process_.err());
    port = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(' ') + 1)));
  }
  ~Node() { process_.signal(SIGKILL); }

  std::uint16_t port = 0;
  pid_t pid() const { return process_.pid(); }

 private:
  test::Process process_;
};

// What one side of a comparison did, round for round.
struct Side {
  std::vector<LoadResult> rounds;
  double cpuSeconds = 0;

  void add(const LoadResult& round, double cpu) {
    if (round.refused > 0) throw std::runtime_error(std::to_string(round.refused) + " requests were refused");
    rounds.push_back(round);
    cpuSeconds += cpu;
  }
  double median(double LoadResult::*figure) const {
    std::vector<double> all;
    for (const auto& round : rounds) all.push_back(round.*figure);
    return quantile(all, 0.5);
  }
  double cpuPerRequestUs() const {
    std::uint64_t answered = 0;
    for (const auto& round : rounds) answered += round.answered;
    return cpuSeconds / static_cast<double>(answered) * 1e6;
  }
};

std::string on(unsigned connections) {
  return ", " + std::to_string(connections) + (connections == 1 ? " connection" : " connections");
}

void addSides(Report& report, const std::string& what, const Side& ours, const std::string& rival,
              const Side& theirs, const std::string& aim) {
  const auto row = [&](const std::string& kind, const std::string& unit, double LoadResult::*figure) {
    report.add({"http", what + kind, unit, ours.median(figure), Beside{rival, theirs.median(figure)},
                kind.empty() ? aim : ""});
  };
  row("", "req/s", &LoadResult::perSecond);
  row(", p50", "ms", &LoadResult::p50Ms);
  row(", p99", "ms", &LoadResult::p99Ms);
  report.add({"http", what + ", processor", "µs/req", ours.cpuPerRequestUs(),
              Beside{rival, theirs.cpuPerRequestUs()}});
}

// Rows a second that SQLite alone makes durable in groups of `group`, with the broker's own settings.
double sqliteAlone(const std::string& file, unsigned group, std::chrono::milliseconds length) {
  sqlite3* database = nullptr;
  const auto check = [&](int result) {
    if (result != SQLITE_OK && result != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(database));
  };
  check(sqlite3_open(file.c_str(), &database));
  const auto execute = [&](const char* sql) {
    check(sqlite3_exec(database, sql, nullptr, nullptr, nullptr));
  };
  execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON");
  execute(
      "CREATE TABLE IF NOT EXISTS events(id TEXT PRIMARY KEY, source TEXT, kind TEXT, fields INT, time INT, "
      "dedupe BLOB "
      "UNIQUE)");
  sqlite3_stmt* insert = nullptr;
  check(sqlite3_prepare_v2(database,
                           "INSERT INTO events VALUES(?,'claude-code','pre_tool_use',6,?,randomblob(32))", -1,
                           &insert, nullptr));
  static std::int64_t rows = 0;  // no id twice in any of its files
  const std::int64_t first = rows;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < begin + length) {
    execute("BEGIN IMMEDIATE");
    for (unsigned i = 0; i < group; ++i) {
      const std::string id = "evt_" + std::to_string(10'000'000'000 + rows);
      sqlite3_bind_text(insert, 1, id.c_str(), -1, SQLITE_TRANSIENT);
      sqlite3_bind_int64(insert, 2, ++rows);
      check(sqlite3_step(insert));
      sqlite3_reset(insert);
    }
    execute("COMMIT");
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  sqlite3_finalize(insert);
  sqlite3_close(database);
  return static_cast<double>(rows - first) / seconds;
}

}  // namespace

namespace {

// The sides take turns, so that what else the machine does meets them alike.
constexpr int kRounds = 5;

class Http {
 public:
  Http(Report& report, Effort effort)
      : report_(report),
        rounds_(effort == Effort::kFull ? kRounds : 1),
        length_(effort == Effort::kFull ? 1000 : 500),
        broker_(allowingBroker()),
        token_(broker_->token("ingest,read,propose")),
        folder_(broker_->workspace()) {
    for (int i = 0; i < 4; ++i)
      runToOutcome(*broker_, R"("command":["true"])", token_, "warm" + std::to_string(i));
    const auto reply = broker_->get("/v1/command-center", token_);
    if (reply.status != 200) throw std::runtime_error("the snapshot can't be read: " + reply.body);
    std::ofstream(folder_ + "/reply.json") << reply.body;
  }

  void reads() {
    const Node node("read", token_, folder_);
    for (const unsigned connections : kConnections) {
      const auto load = [&](std::uint16_t port) {
        return Load{port, connections, length_,
                    [this](std::uint64_t) { return getRequest("/v1/command-center", token_); }};
      };
      Side ours;
      Side theirs;
      for (int i = 0; i < rounds_; ++i) {
        measure(ours, load(broker_->port()), ourPids());
        measure(theirs, load(node.port), {node.pid()});
      }
      addSides(report_, "read, published snapshot" + on(connections), ours, "Node http", theirs, "≥ 1.2");
    }
  }

  void events() {
    const bool rival =
        std::filesystem::exists(std::string(FACTIONOS_BENCH_NODE) + "/node_modules/better-sqlite3");
    std::optional<Node> node;
    if (rival) node.emplace("write", token_, folder_);
    for (const unsigned connections : kConnections) events(connections, node);
    if (!rival)
      std::printf(
          "http      better-sqlite3 is not installed below tests/bench/node; tests/bench/run does it\n");
  }

 private:
  void events(unsigned connections, const std::optional<Node>& node) {
    Side ours;
    Side theirs;
    std::vector<double> alone;
    const std::string file = folder_ + "/alone" + std::to_string(connections) + ".db";
    for (int i = 0; i < rounds_; ++i) {
      measure(ours, eventLoad(broker_->port(), connections), ourPids());
      alone.push_back(sqliteAlone(file, connections, length_));
      if (node) measure(theirs, eventLoad(node->port, connections), {node->pid()});
    }
    report_.add({"http", "durable event" + on(connections), "req/s", ours.median(&LoadResult::perSecond),
                 Beside{"SQLite alone, groups of " + std::to_string(connections), quantile(alone, 0.5)},
                 "≥ 0.8"});
    if (node)
      addSides(report_, "durable event" + on(connections), ours, "Node, better-sqlite3", theirs, "≥ 2");
  }

  Load eventLoad(std::uint16_t port, unsigned connections) {
    offset_ += 10'000'000;  // events are recognised by their content: none may come twice
    return {port, connections, length_, [this, offset = offset_](std::uint64_t number) {
              return postRequest("/event", token_, eventBody(offset + number));
            }};
  }

  std::vector<pid_t> ourPids() const { return {broker_->pid(), broker_->child("front")}; }

  static void measure(Side& side, const Load& load, const std::vector<pid_t>& pids) {
    const auto cpu = [&pids]() {
      double sum = 0;
      for (const pid_t pid : pids) sum += cpuSeconds(pid);
      return sum;
    };
    const double before = cpu();
    const auto result = run(load);
    side.add(result, cpu() - before);
  }

  Report& report_;
  const int rounds_;
  const std::chrono::milliseconds length_;
  std::unique_ptr<test::LiveBroker> broker_;
  std::string token_;
  std::string folder_;
  std::uint64_t offset_ = 0;
};

}  // namespace

void measureHttp(Report& report, Effort effort, Meter&) {
  Http http(report, effort);
  http.reads();
  http.events();
}

}  // namespace factionos::bench
