// The probe of a runtime without a socket: the real worker under its real profile, started by the real
// launcher, and a stand-in for the program.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "protocol/rpc/descriptor.h"
#include "protocol/schemas/probe.capnp.h"
#include "sandbox/landlock.h"
#include "tests/absent.h"

namespace factionos::test {
namespace {

using State = schema::ProbeState;

constexpr std::uint32_t kPatient = 10'000;  // longer than a program that answers takes on a loaded machine
constexpr std::uint32_t kShort = 50;

const std::string kGood =
    R"(echo '[{"appName":"container","version":"1.2.2","buildType":"release","commit":"0a1b2c3"}]')";

std::string script(const std::string& lines) {
  return "#!/bin/bash\n" + lines + "\n";
}

struct Probe {
  std::string denial;
  kj::Own<rpc::Connection> line;
  kj::Maybe<schema::Worker::Client> worker;

  schema::RuntimeProbe::Client client() { return line->bootstrapAs<schema::RuntimeProbe>(); }
};

struct Answer {
  State state = State::UNSPECIFIED;
  std::string version;
  bool service = false;
};

// A broker whose [engines] names a program.
class Apple {
 public:
  explicit Apple(Kernel kernel = Kernel::kAsItIs)
      : broker(kernel), program(broker.world.outside + "/container") {}
  explicit Apple(const std::string& lines, Kernel kernel = Kernel::kAsItIs) : Apple(kernel) {
    write(script(lines));
    EXPECT_EQ(name(program), "");
  }

  void write(const std::string& content, mode_t mode = 0755) {
    broker.world.write(program, content, mode);
    ASSERT_EQ(chmod(program.c_str(), mode), 0);
  }

  std::string name(const std::string& path) {
    auto request = broker.launcher.setEnginesRequest();
    request.setAppleProgram({path.data(), path.size()});
    return broker.wait(request.send().then([](auto&& got) { return denialText(got.getDenial()); }));
  }

  Probe start() {
    auto pair = rpc::socketPair();
    auto request = broker.launcher.startRequest();
    request.setRole(schema::Role::PROBE);
    request.setLine(rpc::carryDescriptor<schema::Descriptor>(kj::mv(pair.second)));
    Probe probe;
    probe.line = kj::heap<rpc::Connection>(broker.loop, kj::mv(pair.first),
                                           rpc::ConnectionOptions{.role = rpc::Role::kClient});
    broker.wait(request.send().then([&probe](auto&& got) {
      probe.denial = denialText(got.getDenial());
      if (got.hasWorker()) probe.worker = got.getWorker();
    }));
    return probe;
  }

  static kj::Promise<Answer> asked(Probe& probe, std::uint32_t deadlineMs) {
    auto request = probe.client().askRequest();
    request.setDeadlineMs(deadlineMs);
    return request.send().then([](auto&& got) {
      const auto answer = got.getAnswer();
      return Answer{answer.getState(), answer.getVersion().cStr(), answer.getServiceAnswers()};
    });
  }

  Answer ask(std::uint32_t deadlineMs = kPatient) {
    Probe probe = start();
    EXPECT_EQ(probe.denial, "");
    const Answer answer = broker.wait(asked(probe, deadlineMs));
    EXPECT_TRUE(childrenOf(worker()).empty()) << "it and all below it are gone when this answers";
    return answer;
  }

  pid_t worker() const {
    for (const pid_t child : childrenOf(broker.launcherPid)) {
      if (nameOf(child) == "probe") return child;
    }
    ADD_FAILURE() << "no probe";
    return 0;
  }

  // Until so many children of the program sleep.
  void expectSleepers(std::ptrdiff_t count) {
    const auto sleepers = []() {
      const auto all = descendants();
      return std::ranges::count_if(all, [](pid_t pid) { return nameOf(pid) == "sleep"; });
    };
    for (int i = 0; i < 3000 && sleepers() != count; ++i)
      broker.wait(broker.loop.timer().afterDelay(10 * kj::MILLISECONDS));
    EXPECT_EQ(sleepers(), count);
  }

