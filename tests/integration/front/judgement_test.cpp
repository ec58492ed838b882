// What is judged before a route is reached, and in which order.
#include <algorithm>
#include <random>
#include <set>

#include "protocol/json/routes.h"
#include "tests/integration/front/fixture.h"

namespace factionos::front::test {
namespace {

constexpr std::string_view kBadToken = "not-a-token";
constexpr std::string_view kOrigin = "https://dash.example:8443";

std::string withHost(std::string_view host, std::string_view target = "/v1/terminal/run") {
  std::string text = "POST " + std::string(target) + " HTTP/1.1\r\nHost: " + std::string(host) + "\r\n";
  return text + "Authorization: Bearer " + std::string(kGoodToken) + "\r\nIdempotency-Key: k\r\n" +
         std::string(kJson) + "Content-Length: 2\r\n\r\n{}";
}

class Judgement : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    BrokerOptions options = withTokens();
    options.allowedOrigins = {std::string(kOrigin)};
    options.allowedHosts = {"dev.box"};
    running_ = std::make_unique<Running>(options);
    running_->broker.publishRevision(1);
  }
  static void TearDownTestSuite() { running_.reset(); }
  void SetUp() override { callsBefore_ = asked().calls; }

  static Running& running() { return *running_; }
  static Asked& asked() { return running_->broker.asked(); }
  [[nodiscard]] int calls() const { return asked().calls - callsBefore_; }

 private:
  static std::unique_ptr<Running> running_;
  int callsBefore_ = 0;
};
std::unique_ptr<Running> Judgement::running_;

TEST_F(Judgement, F1_AForeignHostIsRefusedWhateverTheToken) {
  for (const char* host : {"evil.example", "evil.example:4519", "localhost.evil.com", "127.0.0.1.nip.io",
                           "0x7f000001", "localhost6", ""}) {
    const Answer answer = running().ask(withHost(host));
    EXPECT_EQ(answer.status, 403) << host;
    EXPECT_NE(answer.body.find("\"host_refused\""), std::string::npos) << host;
    EXPECT_EQ(answer.body.find("evil"), std::string::npos);
    EXPECT_EQ(answer.field("connection"), "close");
  }
  EXPECT_EQ(
      running().ask("POST /v1/terminal/run HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n").status,
      400);
  EXPECT_EQ(
      running().ask("POST http://evil.example/v1/terminal/run HTTP/1.1\r\nHost: localhost\r\n\r\n").status,
      400);
  EXPECT_EQ(calls(), 0);
  for (const char* host : {"localhost", "127.0.0.1:9", "[::1]:4519", "dev.box:1"})
    EXPECT_EQ(running().ask(withHost(host)).status, 400) << host;  // the body lacks a workspace: it was read
}

TEST_F(Judgement, F2_ACrossSitePostIsRefusedBeforeItsBodyIsRead) {
  const Answer answer =
      running().ask(request("POST", "/event", kGoodToken,
                            "Origin: https://evil.example\r\nContent-Type: text/plain\r\n", "not json"));
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("\"origin_refused\""), std::string::npos);
  // It says so without a byte of the body, and without knowing who asks.
  RawClient client = running().client();
  client.send(
      "POST /event HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nContent-Length: "
      "1000\r\n\r\n");
  EXPECT_EQ(client.read().status, 403);
  EXPECT_EQ(calls(), 0);
}

TEST_F(Judgement, F3_AWebSocketFromAForeignPageIsRefused) {
  constexpr std::string_view kHandshake =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  for (const char* origin : {"https://evil.example", "null", "http://localhost:1"}) {
    for (const std::string_view token : {std::string_view(), kGoodToken}) {
      const std::string lines = std::string(kHandshake) + "Origin: " + origin + "\r\n";
      EXPECT_EQ(running().ask(request("GET", "/v1/stream", token, lines)).status, 403) << origin;
    }
  }
  const std::string lines = std::string(kHandshake) + "Origin: " + std::string(kOrigin) + "\r\n";
  EXPECT_EQ(running().ask(request("GET", "/v1/stream", "", lines)).status, 101) << "the control";
}

TEST_F(Judgement, F4_CorsIsForListedOriginsAndNeverWithCredentials) {
  const auto preflight = [](std::string_view origin) {
    return request(
        "OPTIONS", "/v1/terminal/run", "",
        "Origin: " + std::string(origin) +
            "\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n");
  };
  const Answer foreign = running().ask(preflight("https://evil.example"));
  EXPECT_EQ(foreign.status, 403);
  EXPECT_EQ(foreign.field("access-control-allow-origin"), "");
  const Answer listed = running().ask(preflight(kOrigin));
  EXPECT_EQ(listed.status, 204);
  EXPECT_EQ(listed.field("access-control-allow-origin"), kOrigin);
  EXPECT_EQ(listed.field("access-control-allow-credentials"), "");
  EXPECT_EQ(listed.field("vary"), "Origin");
  const Answer read = running().ask(
      request("GET", "/v1/diagnostics", kGoodToken, "Origin: " + std::string(kOrigin) + "\r\n"));
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.field("access-control-allow-origin"), kOrigin);
  EXPECT_EQ(read.field("access-control-allow-credentials"), "");
  const Answer stream =
      running().ask(request("GET", "/v1/stream/sse", kGoodToken, "Origin: " + std::string(kOrigin) + "\r\n"));
  EXPECT_EQ(stream.field("access-control-allow-origin"), kOrigin);
  EXPECT_EQ(running().ask(request("OPTIONS", "/v1/diagnostics", "")).status, 401)
      << "no origin: a request like another";
}

