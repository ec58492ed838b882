// The front in its real place: what a hostile or clumsy client gets.
#include <filesystem>

#include <sys/stat.h>

#include "live_broker.h"

namespace factionos::test {
namespace {

TEST(Api, P85_F1_AForeignHostOrOriginOrNoTokenIsRefused) {
  LiveBroker broker;
  const auto token = broker.token();
  const Headers auth{{"Authorization", "Bearer " + token}};
  const auto with = [&](Headers more) {
    more.insert(more.end(), auth.begin(), auth.end());
    return request(broker.port(), "GET", "/v1/diagnostics", "", more);
  };
  EXPECT_EQ(with({}).status, 200);
  for (const std::string host :
       {"evil.example", "localhost.evil.com", "127.0.0.1.nip.io", "0x7f000001", "localhost6"}) {
    const auto reply = with({{"Host", host}});
    EXPECT_EQ(reply.status, 403) << host;
    EXPECT_EQ(reply.code(), "host_refused") << host;
  }
  EXPECT_EQ(with({{"Origin", "https://evil.example"}}).code(), "origin_refused");
  EXPECT_EQ(with({{"Origin", "null"}}).code(), "origin_refused");
  EXPECT_EQ(request(broker.port(), "GET", "/v1/diagnostics", "", {}).status, 401);
  EXPECT_EQ(broker.get("/v1/diagnostics", "fos_" + std::string(43, 'A')).status, 401);
}

TEST(Api, F2_ACrossSitePostIsRefusedBeforeItsBody) {
  LiveBroker broker;
  const auto reply =
      request(broker.port(), "POST", "/event", "{not json",
              {{"Origin", "https://evil.example"}, {"Authorization", "Bearer " + broker.token()}});
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.code(), "origin_refused");
}

TEST(Api, F13_WhatIsNotThereAnswersTheSameBytesEveryTime) {
  LiveBroker broker;
  const auto token = broker.token();
  for (const std::string target : {"/v1/git/rebase", "/v1/file/open", "/v1/container/build", "/v1/remote/x/y",
                                   "/v1/hosted/z", "/v1/hook/decision"}) {
    const auto first = broker.post(target, R"({"secret":"canary"})", token, "k");
    const auto second = broker.post(target, "{", token);
    EXPECT_EQ(first.status, 501) << target;
    EXPECT_EQ(first.body, second.body) << target;
    EXPECT_EQ(first.body.find("canary"), std::string::npos);
    EXPECT_EQ(request(broker.port(), "POST", target, "{}", {}).status, 401) << "auth comes first";
  }
  EXPECT_EQ(broker.get("/v1/nothing", token).status, 404);
  EXPECT_EQ(broker.post("/v1/git/frobnicate", "{}", token).status, 404);
}

TEST(Api, F11_AGetHasNoEffect) {
  LiveBroker broker;
  const auto reply = broker.get("/v1/terminal/run", broker.token());
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.headers.at("allow"), "POST");
}

struct Bad {
  const char* body;
  int status;
  const char* code;
  const char* field;
};

TEST(Api, BadInputOfEveryKindHasItsCodeAndEchoesNothing) {
  LiveBroker broker;
  const auto token = broker.token();
  for (const auto& bad :
       {Bad{"{", 400, "invalid_json", ""},
        Bad{R"({"workspace":"demo","workspace":"demo"})", 400, "invalid_json", "workspace"},
        Bad{R"({"workspace":7,"command":["x"]})", 400, "invalid_request", "workspace"},
        Bad{R"({"command":["x"]})", 400, "invalid_request", "workspace"},
        Bad{R"({"workspace":"demo","command":["x"],"cwd":"/canary"})", 400, "blocked_field", "cwd"},
        Bad{R"({"workspace":"demo","command":["x"],"env":{"A":"canary"}})", 400, "blocked_field", "env"},
        Bad{R"({"workspace":"demo","command":["x"],"disable":"canary"})", 400, "blocked_field", "disable"},
        Bad{R"({"workspace":"demo","command":["x"],"canary":1})", 400, "invalid_request", ""},
        Bad{R"({"workspace":"demo","command":["x\u0000canary"]})", 400, "invalid_request", "command[]"},
        Bad{R"({"workspace":"demo","command":["x"],"cols":100000})", 400, "invalid_request", "cols"},
        Bad{R"({"workspace":"nowhere","command":["x"]})", 404, "not_found", "workspace"},
        Bad{R"({"workspace":"demo","command":["/canary/program"]})", 422, "scope_violation", "command"},
        Bad{R"({"workspace":"demo","command":["../canary"]})", 422, "scope_violation", "command"},
        Bad{R"({"workspace":"demo","command":[]})", 400, "invalid_request", "command"}}) {
    const auto reply = broker.post("/v1/terminal/run", bad.body, token, "bad");
    EXPECT_EQ(reply.status, bad.status) << bad.body << reply.body;
    EXPECT_EQ(reply.code(), bad.code) << bad.body;
    EXPECT_EQ(reply.at("/field"), bad.field) << bad.body;
    EXPECT_EQ(reply.body.find("canary"), std::string::npos) << reply.body;
    EXPECT_FALSE(reply.at("/recovery").empty());
    EXPECT_EQ(reply.headers.at("content-type"), "application/problem+json");
  }
  EXPECT_EQ(broker.get("/v1/actions", token).at("/actions"), "[]");
}

