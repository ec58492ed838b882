// The caps of a tree, and what is told when one is reached.
#include <csignal>

#include <gtest/gtest.h>
#include <unistd.h>

#include <capnp/message.h>

#include "harness.h"

namespace factionos::test {
namespace {

class Limits : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, Limits, testing::Values(Story::kNamespaces, Story::kForbidden), storyName);

TEST_P(Limits, P45_AForkBombMeetsItsCap) {
  Broker broker;
  capnp::MallocMessageBuilder message;
  auto limits = message.initRoot<schema::Limits>();
  limits.setProcesses(40);
  const auto running = broker.start(
      shell("i=0; while [ $i -lt 4000 ]; do sleep 30 & i=$((i+1)); done; echo unbounded; wait", GetParam()),
      limits.asReader());
  const Result& result = running->finish();
  if (GetParam() == Story::kNamespaces) {
    // The kernel's own limit: fork fails, the shell says so and goes on or ends.
    // Counted one by one while they come and go: of two that followed each other both may be seen.
    EXPECT_LT(result.peakProcesses, 80U);
  } else {
    EXPECT_EQ(result.reason, schema::EndReason::LIMIT_PROCESSES);
    EXPECT_EQ(result.signal, SIGKILL);
  }
  EXPECT_EQ(result.output.find("unbounded"), std::string::npos);
}

TEST_P(Limits, P45_AMemoryHogIsKilledAndTheReasonTold) {
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Broker broker;
  capnp::MallocMessageBuilder message;
  auto limits = message.initRoot<schema::Limits>();
  limits.setMemoryBytes(std::uint64_t{100} << 20);
  const auto running = broker.start(
      argv({"/usr/bin/python3", "-c", "import time\nx = bytearray(300 << 20)\ntime.sleep(60)"}, GetParam()),
      limits.asReader());
  const Result& result = running->finish();
  EXPECT_EQ(result.reason, schema::EndReason::LIMIT_MEMORY);
  // The cap is the tree's, this is the largest process's alone.
  EXPECT_GE(result.maxRssBytes, std::uint64_t{80} << 20);
}

TEST_P(Limits, SharedPagesAreNotCountedTwice) {
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Broker broker;
  capnp::MallocMessageBuilder message;
  auto limits = message.initRoot<schema::Limits>();
  limits.setMemoryBytes(std::uint64_t{150} << 20);
  const auto running = broker.start(argv({"/usr/bin/python3", "-c",
                                          "import os, time\nx = bytearray(80 << 20)\nfor i in range(3):\n  "
                                          "if os.fork() == 0: break\ntime.sleep(0.5)"},
                                         GetParam()),
                                    limits.asReader());
  EXPECT_EQ(running->finish().reason, schema::EndReason::EXITED);
}

TEST_P(Limits, CpuTimeOfTheWholeTreeIsCapped) {
  Broker broker;
  capnp::MallocMessageBuilder message;
  auto limits = message.initRoot<schema::Limits>();
  limits.setCpuSeconds(1);
  const auto running = broker.start(
      shell("for i in 1 2 3; do (while :; do :; done) & done; wait", GetParam()), limits.asReader());
  EXPECT_EQ(running->finish().reason, schema::EndReason::LIMIT_CPU);
}

TEST_P(Limits, AFileHasALargestSize) {
  Broker broker;
  capnp::MallocMessageBuilder message;
  auto limits = message.initRoot<schema::Limits>();
  limits.setFileBytes(1 << 20);
  const auto running =
      broker.start(shell("head -c 3000000 /dev/zero > big; stat -c %s big", GetParam()), limits.asReader());
  EXPECT_NE(running->finish().output.find("1048576"), std::string::npos) << running->result.output;
}

TEST(MemoryOfTmp, FilesInAPrivateTmpCountAsMemory) {
  if (!hasNamespaces() && lacks("user namespaces")) GTEST_SKIP();
  Broker broker;
  capnp::MallocMessageBuilder message;
  auto limits = message.initRoot<schema::Limits>();
  limits.setMemoryBytes(std::uint64_t{64} << 20);
  const auto running =
      broker.start(shell("head -c 30000000 /dev/zero > /tmp/a; head -c 30000000 /dev/zero > /dev/shm/b; head "
                         "-c 20000000 /dev/zero | tail -c 19000000 | sleep 60"),
                   limits.asReader());
  EXPECT_EQ(running->finish().reason, schema::EndReason::LIMIT_MEMORY);
}

TEST(MemoryOfTmp, FilesInAPrivateVarTmpCountAsMemory) {
  if (!hasNamespaces() && lacks("user namespaces")) GTEST_SKIP();
  Broker broker;
  capnp::MallocMessageBuilder message;
  auto limits = message.initRoot<schema::Limits>();
  limits.setMemoryBytes(std::uint64_t{64} << 20);
  const auto running = broker.start(
      shell("head -c 25000000 /dev/zero > /tmp/a; head -c 25000000 /dev/zero > /var/tmp/b && echo made; "
            "head -c 20000000 /dev/zero | tail -c 19000000 | sleep 60"),
      limits.asReader());
  EXPECT_EQ(running->finish().reason, schema::EndReason::LIMIT_MEMORY);
  EXPECT_NE(running->result.output.find("made"), std::string::npos);
}

// Segments of 25 MiB, each filled and detached: never is more than one mapped.
TEST(MemoryOfSegments, SegmentsThatNobodyMapsCountAsMemory) {
  if (!hasNamespaces() && lacks("user namespaces")) GTEST_SKIP();
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Broker broker;
  capnp::MallocMessageBuilder message;
  auto limits = message.initRoot<schema::Limits>();
  limits.setMemoryBytes(std::uint64_t{100} << 20);
  const auto running =
      broker.start(argv({"/usr/bin/python3", "-c",
                         "import ctypes, time\nc = ctypes.CDLL(None)\nsize = 25 << 20\n"
                         "c.shmat.restype = ctypes.c_void_p\nfor i in range(6):\n"
                         "  at = c.shmat(c.shmget(0, ctypes.c_size_t(size), 0o1600), None, 0)\n"
                         "  ctypes.memset(at, 1, size); c.shmdt(ctypes.c_void_p(at))\n"
                         "print('filled'); time.sleep(20)"}),
                   limits.asReader());
  EXPECT_EQ(running->finish().reason, schema::EndReason::LIMIT_MEMORY);
}

// That they are answered in time is the hostile tests' matter: here the cap is one session's own, so that
// nobody else is refused a process. How fast they run is the kernel's scheduler's, which is fair to each
// process.
TEST_P(Limits, P45_OthersRunWhileOneMeetsItsCap) {
  Broker broker;
  capnp::MallocMessageBuilder message;
  auto limits = message.initRoot<schema::Limits>();
  limits.setProcesses(40);
  const auto bomb = broker.start(shell("f() { f | f & }; f; sleep 60", GetParam()), limits.asReader());
  const bool bounded =
      GetParam() == Story::kNamespaces;     // by the kernel; else the tree is watched, and killed
  if (bounded) bomb->expectOutput("fork");  // "Cannot fork", says the shell
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(broker.run(shell("true | true", GetParam())).code, 0);
  }
  if (bounded) bomb->kill();
  const Result& result = bomb->finish();
  if (bounded) {
    EXPECT_LE(result.peakProcesses, 40U);
  } else {
    EXPECT_EQ(result.reason, schema::EndReason::LIMIT_PROCESSES);
  }
}

}  // namespace
}  // namespace factionos::test
