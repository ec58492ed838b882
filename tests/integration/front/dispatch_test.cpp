// What becomes of the broker's answers, and what the front answers without it.
#include "tests/integration/front/fixture.h"

namespace factionos::front::test {
namespace {

std::string run(std::string_view key) {
  return request("POST", "/v1/terminal/run", kGoodToken,
                 std::string(kJson) + "Idempotency-Key: " + std::string(key) + "\r\n",
                 R"({"workspace":"demo","command":["true"]})");
}

std::string action(std::string_view query = {}, std::string_view token = kGoodToken) {
  return request("GET", "/v1/actions/act_00000000000000000000000000" + std::string(query), token);
}

TEST(Dispatch, TheBrokersAnswerSetsStatusBodyAndHeaders) {
  Running running;
  const Answer done = running.ask(run("first"));
  EXPECT_EQ(done.status, 201);
  EXPECT_EQ(done.field("content-type"), "application/json");
  EXPECT_NE(done.body.find(R"("action":{"id":"act_)"), std::string::npos);
  EXPECT_EQ(done.field("idempotency-replayed"), "");
  EXPECT_EQ(running.ask(run("waits")).status, 202);
  EXPECT_EQ(running.ask(run("again")).field("idempotency-replayed"), "true");
  const Answer busy = running.ask(run("busy"));
  EXPECT_EQ(busy.status, 409);
  EXPECT_EQ(busy.field("retry-after"), "2");
  EXPECT_NE(busy.body.find(R"("in_flight")"), std::string::npos);
  EXPECT_NE(busy.body.find(R"("retryAfterMs":1500)"), std::string::npos);
}

TEST(Dispatch, AnExceptionOfTheBrokerIsA500WithoutItsText) {
  Running running;
  const Answer answer = running.ask(run("broken"));
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body.find("canary"), std::string::npos);
  EXPECT_EQ(answer.body.find("capnp"), std::string::npos);
  EXPECT_EQ(running.ask(request("GET", "/v1/audit", kGoodToken)).status, 500)
      << "not implemented by this broker";
  EXPECT_EQ(running.ask(get()).status, 200);
}

TEST(Dispatch, WhatTheSchemaRefusesNeverReachesTheBroker) {
  Running running;
  const auto status = [&](std::string_view body) {
    return running
        .ask(request("POST", "/v1/terminal/run", kGoodToken, std::string(kJson) + "Idempotency-Key: k\r\n",
                     body))
        .status;
  };
  EXPECT_EQ(status("{"), 400);
  EXPECT_EQ(status("[]"), 400);
  EXPECT_EQ(status(R"({"workspace":"demo","command":["true"],"cwd":"/"})"), 400);
  EXPECT_EQ(running.ask(action("?waitMs=60001")).status, 400);
  EXPECT_EQ(running.ask(action("?nothing=1")).status, 400);
  EXPECT_EQ(running.ask(request("GET", "/v1/diagnostics?x=1", kGoodToken)).status, 400);
  EXPECT_EQ(running.broker.asked().calls, 0);
}

TEST(Dispatch, SnapshotsAreServedWithoutTheBroker) {
  Running running;
  for (const char* path : {"/v1/diagnostics", "/v1/command-center", "/v1/terminal/sessions", "/readyz"}) {
    const Answer answer = running.ask(request("GET", path, kGoodToken));
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_NE(answer.body.find(R"("not_ready")"), std::string::npos) << path;
  }
  running.broker.publishRevision(7);
  EXPECT_EQ(running.ask(request("GET", "/readyz", kGoodToken)).body, R"({"ready":true})");
  EXPECT_NE(running.ask(request("GET", "/v1/command-center", kGoodToken))
                .body.find(R"({"commandCenter":{"revision":7)"),
            std::string::npos);
  EXPECT_EQ(running.ask(request("GET", "/v1/terminal/sessions", kGoodToken)).body, R"({"sessions":[]})");
  running.broker.publishRevision(8);
  EXPECT_NE(running.ask(request("GET", "/v1/command-center", kGoodToken)).body.find(R"("revision":8)"),
            std::string::npos);
  EXPECT_EQ(running.broker.asked().calls, 0);
  const Answer head = running.ask(request("HEAD", "/v1/command-center", kGoodToken));
  EXPECT_EQ(head.status, 200);
  EXPECT_NE(head.field("content-length"), "0");
}

TEST(Dispatch, MetricsCountByTemplateAndClassAlone) {
  Running running;
  running.broker.publishRevision(1);
  running.ask(action());
  running.ask(action("", "bad"));
  running.ask(request("GET", "/v1/canary-path", kGoodToken));
  running.ask(run("k"));
  const std::string text = running.ask(request("GET", "/metrics", "reader")).body;
  EXPECT_NE(text.find("factionos_http_requests_total{route=\"/v1/actions/{id}\",class=\"2xx\"} 1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("{route=\"/v1/terminal/run\",class=\"2xx\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("{route=\"none\",class=\"4xx\"} 2\n"), std::string::npos);
  EXPECT_NE(text.find("factionos_actions_waiting 3\n"), std::string::npos);
  EXPECT_NE(text.find("factionos_ready 1\n"), std::string::npos);
  EXPECT_NE(text.find("factionos_http_failures_total 0\n"), std::string::npos);
  EXPECT_EQ(text.find("canary"), std::string::npos);
}

TEST(Dispatch, TheDocumentIsServed) {
  Running running;
  const Answer answer = running.ask(request("GET", "/openapi.json", "reader"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("0.0.0-test"), std::string::npos);
  EXPECT_NE(answer.body.find("/v1/terminal/run"), std::string::npos);
}

TEST(Dispatch, ALongPollEndsWhenItsClientLeaves) {
  Running running;
  Asked& asked = running.broker.asked();
  for (const bool half : {false, true}) {
    RawClient client = running.client();
    client.send(action("?waitMs=60000"));
    ASSERT_TRUE(asked.eventually([&] { return asked.waiting == 1; }));
    if (half) {
      client.finish();
    } else {
      client.close();
    }
    EXPECT_TRUE(asked.eventually([&] { return asked.waiting == 0; })) << "half closed: " << half;
  }
  // What a client pipelines behind a long poll is read on, up to a bound, and its leaving still noticed.
  RawClient client = running.client();
  client.send(action("?waitMs=60000") + get() + get());
  ASSERT_TRUE(asked.eventually([&] { return asked.waiting == 1; }));
  client.close();
  EXPECT_TRUE(asked.eventually([&] { return asked.waiting == 0; }));
}

TEST(Dispatch, AHalfClosedClientStillGetsItsAnswer) {
  Running running;
  RawClient client = running.client();
  client.send(action());
  client.finish();
  EXPECT_EQ(cutAnswers(client.readToEnd()).at(0).status, 200);
}

TEST(Dispatch, LoginsAreAskedOnceAndForgottenWhenTheBrokerSaysSo) {
  Running running;
  Asked& asked = running.broker.asked();
  running.broker.publishRevision(1, 1);
  const int before = asked.logins;
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(running.ask(request("GET", "/v1/diagnostics", kGoodToken)).status, 200);
  EXPECT_EQ(asked.logins - before, 1);
  running.broker.change([](BrokerOptions& options) { options.tokens.erase(std::string(kGoodToken)); });
  EXPECT_EQ(running.ask(request("GET", "/v1/diagnostics", kGoodToken)).status, 200) << "not yet told";
  running.broker.publishRevision(2, 2);
  EXPECT_EQ(running.ask(request("GET", "/v1/diagnostics", kGoodToken)).status, 401);
}

TEST(Dispatch, GuessingTokensIsBoundedAndKnownTokensPassMeanwhile) {
  Running running;
  running.broker.publishRevision(1);
  ASSERT_EQ(running.ask(request("GET", "/v1/diagnostics", kGoodToken)).status, 200);
  Asked& asked = running.broker.asked();
  const int before = asked.logins;
  int limited = 0;
  for (int i = 0; i < 200; ++i) {
    const Answer answer = running.ask(request("GET", "/v1/diagnostics", "guess-" + std::to_string(i)));
    if (answer.status != 429) continue;
    ++limited;
    EXPECT_EQ(answer.field("retry-after"), "1");
  }
  EXPECT_GT(limited, 100);
  EXPECT_LT(asked.logins - before, 100);
  EXPECT_EQ(running.ask(request("GET", "/v1/diagnostics", kGoodToken)).status, 200);
}

TEST(Dispatch, AWrongTokenIsNotAskedAboutTwiceInASecond) {
  Running running;
  Asked& asked = running.broker.asked();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(running.ask(request("GET", "/v1/diagnostics", "wrong")).status, 401);
  EXPECT_LE(asked.logins, 2) << "one, or two if the machine took more than a second";
}

}  // namespace
}  // namespace factionos::front::test
