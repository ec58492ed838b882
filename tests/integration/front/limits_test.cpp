// What a client can't take from others: time, connections, descriptors, memory.
#include <algorithm>
#include <chrono>
#include <list>

#include "tests/integration/front/fixture.h"
#include "tests/sanitizer_keeps.h"

namespace factionos::front::test {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

TEST(Limits, F9_SlowHeadersAreCutOffAndKeepNobodyWaiting) {
  BrokerOptions options = withTokens();
  options.headerTimeoutMs = 400;
  Running running(options);
  std::list<RawClient> slow;
  for (int i = 0; i < 200; ++i) slow.push_back(running.client());
  const auto begun = Clock::now();
  // One byte each, then another one whenever an ordinary request has been answered in between.
  const std::string header = get();
  std::chrono::milliseconds fastest = kPatience;
  for (std::size_t at = 0; at < 3; ++at) {
    for (RawClient& client : slow) client.send(header.substr(at, 1));
    const auto start = Clock::now();
    EXPECT_EQ(running.ask(get()).status, 200);
    fastest = std::min(fastest, since(start));
  }
  EXPECT_LT(fastest.count(), 200) << "the fastest, as other work on the machine is not the front's";
  for (RawClient& client : slow) {
    const auto answers = cutAnswers(client.readToEnd());
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].status, 408);
  }
  EXPECT_GE(since(begun).count(), 400) << "not before the deadline";
}

TEST(Limits, AConnectionThatSaysNothingIsClosedWithoutAWord) {
  BrokerOptions options = withTokens();
  options.headerTimeoutMs = 50;
  options.idleTimeoutMs = 50;
  Running running(options);
  EXPECT_EQ(running.client().readToEnd(), "");
  RawClient client = running.client();
  client.send(get());
  EXPECT_EQ(client.read().status, 200);
  EXPECT_EQ(client.readToEnd(), "") << "idle between two requests";
}

TEST(Limits, ASlowBodyIsCutOffByItsRateAndByItsDeadline) {
  BrokerOptions options = withTokens();
  options.bodyTimeoutMs = 1800;
  Running running(options);
  RawClient silent = running.client();
  auto start = Clock::now();
  silent.send(post("Content-Length: 100000\r\n", "{"));
  EXPECT_EQ(cutAnswers(silent.readToEnd()).at(0).status, 408);
  EXPECT_LT(since(start).count(), 1800) << "its first silent window ends it";
  // Fast enough for the rate, and too long all the same.
  RawClient steady = running.client();
  start = Clock::now();
  steady.send(post("Content-Length: 100000\r\n", "{"));
  bool open = true;
  while (open && since(start).count() < 10000) {
    steady.send(std::string(100, ' '));
    try {
      open = steady.fill(std::chrono::milliseconds(20)) && steady.buffered().empty();
    } catch (const std::runtime_error&) {
      // Nothing has come yet.
    }
  }
  EXPECT_EQ(steady.read().status, 408);
  EXPECT_GE(since(start).count(), 1800);
  EXPECT_EQ(running.broker.asked().calls, 0);
}

TEST(Limits, AFrontWithoutDescriptorsServesAgainWhenThereAreSome) {
  Running running(withTokens(), 40);
  std::list<RawClient> crowd;
  for (int i = 0; i < 80; ++i) crowd.push_back(running.client());  // the kernel takes them; the front can't
  crowd.front().send(get());
  EXPECT_EQ(crowd.front().read().status, 200) << "who is in is served";
  while (crowd.size() > 1) crowd.pop_back();
  EXPECT_EQ(running.ask(get()).status, 200);
}