TEST_F(Judgement, F6_TheUnixPeerIsJudgedByTheBrokerFromTheConnectionItself) {
  const auto ask = [] {
    RawClient client = RawClient::unixSocket(running().broker.socketPath());
    client.send(request("GET", "/v1/diagnostics", ""));
    client.send(request("GET", "/v1/diagnostics", ""));
    EXPECT_EQ(client.read().status, client.read().status);
    client.send(request("GET", "/v1/diagnostics", kGoodToken));
    const int withToken = client.read().status;
    client.send(request("GET", "/v1/diagnostics", ""));
    return std::pair(client.read().status, withToken);
  };
  const int peersBefore = asked().peers;
  EXPECT_EQ(ask(), std::pair(200, 200));
  EXPECT_EQ(asked().peers - peersBefore, 1) << "once a connection";
  EXPECT_EQ(asked().lastUser, getuid());
  running().broker.change([](BrokerOptions& options) { options.users.clear(); });
  EXPECT_EQ(ask(), std::pair(403, 200)) << "a user who is not listed; its token wins";
  running().broker.change([](BrokerOptions& options) { options.users = {getuid()}; });
  EXPECT_EQ(running().ask(request("GET", "/v1/diagnostics", "")).status, 401) << "TCP has no peer";
}

TEST_F(Judgement, F11_AReadNeverReachesARouteThatChangesSomething) {
  const json::RouteTable table;
  for (const auto& route : table.routes()) {
    if (route.method != schema::Method::POST) continue;
    std::string path(route.path);
    if (const auto open = path.find('{'); open != path.npos)
      path.replace(open, path.find('}') - open + 1, "act_0000000000000000000000000");
    // The same path may be read too, by a route of its own.
    const bool read = std::ranges::any_of(table.routes(), [&route](const json::Route& each) {
      return each.path == route.path && each.method == schema::Method::GET;
    });
    for (const std::string_view method : {"GET", "HEAD", "PUT", "DELETE", "FROB", "get"}) {
      if (read && (method == "GET" || method == "HEAD")) {
        EXPECT_EQ(table.match(method, path).route->effect, json::Effect::kReadOnly) << path;
        continue;
      }
      const Answer answer = running().ask(request(method, path, kGoodToken, "Idempotency-Key: k\r\n"));
      EXPECT_EQ(answer.status, 405) << method << " " << path;
      EXPECT_EQ(answer.field("allow"), read ? "GET, HEAD, POST" : "POST") << method << " " << path;
    }
  }
  EXPECT_EQ(calls(), 0);
}

TEST_F(Judgement, F13_UnknownIs404DeclaredIs501AndNobodyLearnsEitherWithoutAToken) {
  std::mt19937 random(4519);
  std::set<std::string> bodies;
  for (int i = 0; i < 50; ++i) {
    const std::string path =
        "/v1/" + std::to_string(random()) + (i % 2 == 0 ? "" : "/" + std::to_string(random()));
    const Answer answer = running().ask(request(i % 3 == 0 ? "POST" : "GET", path, kGoodToken));
    EXPECT_EQ(answer.status, 404) << path;
    bodies.insert(answer.body);
    EXPECT_EQ(running().ask(request("GET", path, "")).status, 401) << path;
  }
  EXPECT_EQ(bodies.size(), 1U) << "nothing of the path is echoed";
  for (const char* path :
       {"/v1/remote/anything/at/all", "/v1/hosted/x", "/v1/git/rebase", "/v1/container/exec"}) {
    std::set<std::string> envelopes;
    for (const char* body : {"{}", "not json", "{\"canary\":\"canary-501\"}"}) {
      Answer answer = running().ask(request("POST", path, kGoodToken, kJson, body));
      EXPECT_EQ(answer.status, 501) << path;
      const std::string id = answer.field("x-request-id");
      answer.head.erase(answer.head.find(id), id.size());
      envelopes.insert(answer.head + answer.body);
    }
    EXPECT_EQ(envelopes.size(), 1U) << "the same bytes but for the request's id";
    EXPECT_EQ(envelopes.begin()->find("canary"), std::string::npos);
    EXPECT_EQ(running().ask(request("POST", path, "", kJson, "{}")).status, 401) << path;
  }
}

