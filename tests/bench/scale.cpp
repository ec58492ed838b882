#include <chrono>
#include <stdexcept>

#include "broker/state/action_table.h"
#include "broker/state/ids.h"
#include "broker/state/writer.h"
#include "tests/bench/load.h"
#include "tests/bench/suites.h"

namespace factionos::bench {
namespace {

constexpr int kRecordsPerAction = 10;
constexpr int kActionsPerBatch = 500;

// Ended actions and their records, written by the broker's own tables while it is down.
void fill(const std::string& home, int actions) {
  const std::filesystem::path folder = home + "/state";
  state::Database database(folder / "state.db", state::Access::kReadWrite);
  const auto log = audit::AuditLog::open({.stateDirectory = folder},
                                         {.committedThrough = state::committedThrough(database)});
  state::Writer writer(database, *log);
  state::IdGenerator ids;
  for (int done = 0; done < actions; done += kActionsPerBatch) {
    const auto result = writer.runBatch({[&](state::Transaction& transaction) {
      for (int i = 0; i < kActionsPerBatch; ++i) {
        state::ActionRow row{.id = ids.next(state::IdKind::kAction),
                             .state = state::ActionState::kSucceeded,
                             .family = audit::Code::of("terminal"),
                             .operation = audit::Code::of("run"),
                             .workspace = audit::Label::of("demo"),
                             .target = audit::Label::of("true"),
                             .principal = audit::Label::of("token:filled"),
                             .risk = audit::Code::of("high"),
                             .created = transaction.now(),
                             .updated = transaction.now()};
        state::ActionTable(transaction.database()).insert(row);
        for (int each = 0; each < kRecordsPerAction; ++each)
          transaction.audit({.actionId = row.id,
                             .revision = static_cast<std::uint32_t>(each + 1),
                             .family = row.family,
                             .operation = row.operation,
                             .requester = row.principal,
                             .decision = audit::Code::of("allow"),
                             .idempotency = audit::Code::of("fresh"),
                             .result = audit::Code::of("succeeded"),
                             .target = row.target});
      }
    }});
    if (result.errors.front()) std::rethrow_exception(result.errors.front());
  }
}

struct Figures {
  LoadResult read;
  LoadResult write;
  double run = 0;
};

Figures measure(test::LiveBroker& broker, const std::string& token, std::chrono::milliseconds length,
                const std::string& salt) {
  Figures figures;
  std::vector<double> runs;
  for (int i = 0; i < 20; ++i)
    runs.push_back(runToOutcome(broker, R"("command":["true"])", token, salt + std::to_string(i)));
  figures.run = quantile(runs, 0.5);
  figures.read = run(
      {broker.port(), 8, length, [&](std::uint64_t) { return getRequest("/v1/actions?limit=20", token); }});
  figures.write = run({broker.port(), 8, length, [&](std::uint64_t number) {
                         return postRequest("/event", token,
                                            R"({"source":"codex","event":"Stop","payload":{"session_id":")" +
                                                salt + std::to_string(number) + R"("}})");
                       }});
  return figures;
}

}  // namespace

void measureScale(Report& report, Effort effort, Meter&) {
  const bool full = effort == Effort::kFull;
  const std::chrono::milliseconds length(full ? 4000 : 500);
  const int actions = full ? 100'000 : 2'000;
  const int sessions = full ? 200 : 10;
  const auto broker = allowingBroker();
  const auto token = broker->token("ingest,read,propose");
  const Figures empty = measure(*broker, token, length, "empty");
  broker->stop();
  fill(broker->home(), actions);
  const auto begin = std::chrono::steady_clock::now();
  broker->start();
  const double ready =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  for (int i = 0; i < sessions; ++i) {
    const auto started = broker->propose(R"("command":["sleep","900"])", token, "live" + std::to_string(i));
    if (started.status != 201) throw std::runtime_error("session " + std::to_string(i) + ": " + started.body);
  }
  const Figures large = measure(*broker, token, length, "large");
  const std::string note = std::to_string(actions * kRecordsPerAction) + " records, " +
                           std::to_string(actions) + " actions, " + std::to_string(sessions) +
                           " live sessions";
  const auto add = [&](const std::string& what, double value, double before) {
    report.add({"scale", what, "ms", value, Beside{"empty home", before}, "≤ 1.5", note});
  };
  add("list of actions, p50", large.read.p50Ms, empty.read.p50Ms);
  add("list of actions, p99", large.read.p99Ms, empty.read.p99Ms);
  add("durable event, p50", large.write.p50Ms, empty.write.p50Ms);
  add("durable event, p99", large.write.p99Ms, empty.write.p99Ms);
  add("true over REST", large.run, empty.run);
  report.add({"scale", "start of the broker until it serves", "ms", ready, std::nullopt, "", note});
}

}  // namespace factionos::bench
