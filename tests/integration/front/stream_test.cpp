// The two streams: who gets in, what they send, and what no client can make them do.
#include "tests/integration/front/fixture.h"
#include "tests/integration/front/web_socket_client.h"
#include "tests/sanitizer_keeps.h"

namespace factionos::front::test {
namespace {

std::string hello(std::string_view token) {
  return R"({"token":")" + std::string(token) + R"("})";
}

class WebSocket : public testing::Test {
 protected:
  Running running;

  WebSocketClient connect(std::string_view lines = {}) { return WebSocketClient(running.client(), lines); }
  WebSocketClient live() {
    WebSocketClient client = connect();
    client.send(Opcode::kText, hello("reader"));
    EXPECT_EQ(client.read().opcode, Opcode::kText);
    return client;
  }
  static void expectRefused(WebSocketClient& client, int code) {
    const Frame last = client.read();
    EXPECT_EQ(last.opcode, Opcode::kClose);
    EXPECT_EQ(last.closeCode(), code) << last.closeReason();
    client.raw().finish();
    EXPECT_TRUE(client.endsNow());
  }
};

TEST_F(WebSocket, SendsTheSnapshotThenItsChanges) {
  running.broker.publishRevision(1);
  WebSocketClient client = connect();
  EXPECT_EQ(client.handshake().status, 101);
  EXPECT_EQ(client.handshake().field("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(client.handshake().field("sec-websocket-protocol"), "");
  client.send(Opcode::kText, hello("reader"));
  const std::string first = client.read().payload;
  EXPECT_TRUE(first.starts_with(R"({"type":"snapshot","revision":1,"commandCenter":{)")) << first;
  running.broker.publishRevision(2);
  const std::string second = client.read().payload;
  EXPECT_TRUE(second.starts_with(R"({"type":"change","revision":2,"commandCenter":{)")) << second;
  client.send(Opcode::kPing, "are you there");
  const Frame pong = client.read();
  EXPECT_EQ(pong.opcode, Opcode::kPong);
  EXPECT_EQ(pong.payload, "are you there");
  client.send(Opcode::kClose, std::string("\x03\xe8", 2));
  EXPECT_EQ(client.read().closeCode(), 1000);
  EXPECT_TRUE(client.endsNow());
}

TEST_F(WebSocket, WaitsForTheFirstSnapshot) {
  WebSocketClient client = connect();
  client.send(Opcode::kText, hello("reader"));
  client.send(Opcode::kPing, "x");
  EXPECT_EQ(client.read().opcode, Opcode::kPong);
  running.broker.publishRevision(5);
  EXPECT_NE(client.read().payload.find(R"("type":"snapshot","revision":5)"), std::string::npos);
}

TEST_F(WebSocket, NobodyGetsInWithoutATokenOfItsOwn) {
  running.broker.publishRevision(1);
  for (const std::string& first : {hello("wrong"), hello("producer"), std::string("{}"),
                                   std::string("not json"), std::string(R"({"token":"reader","more":1})"),
                                   std::string(R"({"token":7})"), std::string("[]"), std::string()}) {
    WebSocketClient client = connect("Authorization: Bearer reader\r\n");
    client.send(Opcode::kText, first);
    expectRefused(client, 1008);
  }
  WebSocketClient binary = connect();
  binary.send(Opcode::kBinary, hello("reader"));
  expectRefused(binary, 1008);
  EXPECT_EQ(
      running
          .ask(request("GET", "/v1/stream?token=reader", "", "Connection: Upgrade\r\nUpgrade: websocket\r\n"))
          .status,
      401);
}

TEST_F(WebSocket, TheFirstFrameComesWithinTwoSeconds) {
  running.broker.publishRevision(1);
  const auto start = std::chrono::steady_clock::now();
  WebSocketClient client = connect();
  expectRefused(client, 1008);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, std::chrono::milliseconds(1900));
  EXPECT_LT(took, std::chrono::milliseconds(8000));
}

TEST_F(WebSocket, OnTheUnixSocketThePeerIsEnough) {
  running.broker.publishRevision(1);
  WebSocketClient client(RawClient::unixSocket(running.broker.socketPath()));
  client.send(Opcode::kText, "{}");
  EXPECT_NE(client.read().payload.find(R"("type":"snapshot")"), std::string::npos);
  WebSocketClient other(RawClient::unixSocket(running.broker.socketPath()));
  other.send(Opcode::kText, hello("wrong"));
  expectRefused(other, 1008);
}

TEST_F(WebSocket, AFrameThatBreaksTheProtocolEndsIt) {
  running.broker.publishRevision(1);
  // wslay says nothing of why (0) where the head of a control frame is wrong.
  const std::pair<std::string, int> broken[] = {
      {frame(Opcode::kText, "{}", Mask::kNo), 1002},
      {frame(Opcode::kText, "{}", Mask::kYes, 0xc1), 1002},              // a reserved bit
      {frame(Opcode::kText, "{}", Mask::kYes, 0x83), 1002},              // a reserved opcode
      {frame(Opcode::kContinuation, "{}"), 1002},                        // of nothing
      {frame(Opcode::kPing, std::string(126, 'p')), 0},                  // too long for control
      {frame(Opcode::kPing, "", Mask::kYes, 0x09), 0},                   // a fragmented ping
      {frame(Opcode::kText, "\xff\xfe"), 1007},                          // no UTF-8
      {frame(Opcode::kText, std::string(4097, ' ')), 1009},              // too big
      {frame(Opcode::kText, std::string(4000, ' '), Mask::kYes, 0x01) +  // too big in pieces
           frame(Opcode::kContinuation, std::string(4000, ' ')),
       1009},
  };
  for (const auto& [bytes, code] : broken) {
    SCOPED_TRACE(testing::PrintToString(bytes.substr(0, 4)));
    WebSocketClient client = connect();
    client.sendRaw(bytes);
    expectRefused(client, code);
  }
}

TEST_F(WebSocket, ALiveClientHasNothingToSay) {
  running.broker.publishRevision(1);
  WebSocketClient client = live();
  client.send(Opcode::kText, "{}");
  expectRefused(client, 1008);
}

TEST_F(WebSocket, FramesWithoutEndAreCutOff) {
  running.broker.publishRevision(1);
  std::string pings;
  for (int i = 0; i < 5000; ++i) pings += frame(Opcode::kPing, "");
  std::string fragments = frame(Opcode::kText, "", Mask::kYes, 0x01);
  // FIN off, opcode 0.
  std::string empty = frame(Opcode::kContinuation, "");
  empty[0] = '\0';
  for (int i = 0; i < 5000; ++i) fragments += empty;
  for (const std::string& flood : {pings, fragments}) {
    WebSocketClient client = live();
    client.sendRaw(flood);
    const std::string rest = client.raw().readToEnd();
    EXPECT_LT(rest.size(), 10000U) << "pongs are not sent without end";
    EXPECT_NE(rest.find("unexpected_input"), std::string::npos);
  }
  EXPECT_EQ(running.ask(get()).status, 200);
  EXPECT_LT(running.front.residentKiB(), 64 * 1024 + kSanitizerKeepsKiB);
}

TEST_F(WebSocket, ARevokedTokenEndsItsStream) {
  running.broker.publishRevision(1, 1);
  WebSocketClient revoked = live();
  WebSocketClient other(RawClient::unixSocket(running.broker.socketPath()));
  other.send(Opcode::kText, "{}");
  EXPECT_EQ(other.read().opcode, Opcode::kText);
  running.broker.change([](BrokerOptions& options) { options.tokens.erase("reader"); });
  running.broker.publishRevision(2, 2);
  expectRefused(revoked, 1008);
  EXPECT_NE(other.read().payload.find(R"("revision":2)"), std::string::npos) << "who is still known goes on";
}

// The reader that slept sees the first revision, what was on its way, and the last.
TEST(SlowReader, GetsTheNewestAndNoQueue) {
  BrokerOptions options = withTokens();
  options.writeTimeoutMs = 60000;
  Running running(options);
  const auto publish = [&](std::uint64_t revision) {
    running.broker.publish([revision](schema::Snapshot::Builder snapshot) {
      snapshot.setRevision(revision);
      snapshot.initCommandCenter().initRuns(1)[0].setId(std::string(1000000, 'r').c_str());
    });
  };
  publish(1);
  WebSocketClient client(running.client());
  client.send(Opcode::kText, hello("reader"));
  EXPECT_EQ(client.read().opcode, Opcode::kText);
  constexpr int kRevisions = 30;
  const long before = running.front.residentKiB();
  for (int revision = 2; revision <= kRevisions; ++revision) publish(static_cast<std::uint64_t>(revision));
  EXPECT_LT(running.front.residentKiB() - before, 24 * 1024 + kSanitizerKeepsKiB);
  int frames = 0;
  for (std::string last; last.find("\"revision\":" + std::to_string(kRevisions)) == std::string::npos;
       ++frames)
    last = client.read().payload.substr(0, 60);
  EXPECT_LT(frames, 15);
}

TEST_F(WebSocket, AnIncompleteHandshakeIsNoWebSocket) {
  running.broker.publishRevision(1);
  const std::string whole[] = {"Connection: Upgrade\r\n", "Upgrade: websocket\r\n",
                               "Sec-WebSocket-Version: 13\r\n",
                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"};
  for (const std::string& missing : whole) {
    std::string lines;
    for (const std::string& line : whole) lines += line == missing ? "" : line;
    EXPECT_EQ(running.ask(request("GET", "/v1/stream", "reader", lines)).status, 400) << missing;
  }
  const std::string good = whole[0] + whole[1] + whole[2] + whole[3];
  EXPECT_EQ(running.ask(request("GET", "/v1/stream", "reader", good)).status, 101) << "the control";
  EXPECT_EQ(running.ask(request("POST", "/v1/stream", "reader", good)).status, 405);
  EXPECT_EQ(running
                .ask(request("GET", "/v1/stream", "reader",
                             whole[0] + whole[1] + "Sec-WebSocket-Version: 8\r\n" + whole[3]))
                .status,
            400);
}

class EventStream : public testing::Test {
 protected:
  Running running;

  // One event, up to its empty line.
  static std::string next(RawClient& client) {
    std::string& text = client.buffered();
    std::size_t end = std::string::npos;
    while ((end = text.find("\n\n")) == std::string::npos) {
      if (!client.fill()) throw std::runtime_error("the stream ended");
    }
    std::string event = text.substr(0, end);
    text.erase(0, end + 2);
    return event;
  }
};

TEST_F(EventStream, SendsTheSnapshotThenItsChanges) {
  running.broker.publishRevision(1);
  RawClient client = running.client();
  client.send(request("GET", "/v1/stream/sse", "reader"));
  const Answer head = client.read();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("content-type"), "text/event-stream");
  EXPECT_EQ(head.field("cache-control"), "no-store");
  EXPECT_EQ(head.field("access-control-allow-origin"), "");
  const std::string first = next(client);
  EXPECT_TRUE(first.starts_with("event: snapshot\nid: 1\ndata: {\"type\":\"snapshot\",\"revision\":1,"))
      << first;
  running.broker.publishRevision(2);
  EXPECT_TRUE(next(client).starts_with("event: change\nid: 2\ndata: {\"type\":\"change\",\"revision\":2,"));
  EXPECT_EQ(running.ask(request("HEAD", "/v1/stream/sse", "reader")).status, 200);
}

TEST_F(EventStream, ARevokedTokenEndsIt) {
  running.broker.publishRevision(1, 1);
  RawClient client = running.client();
  client.send(request("GET", "/v1/stream/sse", "reader"));
  client.read();
  next(client);
  running.broker.change([](BrokerOptions& options) { options.tokens.erase("reader"); });
  running.broker.publishRevision(2, 2);
  EXPECT_EQ(client.readToEnd(), "");
}

TEST_F(EventStream, LeavingIsNoticed) {
  running.broker.publishRevision(1);
  RawClient client = running.client();
  client.send(request("GET", "/v1/stream/sse", "reader"));
  client.read();
  client.finish();
  next(client);
  EXPECT_EQ(client.readToEnd(), "");
}

}  // namespace
}  // namespace factionos::front::test