TEST(Api, ScopesAreEnforced) {
  LiveBroker broker;
  const auto reader = broker.token("read", "reader");
  EXPECT_EQ(broker.propose(R"("command":["true"])", reader, "k").status, 403);
  EXPECT_EQ(broker.get("/v1/diagnostics", broker.token("propose", "proposer")).status, 403);
  EXPECT_EQ(broker.post("/event", R"({"hook_event_name":"Stop"})", reader).status, 403);
}

TEST(Api, ARevokedTokenIsGoneAtOnce) {
  LiveBroker broker;
  const auto token = broker.token("read", "short");
  EXPECT_EQ(broker.get("/v1/diagnostics", token).status, 200);
  ASSERT_EQ(broker.cli({"token", "revoke", "short"}).status, 0);
  EXPECT_TRUE(eventually([&]() { return broker.get("/v1/diagnostics", token).status == 401; }, 3));
}

TEST(Api, EventsAreTakenBoundedAndRecognisedByContent) {
  LiveBroker broker;
  const auto token = broker.token("ingest", "hook");
  const std::string event =
      R"({"session_id":"canary-session","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"canary"},"new_key":[1]})";
  const auto first = broker.post("/event", event, token);
  EXPECT_EQ(first.status, 202) << first.body;
  EXPECT_EQ(first.at("/accepted"), "true");
  EXPECT_EQ(first.body.find("canary"), std::string::npos);
  const auto again = broker.post("/event", event, token);
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(again.at("/accepted"), "false");
  EXPECT_EQ(again.at("/eventId"), first.at("/eventId"));
  EXPECT_EQ(broker.post("/event", R"({"hook_event_name":"PostModelSwitch","x":{}})", token).status, 202);
  EXPECT_EQ(
      broker
          .post("/event", R"({"source":"codex","event":"Stop","payload":{"hook_event_name":"Stop"}})", token)
          .status,
      202);
  EXPECT_EQ(broker.post("/event", "{broken", token).code(), "invalid_json");
  broker.stop();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(broker.home())) {
    if (entry.is_regular_file()) {
      EXPECT_EQ(readFile(entry.path()).find("canary"), std::string::npos) << entry.path();
    }
  }
}

TEST(Api, TheUnixSocketKnowsItsPeer) {
  LiveBroker broker;
  const auto socket = broker.home() + "/run/api.sock";
  EXPECT_EQ(requestUnix(socket, "GET", "/v1/diagnostics", "", {}).status, 200);
  EXPECT_EQ(requestUnix(socket, "POST", "/event", "{}", {}).status, 403)
      << "an uid alone gives read and propose";
  struct stat status {};
  ASSERT_EQ(::stat(socket.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Api, F5_AHomeThatIsNotSafeIsRefused) {
  LiveBroker broker;
  broker.stop();
  ::chmod((broker.home() + "/config.toml").c_str(), 0644);
  const auto refused = broker.cli({"serve", "--listen", "127.0.0.1:0"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("config.toml"), std::string::npos) << refused.err;
  ::chmod((broker.home() + "/config.toml").c_str(), 0600);
  EXPECT_EQ(broker.cli({"serve", "--listen", "0.0.0.0:0"}).status, 1);
  broker.start();
}

TEST(Api, DiagnosticsMutateNothingAndTellThePosture) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto before = broker.cli({"audit", "verify", "--json"}).out;
  const auto reply = broker.get("/v1/diagnostics", token);
  EXPECT_EQ(reply.at("/diagnostics/approvalSeparation"), "none");
  EXPECT_EQ(reply.at("/diagnostics/families/2/family"), "terminal");
  EXPECT_EQ(reply.at("/diagnostics/families/2/status"), "available");
  EXPECT_EQ(reply.at("/diagnostics/families/4/status"), "unavailable");
  EXPECT_EQ(broker.cli({"audit", "verify", "--json"}).out, before);
}

TEST(Api, PostureIsThatOfTheKernelThatTheBrokerRunsOn) {
  LiveBroker broker(test::Setup{.kernel = test::Setup::Kernel::kNoUserNamespaces});
  const auto reply = broker.get("/v1/diagnostics", broker.token());
  EXPECT_EQ(reply.at("/diagnostics/sandbox/status"), "available");
  EXPECT_EQ(reply.at("/diagnostics/sandbox/proc"), "proc_shared");
  EXPECT_NE(reply.at("/diagnostics/sandbox/cleanup"), "pid_namespace");
  EXPECT_EQ(reply.at("/diagnostics/sandbox/reasons/0"), "user_namespace:EPERM");
}

}  // namespace
}  // namespace factionos::test
