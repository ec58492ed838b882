// Canaries in every field of every route of the product's own table, and in every place of HTTP and WebSocket
// that has no field. None may come back, and none may stay.
#include <unistd.h>

#include "tests/canary/sweep.h"

namespace factionos::test {
namespace {

class Routes : public Sweep {
 protected:
  // Something real of each kind, so that what is judged after the shape is reached too.
  std::string idFor(std::string_view path) {
    if (path.find("/sessions/") != path.npos) return liveSession();
    if (path.find("/actions/") != path.npos) {
      if (action_.empty()) action_ = propose(R"("command":["true"])", "routes-action");
      return action_;
    }
    return "act_" + std::string(26, '0');
  }

  // Takes what is typed and shows none of it.
  std::string liveSession() {
    if (!session_.empty() && detail(session_).at("/session/state") == "running") return session_;
    session_ = start(R"("shell":"stty -echo; echo ready; cat > /dev/null")",
                     "routes-session-" + std::to_string(canaries_.planted()));
    EXPECT_TRUE(shows(session_, "ready"));
    return session_;
  }

  void send(const Request& request) {
    auto reply = ask(request);
    // Who errs with credentials is told to wait.
    for (int i = 0; reply.status == 429 && i < 50; ++i) {
      ::usleep(static_cast<useconds_t>(reply.number("/retryAfterMs") * 1000));
      reply = ask(request);
    }
    // Nobody answered, broke, or would not look: nothing would be proven.
    for (const int status : {0, 429, 500, 503})
      EXPECT_NE(reply.status, status) << request.planted << reply.body;
  }

  void sendAll(const std::vector<Request>& requests) {
    EXPECT_FALSE(requests.empty());
    for (const auto& request : requests) send(request);
  }

  std::string session_;
  std::string action_;
  Requests requests_{canaries_, [this](std::string_view path) { return idFor(path); }};
};

TEST_F(Routes, NoFieldOfARouteComesBackOrStays) {
  makeRepository();
  const json::RouteTable table;
  for (const auto& route : table.routes()) sendAll(requests_.of(route));
}

TEST_F(Routes, NothingSentToWhatIsNotThereComesBackOrStays) {
  const json::RouteTable table;
  for (const auto& row : table.unavailable()) sendAll(requests_.of(row));
}

TEST_F(Routes, NothingSentToTheServicesComesBackOrStays) {
  for (const auto& service : json::RouteTable::services()) {
    const auto requests = requests_.of(service);
    if (service.service != json::Service::kStreamSse) {
      sendAll(requests);
      continue;
    }
    // A stream of events ends when its reader goes.
    for (const auto& request : requests) {
      std::string head = "GET " + request.target + " HTTP/1.1\r\n";
      for (const auto& [name, value] : request.headers) head += name + ": " + value + "\r\n";
      if (head.find("\r\nHost:") == head.npos) head += "Host: localhost\r\n";
      const auto answer = rawAnswer(socket(), head + "\r\n");
      EXPECT_FALSE(answer.empty()) << request.planted;
      search(answer, {Boundary::kApiResponse, {}}, "a stream of events with a canary in " + request.planted);
    }
  }
}

// What no client that is well behaved sends.
TEST_F(Routes, NothingOfMalformedHttpComesBackOrStays) {
  const auto canary = [this](const char* where) { return plant(Category::kRequestBody, where); };
  const std::string rest =
      " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " + token() + "\r\n";
  const std::string chunked =
      "POST /event" + rest + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
  const std::vector<std::string> all{
      canary("a line that is no request") + "\r\n\r\n",
      canary("a method") + " /v1/actions" + rest + "\r\n",
      "GET http://" + canary("an absolute target's host") + "/v1/actions" + rest + "\r\n",
      "GET /" + canary("a path without a token") +
          " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      "GET /" + canary("a path") + rest + "\r\n",
      "GET /v1/actions?" + canary("a query") + "#" + canary("a fragment") + rest + "\r\n",
      "GET /v1/actions HTTP/" + canary("a version") + "\r\nHost: localhost\r\n\r\n",
      "GET /v1/actions" + rest + canary("a header's name") + ": x\r\n\r\n",
      "GET /v1/actions" + rest + "X: a\r\n " + canary("a folded header") + "\r\n\r\n",
      "GET /v1/actions" + rest + "Host: " + canary("a second host") + "\r\n\r\n",
      "POST /event" + rest + "Content-Length: " + canary("a length") + "\r\n\r\n",
      "POST /event" + rest + "Transfer-Encoding: " + canary("a coding") + "\r\n\r\n",
      "POST /event" + rest + "Content-Encoding: " + canary("an encoding") + "\r\nContent-Length: 2\r\n\r\n{}",
      "POST /event" + rest + "Expect: " + canary("an expectation") + "\r\nContent-Length: 2\r\n\r\n{}",
      chunked + "\r\n" + canary("a chunk's size") + "\r\n{}\r\n0\r\n\r\n",
      chunked + "\r\n2;" + canary("a chunk's extension") + "\r\n{}\r\n0\r\n\r\n",
      chunked + "\r\n2\r\n{}\r\n0\r\nX: " + canary("a trailer") + "\r\n\r\n",
      "GET /v1/stream" + rest + "Upgrade: " + canary("a protocol") + "\r\n\r\n",
  };
  for (const auto& bytes : all) {
    const auto answer = rawAnswer(socket(), bytes);
    search(answer, {Boundary::kApiError, {}}, bytes.substr(0, 40));
  }
}

TEST_F(Routes, NothingOfAWebSocketsFramesComesBackOrStays) {
  const std::string login = R"({"token":")" + token() + "\"}";
  const std::vector<std::vector<std::string>> all{
      {R"({"token":")" + plant(Category::kAuthorizationValue, "a first frame's token") + "\"}"},
      {plant(Category::kRequestBody, "a first frame that is no JSON")},
      {R"({")" + plant(Category::kRequestBody, "a first frame's member") + R"(":1})"},
      {R"({"token":")" + token() + R"(","after":")" + plant(Category::kRequestBody, "beside the token") +
       "\"}"},
      {login, plant(Category::kRequestBody, "a second frame")},
      {login, R"({")" + plant(Category::kRequestBody, "a second frame's member") + R"(":1})"},
  };
  for (const auto& frames : all) {
    const auto answer = webSocketAnswer(socket(), frames);
    EXPECT_NE(answer.find("101"), answer.npos);
    search(answer, {Boundary::kWebSocketFrame, {}}, "a WebSocket");
  }
}

}  // namespace
}  // namespace factionos::test