TEST(Limits, TwentyThousandRequestsLeakNoDescriptor) {
  // 40 descriptors: a leak of one in five hundred requests would stop it.
  Running running(withTokens(), 40);
  running.broker.publishRevision(1);
  std::string batch;
  for (int i = 0; i < 100; ++i) batch += i % 2 == 0 ? get() : request("GET", "/v1/diagnostics", kGoodToken);
  for (int connection = 0; connection < 200; ++connection) {
    RawClient client =
        connection % 2 == 0 ? running.client() : RawClient::unixSocket(running.broker.socketPath());
    client.send(batch);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(client.read().status, 200);
  }
  for (int connection = 0; connection < 100; ++connection) {  // and each way of ending
    RawClient client = RawClient::unixSocket(running.broker.socketPath());
    client.send(connection % 3 == 0   ? "GET"
                : connection % 3 == 1 ? "\n"
                                      : request("GET", "/v1/diagnostics", ""));
    if (connection % 3 != 0) client.fill();
  }
  EXPECT_EQ(running.ask(get()).status, 200);
}

TEST(Limits, AboveItsNumberOfConnectionsWhoWaitsLongestGivesWay) {
  BrokerOptions options = withTokens();
  options.maxConnections = 8;
  Running running(options);
  std::list<RawClient> idle;
  for (int i = 0; i < 8; ++i) {
    idle.push_back(running.client());
    idle.back().send(get());
    EXPECT_EQ(idle.back().read().status, 200);
  }
  EXPECT_EQ(running.ask(get()).status, 200);
  EXPECT_EQ(idle.front().readToEnd(), "") << "the first, and no other";
  idle.back().send(get());
  EXPECT_EQ(idle.back().read().status, 200);
}

TEST(Limits, WhoIsBeingServedIsNotTurnedOut) {
  BrokerOptions options = withTokens();
  options.maxConnections = 4;
  Running running(options);
  std::list<RawClient> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(running.client());
    waiting.back().send(
        request("GET", "/v1/actions/act_00000000000000000000000000?waitMs=60000", kGoodToken));
  }
  ASSERT_TRUE(running.broker.asked().eventually([&] { return running.broker.asked().waiting == 4; }));
  RawClient late = running.client();
  late.send(get());
  EXPECT_EQ(late.readToEnd(), "");
  EXPECT_EQ(running.broker.asked().waiting, 4);
  waiting.pop_front();
  ASSERT_TRUE(running.broker.asked().eventually([&] { return running.broker.asked().waiting == 3; }));
}

TEST(Limits, AClientThatReadsNothingIsGivenUp) {
  BrokerOptions options = withTokens();
  options.writeTimeoutMs = 300;
  Running running(options);
  running.broker.publish([](schema::Snapshot::Builder snapshot) {
    auto sessions = snapshot.initSessions(20000);
    for (auto session : sessions) session.setId("ses_00000000000000000000000000");
  });
  RawClient client = running.client();
  client.send(request("GET", "/v1/terminal/sessions", kGoodToken) +
              request("GET", "/v1/terminal/sessions", kGoodToken) +
              request("GET", "/v1/terminal/sessions", kGoodToken) +
              request("GET", "/v1/terminal/sessions", kGoodToken));
  ASSERT_TRUE(client.fill());
  // The front's own count says when it has given up; nothing is read meanwhile.
  const auto open = [&] {
    const std::string text = running.ask(request("GET", "/metrics", kGoodToken)).body;
    const std::string name = "\nfactionos_http_connections ";
    return std::stoi(text.substr(text.find(name) + name.size()));
  };
  const auto start = Clock::now();
  while (open() > 1 && since(start).count() < 10000) {
  }
  EXPECT_EQ(open(), 1);
  EXPECT_GE(since(start).count(), 250);
}

TEST(Limits, F8_MemoryStaysBoundedWhateverComes) {
  Running running;
  running.broker.publishRevision(1);
  const long before = running.front.residentKiB();
  std::list<RawClient> crowd;
  for (int i = 0; i < 64; ++i) {
    crowd.push_back(running.client());
    // Announces the largest body and brings a tenth of it.
    crowd.back().send(post("Content-Length: 8388608\r\n", std::string(800000, ' ')));
  }
  for (int i = 0; i < 64; ++i)
    running.ask(post("Transfer-Encoding: chunked\r\n", "200000\r\n" + std::string(2097152, ' ')));
  EXPECT_EQ(running.ask(get()).status, 200);
  EXPECT_LT(running.front.residentKiB() - before, 96 * 1024 + kSanitizerKeepsKiB);
}

}  // namespace
}  // namespace factionos::front::test
