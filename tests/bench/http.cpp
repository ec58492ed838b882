#include <filesystem>
#include <fstream>
#include <stdexcept>

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

 private:
  test::Process process_;
};

void addLoads(Report& report, const std::string& what, unsigned connections, const LoadResult& ours,
              const std::string& rival, const LoadResult& theirs, const std::string& aim) {
  const std::string many =
      ", " + std::to_string(connections) + (connections == 1 ? " connection" : " connections");
  const std::string note =
      ours.refused + theirs.refused == 0
          ? ""
          : std::to_string(ours.refused) + " and " + std::to_string(theirs.refused) + " refused";
  report.add({"http", what + many, "req/s", ours.perSecond, Beside{rival, theirs.perSecond}, aim, note});
  report.add({"http", what + many + ", p50", "ms", ours.p50Ms, Beside{rival, theirs.p50Ms}});
  report.add({"http", what + many + ", p99", "ms", ours.p99Ms, Beside{rival, theirs.p99Ms}});
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
      "CREATE TABLE events(id TEXT PRIMARY KEY, source TEXT, kind TEXT, fields INT, time INT, dedupe BLOB "
      "UNIQUE)");
  sqlite3_stmt* insert = nullptr;
  check(sqlite3_prepare_v2(database,
                           "INSERT INTO events VALUES(?,'claude-code','pre_tool_use',6,?,randomblob(32))", -1,
                           &insert, nullptr));
  std::int64_t rows = 0;
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
  return static_cast<double>(rows) / seconds;
}

}  // namespace

void measureHttp(Report& report, Effort effort, Meter&) {
  const std::chrono::milliseconds length(effort == Effort::kFull ? 5000 : 500);
  const auto broker = allowingBroker();
  const auto token = broker->token("ingest,read,propose");
  for (int i = 0; i < 4; ++i)
    runToOutcome(*broker, R"("command":["true"])", token, "warm" + std::to_string(i));
  const std::string folder = broker->workspace();
  std::ofstream(folder + "/reply.json") << broker->get("/v1/command-center", token).body;

  const auto reads = [&](std::uint16_t port, unsigned connections) {
    return run(
        {port, connections, length, [&](std::uint64_t) { return getRequest("/v1/command-center", token); }});
  };
  std::uint64_t offset = 0;  // events are recognised by their content: none may come twice
  const auto writes = [&](std::uint16_t port, unsigned connections) {
    offset += 10'000'000;
    return run({port, connections, length, [&](std::uint64_t number) {
                  return postRequest("/event", token, eventBody(offset + number));
                }});
  };
  {
    const Node node("read", token, folder);
    for (const unsigned connections : kConnections)
      addLoads(report, "read, published snapshot", connections, reads(broker->port(), connections),
               "Node http", reads(node.port, connections), "≥ 1.2");
  }
  for (const unsigned connections : kConnections) {
    const auto ours = writes(broker->port(), connections);
    const std::string file = folder + "/alone" + std::to_string(connections) + ".db";
    report.add({"http",
                "durable event, " + std::to_string(connections) +
                    (connections == 1 ? " connection" : " connections"),
                "req/s", ours.perSecond,
                Beside{"SQLite alone, groups of " + std::to_string(connections),
                       sqliteAlone(file, connections, length)},
                "≥ 0.8", ours.refused == 0 ? "" : std::to_string(ours.refused) + " refused"});
  }
  if (!std::filesystem::exists(std::string(FACTIONOS_BENCH_NODE) + "/node_modules/better-sqlite3")) {
    std::printf(
        "http      better-sqlite3 is not installed below tests/bench/node; tests/bench/run does it\n");
    return;
  }
  const Node node("write", token, folder);
  for (const unsigned connections : kConnections)
    addLoads(report, "durable event", connections, writes(broker->port(), connections),
             "Node, better-sqlite3", writes(node.port, connections), "≥ 2");
}

}  // namespace factionos::bench
