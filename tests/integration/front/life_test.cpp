// How the front begins and ends.
#include <csignal>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/front/fixture.h"
#include "tests/integration/front/web_socket_client.h"

namespace factionos::front::test {
namespace {

TEST(Life, ShutdownAnswersWhatIsUnderWayAndThenEndsInOrder) {
  auto running = std::make_unique<Running>();
  running->broker.publishRevision(1);
  RawClient idle = running->client();
  idle.send(get());
  EXPECT_EQ(idle.read().status, 200);
  WebSocketClient stream(running->client());
  stream.send(Opcode::kText, R"({"token":"reader"})");
  EXPECT_EQ(stream.read().opcode, Opcode::kText);
  RawClient halfway = running->client();
  halfway.send(post("Content-Length: 2\r\n", "{"));
  EXPECT_EQ(running->ask(get()).status, 200);  // a round trip: all of the above has arrived
  running->broker.shutdownFront(5000);
  EXPECT_EQ(idle.readToEnd(), "");
  EXPECT_EQ(stream.read().closeCode(), 1001);
  stream.raw().close();
  halfway.send("}");
  const auto answers = cutAnswers(halfway.readToEnd());
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].status, 202);
  EXPECT_EQ(answers[0].field("connection"), "close");
  EXPECT_EQ(running->front.wait().code, 0);
}

TEST(Life, ShutdownWaitsNoLongerThanItsGrace) {
  Running running;
  RawClient client = running.client();
  client.send(request("GET", "/v1/actions/act_00000000000000000000000000?waitMs=60000", kGoodToken));
  ASSERT_TRUE(running.broker.asked().eventually([&] { return running.broker.asked().waiting == 1; }));
  running.broker.shutdownFront(100);
  EXPECT_EQ(running.front.wait().code, 0);
}

TEST(Life, ALostBrokerEndsTheFront) {
  Running running;
  EXPECT_EQ(running.ask(get()).status, 200);
  running.broker.loseLine();
  EXPECT_EQ(running.front.wait().code, 0);
  const auto events = running.front.events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().code, sandbox::EventCode::kPeerLost);
}

TEST(Life, StartedByHandItRefuses) {
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_RDWR);
    for (int descriptor = 0; descriptor <= 4; ++descriptor) dup2(null, descriptor);
    execl(FACTIONOS_FRONT_PATH, "front", nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

}  // namespace
}  // namespace factionos::front::test
