// Who looks at a session, and how, changes nothing for the session itself.
#include <csignal>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "live_broker.h"

namespace factionos::test {
namespace {

std::string sessionOf(const Reply& started) {
  EXPECT_EQ(started.status, 201) << started.body;
  return started.at("/session/id");
}

// A subscriber that asks and never reads: as a client that was stopped with its socket open.
class DeafClient {
 public:
  DeafClient(std::uint16_t port, const std::string& target, const std::string& token)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int small = 4096;  // so that what is not read stands in the way soon
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string text =
        "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n";
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  ~DeafClient() { ::close(socket_); }
  DeafClient(const DeafClient&) = delete;
  DeafClient& operator=(const DeafClient&) = delete;

 private:
  int socket_;
};

TEST(Viewer, E6_AReaderThatGoesAwayFindsTheRestOrACountedGap) {
  LiveBroker broker({.limits = "output_cap_bytes = 4096"});
  const auto token = broker.token();
  const auto session = sessionOf(broker.run(
      R"("shell":"echo first; read go; i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; read end")",
      token, "k1"));
  const auto target = "/v1/terminal/sessions/" + session;
  const auto begun = broker.untilOutput(session, "first", token);
  const auto next = begun.number("/session/output/next");
  { const DeafClient gone(broker.port(), target + "?waitMs=30000&after=" + std::to_string(next), token); }
  broker.post(target + "/input", R"({"data":"\n"})", token, uniqueKey());
  Reply later;
  ASSERT_TRUE(eventually([&]() {
    later = broker.get(target, token);
    return outputOf(later).find("line 1999") != std::string::npos;
  })) << later.body;
  EXPECT_EQ(later.at("/session/state"), "running") << "nobody looked for a while, and it went on";
  // Followed from where it was left, every byte is either there or counted.
  std::uint64_t at = next;
  std::uint64_t seen = 0;
  std::uint64_t lost = 0;
  const auto total = later.number("/session/output/totalBytes");
  for (int i = 0; i < 100 && at < total; ++i) {
    const auto piece = broker.get(target + "?after=" + std::to_string(at), token);
    lost += piece.number("/session/output/gapBytes");
    seen += piece.number("/session/output/next") - at - piece.number("/session/output/gapBytes");
    at = piece.number("/session/output/next");
  }
  EXPECT_EQ(seen + lost, total - next);
  EXPECT_GT(lost, 0U) << "the cap is far below what was printed";
  broker.post(target + "/input", R"({"data":"\n"})", token, uniqueKey());
  broker.ended(session, token);
}

TEST(Viewer, E10_AViewerThatNeverReadsHoldsNobodyUp) {
  LiveBroker broker;
  const auto token = broker.token();
  const DeafClient stream(broker.port(), "/v1/stream/sse", token);
  const auto session = sessionOf(broker.run(
      R"("shell":"i=0; while [ $i -lt 20000 ]; do echo line $i of a build that somebody watches; i=$((i+1)); done")",
      token, "k1"));
  const DeafClient waiting(broker.port(), "/v1/terminal/sessions/" + session + "?waitMs=30000", token);
  const auto ended = broker.ended(session, token);  // another viewer
  EXPECT_EQ(ended.at("/session/exit/code"), "0") << ended.body;
  EXPECT_EQ(ended.number("/session/lines"), 20000U);
  EXPECT_EQ(broker.get("/v1/command-center", token).status, 200);
}

// The rule: the size belongs to the session's owner; the last one wins. Other viewers have none.
TEST(Viewer, E15_OnlyTheOwnersSizeCounts) {
  LiveBroker broker;
  const auto token = broker.token("read,propose", "mine");
  const auto other = broker.token("read,propose", "other");
  const auto session = sessionOf(broker.run(
      R"("shell":"trap 'echo size $(stty size)' WINCH; echo ready; read -r x; read -r x; read -r x; echo end")",
      token, "k1"));
  broker.untilOutput(session, "ready", token);
  const auto target = "/v1/terminal/sessions/" + session + "/resize";
  EXPECT_EQ(broker.post(target, R"({"cols":120,"rows":50})", token, uniqueKey()).status, 200);
  EXPECT_EQ(broker.post(target, R"({"cols":60,"rows":20})", other, uniqueKey()).status, 403);
  broker.untilOutput(session, "size 50 120", token);
  EXPECT_EQ(broker.post(target, R"({"cols":90,"rows":30})", token, uniqueKey()).status, 200);
  const auto seen = broker.untilOutput(session, "size 30 90", token);
  EXPECT_EQ(outputOf(seen).find("20 60"), std::string::npos);
  EXPECT_EQ(seen.number("/session/cols"), 90U);
  broker.post("/v1/terminal/sessions/" + session + "/kill", "{}", token, uniqueKey());
  broker.ended(session, token);
}

}  // namespace
}  // namespace factionos::test