  // Until nothing but the workers that live is below the launcher.
  void expectLaunchersChildren(std::size_t count) {
    for (int i = 0; i < 3000 && childrenOf(broker.launcherPid).size() != count; ++i)
      broker.wait(broker.loop.timer().afterDelay(10 * kj::MILLISECONDS));
    EXPECT_EQ(childrenOf(broker.launcherPid).size(), count);
  }

  Broker broker;
  std::string program;
};

TEST(Probe, TellsTheVersionOfAProgramThatAnswers) {
  Apple apple(kGood);
  Probe probe = apple.start();
  for (int again = 0; again < 2; ++again) {
    const Answer answer = apple.broker.wait(Apple::asked(probe, kPatient));
    EXPECT_EQ(answer.state, State::ANSWERED);
    EXPECT_EQ(answer.version, "1.2.2");
    EXPECT_FALSE(answer.service);
  }
  auto first = Apple::asked(probe, kPatient);
  auto second = Apple::asked(probe, kPatient);  // waits for the first
  EXPECT_EQ(apple.broker.wait(kj::mv(second)).state, State::ANSWERED);
  EXPECT_EQ(apple.broker.wait(kj::mv(first)).state, State::ANSWERED);
}

TEST(Probe, IsAskedInOneWay) {
  const std::string words = R"([[ "$*" == "system version --format json" ]])";
  const std::string environment = R"~([[ -z "$(env | grep -v -e ^PWD= -e ^SHLVL= -e ^_=)" ]])~";
  const std::string streams =
      R"~([[ "$(readlink /proc/self/fd/0)" == /dev/null && "$(readlink /proc/$$/fd/2)" == /dev/null ]])~";
  for (const std::string& each : {words, environment, streams, std::string("[[ $PWD == / ]]")}) {
    Apple apple(each + " && " + kGood);
    EXPECT_EQ(apple.ask().state, State::ANSWERED) << each;
  }
}

struct Case {
  const char* name;
  std::string lines;
  State state;
  std::uint32_t deadlineMs = kPatient;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

class ProbeStates : public testing::TestWithParam<Case> {};

TEST_P(ProbeStates, SayInOneWordWhatCameOfIt) {
  const Case& each = GetParam();
  Apple apple(each.lines);
  const Answer answer = apple.ask(each.deadlineMs);
  EXPECT_EQ(answer.state, each.state);
  EXPECT_EQ(answer.version.empty(), each.state != State::ANSWERED);
}

INSTANTIATE_TEST_SUITE_P(
    Program, ProbeStates,
    testing::Values(
        Case{"table", "printf 'COMPONENT VERSION\\ncontainer 1.2.2\\n'", State::NOT_UNDERSTOOD},
        Case{"garbage", "head -c 4096 /dev/urandom", State::NOT_UNDERSTOOD},
        Case{"partial", R"(printf '[{"appName":"container","version":"1.2')", State::NOT_UNDERSTOOD},
        Case{"nothing", "exit 0", State::NOT_UNDERSTOOD},
        Case{"closed", kGood + "; exec >&- 2>&-; exit 0", State::ANSWERED},
        Case{"tooMuch", "yes", State::NOT_UNDERSTOOD},
        Case{"tooMuchAndEnds", "printf '%65537s' ''; " + kGood, State::NOT_UNDERSTOOD},
        Case{"muchSpace", "printf '%60000s' ''; " + kGood, State::ANSWERED},
        Case{"errors", "printf '%200000s' '' >&2; " + kGood, State::ANSWERED},
        Case{"status", kGood + "; exit 3", State::FAILED},
        Case{"signalled", R"(exec perl -e 'unpack "p", pack "J", 1')", State::FAILED},
        Case{"hangs", "sleep 1000", State::TIMED_OUT, kShort},
        Case{"answersAndHangs", kGood + "; sleep 1000", State::TIMED_OUT, 500},
        Case{"closesAndHangs", "exec >&-; sleep 1000", State::TIMED_OUT, 500},
        Case{"childHoldsOutput", "sleep 1000 & " + kGood, State::ANSWERED},
        Case{"detachedChildHoldsOutput",
             "(setsid sleep 1000 &) ; (trap '' HUP TERM; sleep 1000 &) ; " + kGood, State::ANSWERED},
        Case{"hangsWithChildren", "sleep 1000 & (setsid sleep 1000 &) ; sleep 1000", State::TIMED_OUT, 500}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Probe, WhatCannotBeExecutedIsNotStarted) {
  Apple apple;
  apple.write("#!/nonexistent/interpreter\n");
  ASSERT_EQ(apple.name(apple.program), "");
  EXPECT_EQ(apple.ask().state, State::NOT_STARTED);
  apple.write("no program at all");
  EXPECT_EQ(apple.ask().state, State::NOT_STARTED);
}

TEST(Probe, ADeadlineIsWithinItsRange) {
  Apple apple(kGood);
  for (const std::uint32_t deadline : {0U, 9U, 10'001U}) {
    Probe probe = apple.start();
    EXPECT_ANY_THROW(apple.broker.wait(Apple::asked(probe, deadline))) << deadline;
  }
}

// Where signals are scoped, and where children are walked until none is left.
class ProbeOnKernels : public testing::TestWithParam<Kernel> {
 protected:
  void SetUp() override {
    if (sandbox::landlockAbi() < sandbox::kAbiOfScopes) ABSENT("Landlock ABI 6");
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, ProbeOnKernels, testing::Values(Kernel::kAsItIs, Kernel::kLandlock5),
                         [](const auto& each) {
                           return each.param == Kernel::kAsItIs ? "Scoped" : "Walked";
                         });

TEST_P(ProbeOnKernels, TheTreeIsGoneWhenTheProgramWasHeard) {
  const std::string children = "sleep 1000 & (setsid sleep 1000 &) ; (trap '' HUP TERM; sleep 1000 &) ; ";
  const std::vector<std::pair<std::string, State>> ends = {
      {children + kGood, State::ANSWERED},
      {children + "exit 3", State::FAILED},
      {children + "yes", State::NOT_UNDERSTOOD},
      {children + "sleep 1000", State::TIMED_OUT},
      {"sleeps() { sleep 1000 & (sleeps) & }; sleeps 2>/dev/null; sleep 1000", State::TIMED_OUT}};
  for (const auto& [lines, state] : ends) {
    Apple apple(lines, GetParam());
    const unsigned abi = apple.broker.wait(apple.broker.launcher.supportRequest().send().then(
        [](auto&& got) { return got.getSupport().getLandlockAbi(); }));
    ASSERT_EQ(abi < static_cast<unsigned>(sandbox::kAbiOfScopes), GetParam() == Kernel::kLandlock5);
    EXPECT_EQ(apple.ask(state == State::TIMED_OUT ? 500 : kPatient).state, state) << lines;
    apple.expectSleepers(0);
  }
}

TEST_P(ProbeOnKernels, TheTreeIsGoneWithItsWorker) {
  const std::string lines = "sleep 1000 & (setsid sleep 1000 &) ; echo > /dev/null; sleep 1000";
  for (const char* how : {"killed", "dropped", "line closed"}) {
    Apple apple(lines, GetParam());
    Probe probe = apple.start();
    auto asked = Apple::asked(probe, kPatient).then([](Answer&&) {}, [](kj::Exception&&) {});
    for (int i = 0; i < 3000 && descendants().size() < 6;
         ++i)  // launcher, probe, the program and three of its
      apple.broker.wait(apple.broker.loop.timer().afterDelay(10 * kj::MILLISECONDS));
    EXPECT_GE(descendants().size(), 6U) << how;
    if (how == std::string("killed")) ::kill(apple.worker(), SIGKILL);
    if (how == std::string("dropped")) probe.worker = rpc::kNone;
    if (how == std::string("line closed")) probe.line = nullptr;
    apple.expectLaunchersChildren(0);
  }
}

TEST_P(ProbeOnKernels, TheTreeIsGoneWithBrokerOrLauncher) {
  for (const char* how : {"broker", "launcher"}) {
    {
      Apple apple("sleep 1000 & (setsid sleep 1000 &) ; sleep 1000", GetParam());
      Probe probe = apple.start();
      auto asked = Apple::asked(probe, kPatient).then([](Answer&&) {}, [](kj::Exception&&) {});
      apple.expectSleepers(3);
      if (how == std::string("launcher")) ::kill(apple.broker.launcherPid, SIGKILL);
      if (how == std::string("broker")) apple.broker.closeLine();
      expectNothingAlive();
    }
  }
}

// ------------------------------------------------------------------------------------ what the launcher
// judges

TEST(ProbeProgram, IsTheOneThatWasNamedAndNoneElse) {
  {
    Apple apple;
    EXPECT_EQ(apple.start().denial, "program_unknown/engine_sockets");
    EXPECT_EQ(apple.name(apple.program), "engines_fixed/engine_sockets");
  }
  Apple apple;
  for (const std::string& path :
       {std::string("container"), std::string("/x\0y", 4), "/" + std::string(4096, 'x')})
    EXPECT_EQ(apple.name(path), "engine_invalid/engine_sockets") << path;
  EXPECT_EQ(apple.name(apple.program), "");
  EXPECT_EQ(apple.start().denial, "program_missing/engine_sockets");
  apple.write(script(kGood));
  EXPECT_EQ(apple.ask().state, State::ANSWERED) << "looked at anew at each start";
}

TEST(ProbeProgram, TakesNoScope) {
  Apple apple(kGood);
  auto pair = rpc::socketPair();
  auto request = apple.broker.launcher.startRequest();
  request.setRole(schema::Role::PROBE);
  request.initScope().setWorkspace(apple.broker.world.workspace.c_str());
  request.setLine(rpc::carryDescriptor<schema::Descriptor>(kj::mv(pair.second)));
  EXPECT_EQ(apple.broker.wait(request.send().then([](auto&& got) { return denialText(got.getDenial()); })),
            "scope_refused/role_table");
}

TEST(ProbeProgram, IsNoneThatOthersCanWrite) {
  Apple apple(kGood);
  const auto& program = apple.program;
  for (const mode_t mode : {0775U, 0757U, 0777U, 0644U, 0600U}) {
    ASSERT_EQ(chmod(program.c_str(), mode), 0);
    EXPECT_EQ(apple.start().denial, "program_untrusted/engine_sockets") << std::oct << mode;
  }
  ASSERT_EQ(chmod(program.c_str(), 0755), 0);
  EXPECT_EQ(apple.start().denial, "") << "the control";
  ASSERT_EQ(rename(program.c_str(), (program + ".real").c_str()), 0);
  ASSERT_EQ(symlink((program + ".real").c_str(), program.c_str()), 0);
  EXPECT_EQ(apple.ask().state, State::ANSWERED) << "what the link leads to is judged and started";
  ASSERT_EQ(unlink(program.c_str()), 0);
  ASSERT_EQ(mkdir(program.c_str(), 0755), 0);
  EXPECT_EQ(apple.start().denial, "program_untrusted/engine_sockets") << "a directory";
  ASSERT_EQ(rmdir(program.c_str()), 0);
  ASSERT_EQ(mkfifo(program.c_str(), 0755), 0);
  EXPECT_EQ(apple.start().denial, "program_untrusted/engine_sockets") << "a pipe";
}

TEST(ProbeProgram, IsNoneOfAnotherUser) {
  Apple apple(kGood);
  if (!writeAsAnother(apple.program, script(kGood)) && lacks("another user's file")) GTEST_SKIP();
  EXPECT_EQ(apple.start().denial, "program_untrusted/engine_sockets");
}

// --------------------------------------------------------------------------------------- a program that is
// hostile

class Listener {
 public:
  explicit Listener(int family, const std::string& path = {})
      : socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (family == AF_UNIX) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      path.copy(address.sun_path, sizeof address.sun_path - 1);
      EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    } else {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof address;
      EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
      EXPECT_EQ(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
      port_ = ntohs(address.sin_port);
    }
    EXPECT_EQ(listen(socket_.get(), 8), 0);
  }
  std::uint16_t port() const { return port_; }
  unsigned taken() const {
    unsigned count = 0;
    for (int got = 0; (got = accept(socket_.get(), nullptr, nullptr)) >= 0; close(got)) ++count;
    return count;
  }

 private:
  rpc::OwnFd socket_;
  std::uint16_t port_ = 0;
};

int runOpenly(const std::string& program) {
  const int status = std::system(("'" + program + "' system version --format json >/dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Each act ends the program with status 9 where it worked, as it does outside of the walls.
TEST_P(ProbeOnKernels, TheProgramReachesNothingOfItsUser) {
  Apple apple(kGood, GetParam());
  const auto& world = apple.broker.world;
  world.write(world.home + "/secret", "hunter2", 0600);
  world.write(world.outside + "/other", script("exit 0"), 0755);
  const Listener tcp(AF_INET);
  const Listener file(AF_UNIX, world.outside + "/socket");
  const std::string made = world.outside + "/made";
  const std::string temporary = "/tmp/factionos-probe-" + std::to_string(getpid());
  const std::string shared = "/dev/shm/factionos-probe-" + std::to_string(getpid());
  const std::vector<std::pair<const char*, std::string>> acts = {
      {"read", "[[ \"$(<'" + world.home + "/secret')\" == hunter2 ]]"},
      {"list", "ls '" + world.home + "'"},
      {"write", "echo x >'" + made + "'"},
      {"write itself", "echo >>'" + apple.program + "'"},
      {"write in /tmp", "echo x >" + temporary},
      {"write in /dev/shm", "echo x >" + shared},
      {"remove", "rm '" + world.outside + "/other' && echo '#!/bin/sh' >'" + world.outside +
                     "/other' && chmod 755 '" + world.outside + "/other'"},
      {"change a mode", "chmod 711 '" + world.outside + "/other'"},
      {"change its own mode", "chmod 755 '" + apple.program + "'"},
      {"take a lease on itself",
       "perl -e 'open(F, \"<\", \"" + apple.program + "\") && fcntl(F, 1024, 0) or exit 1'"},
      {"change times", "touch -c '" + world.home + "/secret'"},
      {"start another", "'" + world.outside + "/other'"},
      {"connect", ": <>/dev/tcp/127.0.0.1/" + std::to_string(tcp.port())},
      {"connect to a file", "perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0) && connect(S,sockaddr_un(\"" +
                                world.outside + "/socket\")) or exit 1'"},
      {"listen", "perl -MSocket -e 'socket(S,AF_INET,SOCK_STREAM,0) or exit 1'"},
      {"signal", "kill -0 $PPID"},
      {"signal as an owner", "perl -e 'fcntl(STDIN, 8, getppid()) or exit 1'"},
      {"see processes", "ls /proc"},
      {"read another's environment", "head -c 1 /proc/$PPID/environ"},
      {"see the home's variable", "[[ -n $HOME ]]"},
  };
  for (const auto& [name, line] : acts) {
    apple.write(script("if " + line + " >/dev/null 2>&1; then exit 9; fi\n" + kGood));
    EXPECT_EQ(apple.ask().state, State::ANSWERED) << name;
    for (const auto& path : {made, temporary, shared}) EXPECT_FALSE(World::exists(path)) << name << path;
    EXPECT_EQ(tcp.taken() + file.taken(), 0U) << name;
    EXPECT_TRUE(World::exists(world.outside + "/other")) << name;
    EXPECT_EQ(runOpenly(apple.program), 9) << name << ": the control";
    for (const auto& path : {made, temporary, shared}) unlink(path.c_str());
    tcp.taken();
    file.taken();
  }
}

}  // namespace
}  // namespace factionos::test
