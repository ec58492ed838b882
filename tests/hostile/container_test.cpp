// A container worker that was taken over, under its real profile: SPEC 1.3 act by act, each with its exact
// cause. And what no profile takes from it, so that nobody believes otherwise: whatever the engine's API lets
// it ask.
#include <csignal>
#include <optional>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/descriptor.h"
#include "protocol/rpc/loop.h"
#include "protocol/schemas/container.capnp.h"
#include "sandbox/events.h"
#include "tests/hostile/acts.h"

namespace factionos::test {
namespace {

using hostile::Act;

class Connector final : public schema::EngineConnector::Server {
 public:
  explicit Connector(rpc::OwnFd socket) : socket_(kj::mv(socket)) {}
  kj::Promise<void> connect(ConnectContext context) override {
    context.getResults().setSocket(rpc::carryDescriptor<schema::Descriptor>(kj::mv(socket_)));
    return kj::READY_NOW;
  }

 private:
  rpc::OwnFd socket_;
};

struct Ended {
  std::string answer;  // it came back
  int status = 0;
  std::optional<sandbox::Event> last;
};

// What the launcher does: the line on 3, events on 4, nothing else.
[[noreturn]] void become(int line, int events) {
  const int high[] = {fcntl(line, F_DUPFD, 64), fcntl(events, F_DUPFD, 64)};
  if (dup2(high[0], 3) != 3 || dup2(high[1], 4) != 4) _exit(99);
  syscall(SYS_close_range, 5U, ~0U, 0U);
  execl(FACTIONOS_HOSTILE_CONTAINER, "container", nullptr);
  _exit(99);
}

Ended turnBad(const std::string& act, const std::string& path, rpc::OwnFd engine = nullptr) {
  rpc::SocketPair line = rpc::socketPair();
  int events[2];
  EXPECT_EQ(pipe2(events, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) become(line.second.get(), events[1]);
  line.second = nullptr;
  close(events[1]);
  Ended ended;
  {
    rpc::Loop loop;
    rpc::Connection connection(loop, kj::mv(line.first), {.role = rpc::Role::kClient});
    auto open = connection.bootstrapAs<schema::Container>().openRequest();
    open.setConnector(kj::heap<Connector>(kj::mv(engine)));
    open.setEngine(schema::EngineKind::DOCKER);
    auto probe = open.send().getContainers().probeRequest();
    probe.setImage(act.c_str());
    probe.setInstance(path.c_str());
    ended.answer =
        probe.send()
            .then([](auto&& answer) { return std::string(answer.getProbe().getApiVersion().cStr()); },
                  [](kj::Exception&&) { return std::string(); })
            .wait(loop.waitScope());
  }
  sandbox::EventBytes record{};
  while (read(events[0], record.data(), record.size()) == static_cast<ssize_t>(record.size()))
    ended.last = sandbox::parseEvent(record);
  close(events[0]);
  waitpid(child, &ended.status, 0);
  return ended;
}

class HostileContainer : public testing::TestWithParam<hostile::Rule> {};

TEST_P(HostileContainer, ActsEndItByTheCauseThatIsNamed) {
  SKIP_ACTS_IF_SANITIZED();
  char path[] = "/tmp/factionos-hostile.XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  int tried = 0;
  for (const Act& act : hostile::acts()) {
    if (act.rule != GetParam()) continue;
    SCOPED_TRACE(act.name);
    ++tried;
    const Ended ended = turnBad(act.name, path);
    EXPECT_EQ(ended.answer, "") << "it came back";
    const bool killed = WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGSYS;
    const bool told = ended.last && ended.last->code == sandbox::EventCode::kTrapped &&
                      ended.last->numbers[0] == static_cast<std::uint64_t>(act.call);
    EXPECT_TRUE(killed || told) << ended.status;
  }
  EXPECT_GT(tried, 0);
  close(file);
  unlink(path);
}
INSTANTIATE_TEST_SUITE_P(Rules, HostileContainer,
                         testing::Values(hostile::Rule::kState, hostile::Rule::kMemory,
                                         hostile::Rule::kSignals, hostile::Rule::kPrograms,
                                         hostile::Rule::kSockets, hostile::Rule::kSandbox,
                                         hostile::Rule::kModes));

TEST(HostileContainerControl, AnHonestCallComesBackAndTheProcessEndsInPeace) {
  const Ended ended = turnBad("nothing", "/");
  EXPECT_TRUE(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0) << ended.status;
}

// The threat model says so in plain words: its engine is what it can abuse.
TEST(HostileContainerControl, ItCanAskTheEngineForAnything) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Ended ended = turnBad("engine", "/", rpc::OwnFd(ends[0]));
  EXPECT_EQ(ended.answer, "sent");
  char heard[256] = {};
  EXPECT_GT(read(ends[1], heard, sizeof heard - 1), 0);
  EXPECT_NE(std::string(heard).find("name=evil"), std::string::npos);
  close(ends[1]);
}

}  // namespace
}  // namespace factionos::test
