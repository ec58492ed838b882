// A worker of a workspace is killed at one moment or another, while several clients ask: nobody who meets one
// death hears of it where nothing has begun (P80).
#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <mutex>
#include <thread>

#include "git_agent.h"

namespace factionos::test {
namespace {

struct Asked {
  const char* name;
  const char* worker;  // the program
  const char* route;
  const char* members;
  int status;
};

constexpr Asked kAsked[] = {
    {"GitStatus", "git", "/v1/git/status", "", 200},
    {"GitLog", "git", "/v1/git/log", "", 200},
    {"GitProposal", "git", "/v1/git/stage", R"(,"all":true)", 202},
    {"FileStat", "file", "/v1/file/stat", R"(,"path":"a.txt")", 200},
    {"FileRead", "file", "/v1/file/read", R"(,"path":"a.txt")", 200},
    {"FileProposal", "file", "/v1/file/write", R"(,"path":"new.txt","content":"x")", 202},
};

class WorkerDeath : public testing::TestWithParam<Asked> {
 protected:
  static constexpr std::size_t kClients = 4;

  void SetUp() override {
    agent.makeRepository();
    ASSERT_EQ(ask().status, GetParam().status);
  }
  void TearDown() override {
    over = true;
    for (auto& client : clients) client.join();
    EXPECT_EQ(unexpected, "");
    EXPECT_EQ(broker.log().find("worker_misbehaved"), std::string::npos);
  }

  Reply ask() {
    return broker.post(GetParam().route, R"({"workspace":"demo")" + std::string(GetParam().members) + "}",
                       agent.token(), uniqueKey());
  }
  void keepAsking(std::size_t client) {
    while (!over) {
      const auto reply = ask();
      // Two on one file, or too many a second: neither is the worker's.
      const bool other = reply.code() == "resource_busy" || reply.code() == "rate_limited";
      ++answered[client];
      if (reply.status == GetParam().status || other) continue;
      const std::lock_guard lock(mutex);
      unexpected = reply.body + std::to_string(reply.status);
    }
  }
  std::size_t answers() const {
    std::size_t sum = 0;
    for (const auto& each : answered) sum += each;
    return sum;
  }
  // Nobody is left who was under way when it was called.
  bool allAnswered() const {
    std::array<std::size_t, kClients> before{};
    for (std::size_t i = 0; i < kClients; ++i) before[i] = answered[i];
    return eventually([&]() {
      for (std::size_t i = 0; i < kClients; ++i)
        if (answered[i] < before[i] + 2) return false;
      return true;
    });
  }

  LiveBroker broker;
  GitAgent agent{broker};
  std::atomic<bool> over = false;
  std::array<std::atomic<std::size_t>, kClients> answered{};
  std::vector<std::thread> clients;
  std::mutex mutex;
  std::string unexpected;
};

TEST_P(WorkerDeath, AtAnyMomentCostsNobodyWhoAsksAnAnswer) {
  // Of proposals only so many may wait.
  const std::size_t kills = GetParam().status == 202 ? 3 : 20;
  for (std::size_t i = 0; i < kClients; ++i) clients.emplace_back([this, i]() { keepAsking(i); });
  for (std::size_t kill = 0; kill < kills; ++kill) {
    ASSERT_TRUE(allAnswered());
    const std::size_t base = answers();
    ASSERT_TRUE(eventually([&]() { return answers() >= base + kill % kClients; }));
    const pid_t worker = broker.child(GetParam().worker);
    ASSERT_GT(worker, 0);
    ASSERT_EQ(::kill(worker, SIGKILL), 0);
  }
  EXPECT_TRUE(allAnswered());
}

INSTANTIATE_TEST_SUITE_P(Families, WorkerDeath, testing::ValuesIn(kAsked),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace factionos::test