TEST_F(Judgement, TheOrderIsHostOriginAuthUnavailableMethodScopeKeyTypeSize) {
  const auto status = [](std::string_view text) { return running().ask(text).status; };
  const std::string foreign = "Origin: https://evil.example\r\n";
  EXPECT_EQ(status("POST /v1/git/merge HTTP/1.1\r\nHost: evil.example\r\n" + foreign + "\r\n"), 403);
  EXPECT_EQ(status(request("POST", "/v1/git/merge", "", foreign)), 403);
  EXPECT_EQ(status(request("POST", "/v1/git/merge", kBadToken)), 401);
  EXPECT_EQ(status(request("POST", "/v1/git/merge", "producer", "Content-Type: text/plain\r\n", "x")), 501);
  EXPECT_EQ(status(request("GET", "/v1/terminal/run", "producer")), 405);
  EXPECT_EQ(status(request("POST", "/v1/terminal/run", "producer", "Content-Type: text/plain\r\n", "x")),
            403);
  EXPECT_EQ(status(request("POST", "/v1/terminal/run", kGoodToken, "Content-Type: text/plain\r\n", "x")),
            400);
  EXPECT_EQ(status(request("POST", "/v1/terminal/run", kGoodToken,
                           "Idempotency-Key: k\r\nContent-Type: text/plain\r\n", "x")),
            415);
  EXPECT_EQ(calls(), 0);
}

TEST_F(Judgement, TheScopeOfTheRouteIsNeeded) {
  const auto status = [](std::string_view text) { return running().ask(text).status; };
  EXPECT_EQ(status(request("GET", "/v1/diagnostics", "reader")), 200);
  EXPECT_EQ(status(request("GET", "/v1/diagnostics", "producer")), 403);
  EXPECT_EQ(status(request("POST", "/event", "producer", kJson, "{}")), 202);
  EXPECT_EQ(status(request("POST", "/event", "reader", kJson, "{}")), 403);
  EXPECT_EQ(status(request("GET", "/healthz", "")), 200);
  for (const char* path : {"/readyz", "/metrics", "/openapi.json", "/v1/stream/sse"}) {
    EXPECT_EQ(status(request("GET", path, "")), 401) << path;
    EXPECT_EQ(status(request("GET", path, "producer")), 403) << path;
  }
  EXPECT_EQ(status(request("GET", "/v1/stream", "")), 401) << "no handshake: a request like another";
  EXPECT_EQ(status(request("GET", "/v1/stream", "reader")), 400);
}

TEST_F(Judgement, CredentialsInAnyOtherFormAreNone) {
  const auto status = [](std::string_view lines, std::string_view target = "/v1/diagnostics") {
    return running().ask(request("GET", target, "", lines)).status;
  };
  const std::string good(kGoodToken);
  EXPECT_EQ(status("Authorization: bearer " + good + "\r\n"), 200)
      << "the control: the scheme's case is free";
  EXPECT_EQ(status("Authorization: Basic " + good + "\r\n"), 401);
  EXPECT_EQ(status("Authorization: " + good + "\r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer \r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer " + good + " x\r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer " + good + "\r\nAuthorization: Bearer " + good + "\r\n"), 401);
  EXPECT_EQ(status("Cookie: token=" + good + "\r\nX-Api-Key: " + good + "\r\n"), 401);
  EXPECT_EQ(status("", "/v1/diagnostics?token=" + good), 401);
  const Answer refused = running().ask(request("GET", "/v1/diagnostics", kBadToken));
  EXPECT_EQ(refused.field("www-authenticate"), "Bearer");
  EXPECT_EQ(refused.body.find(kBadToken), std::string::npos);
}

TEST_F(Judgement, AMutationNeedsAKeyOfVisibleAscii) {
  const auto ask = [](std::string_view lines) {
    return running().ask(
        request("POST", "/v1/terminal/run", kGoodToken, std::string(kJson) + std::string(lines), "{}"));
  };
  for (const std::string& lines :
       {std::string(), std::string("Idempotency-Key: \r\n"), std::string("Idempotency-Key: a b\r\n"),
        std::string("Idempotency-Key: a\r\nIdempotency-Key: a\r\n"),
        "Idempotency-Key: " + std::string(256, 'k') + "\r\n", std::string("Idempotency-Key: \xc3\xa9\r\n")}) {
    const Answer answer = ask(lines);
    EXPECT_EQ(answer.status, 400) << lines;
    EXPECT_NE(answer.body.find("\"idempotency_key_required\""), std::string::npos) << lines;
  }
  EXPECT_EQ(calls(), 0);
  EXPECT_NE(ask("Idempotency-Key: " + std::string(255, 'k') + "\r\n").body.find("invalid_request"),
            std::string::npos)
      << "the control: the body was looked at";
}

TEST_F(Judgement, ABodyIsJsonOrRefused) {
  const auto status = [](std::string_view type) {
    return running().ask(request("POST", "/event", kGoodToken, type, "{}")).status;
  };
  for (const char* type :
       {"application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""})
    EXPECT_EQ(status("Content-Type: " + std::string(type) + "\r\n"), 202) << type;
  for (const char* type : {"text/plain", "application/jsonp", "application/json; charset=latin1", "text/json",
                           "multipart/form-data", "application/json, text/plain"})
    EXPECT_EQ(status("Content-Type: " + std::string(type) + "\r\n"), 415) << type;
  EXPECT_EQ(status(""), 415);
  EXPECT_EQ(status("Content-Type: application/json\r\nContent-Type: text/plain\r\n"), 415);
}

}  // namespace
}  // namespace factionos::front::test
