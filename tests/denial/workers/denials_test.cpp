// What was denied is told: by whom, of what kind, how often; and nothing that is not ours.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "box.h"
#include "sandbox/descriptors.h"

namespace factionos::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::UnorderedElementsAre;

class Denials : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, Denials, testing::Values(Story::kNamespaces, Story::kForbidden), storyName);

TEST_P(Denials, P48_ADeniedReadIsTold) {
  Box box(GetParam());
  box.world().write(box.world().outside + "/secret", "canary");
  const std::string path = box.world().outside + "/secret";
  const std::string source = box.namespaces() ? "namespace" : "landlock";
  // By a grandchild, by a link, and twice.
  const Result result = box.broker.run(
      shell("sh -c 'sh -c \"cat " + path + "\"; true'; ln -s " + path + " link; cat link", GetParam()));
  EXPECT_EQ(result.output.find("canary"), std::string::npos);
  ASSERT_THAT(result.denials, Contains(Key("read outside " + source)));
  EXPECT_EQ(result.denials.at("read outside " + source), 2U);
}

// Without a mount namespace nothing keeps a command from going where it may not read.
TEST(DenialsWithoutNamespaces, P48_ADeniedReadIsToldWhereverTheCommandStands) {
  Box box(Story::kForbidden);
  const std::string path = box.world().outside + "/secret";
  box.world().write(path, "canary");
  const Result result = box.broker.run(shell(
      "cd / && cat " + path.substr(1) + "; cd " + box.world().outside + " && cat secret", Story::kForbidden));
  EXPECT_EQ(result.output.find("canary"), std::string::npos);
  ASSERT_THAT(result.denials, Contains(Key("read outside landlock")));
  EXPECT_EQ(result.denials.at("read outside landlock"), 2U);
}

// With mounts it is not there; without, the socket was refused, and everybody may go everywhere.
TEST_P(Denials, AHiddenSocketAndAHiddenDirectoryAreTold) {
  Box box(GetParam());
  std::filesystem::create_directories(box.world().outside + "/place");
  const Listener outside(box.world().outside + "/socket");
  const Listener state(box.world().home + "/run/operator.sock");
  const std::string line = "./probe connect-path " + box.world().outside + "/socket; ./probe connect-path " +
                           box.world().home + "/run/operator.sock; cd " + box.world().outside +
                           "/place; cd ../outside/place; cd " + box.world().home;
  const Result result = box.broker.run(shell(line, GetParam()));
  EXPECT_FALSE(outside.heard());
  EXPECT_FALSE(state.heard());
  if (!box.namespaces()) {
    EXPECT_THAT(result.denials, ElementsAre(std::pair("connect network:unix seccomp", 2U)));
    return;
  }
  EXPECT_THAT(result.denials, UnorderedElementsAre(std::pair("connect outside namespace", 1U),
                                                   std::pair("connect own-state namespace", 1U),
                                                   std::pair("enter outside namespace", 2U),
                                                   std::pair("enter own-state namespace", 1U)));
  EXPECT_EQ(Box::control({"connect-path", box.world().outside + "/socket"}), "ok");
  EXPECT_TRUE(outside.heard());
}

bool mayTakeDescriptors() {
  const sandbox::Fd self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0U)));
  return sandbox::Fd(static_cast<int>(syscall(SYS_pidfd_getfd, self.get(), STDERR_FILENO, 0U))).get() >= 0;
}

// Over TCP alone; a datagram to that number reaches whoever listens there.
TEST_P(Denials, AConnectionToTheFrontIsTold) {
  Box box(GetParam());
  const Listener front(SOCK_STREAM), other(SOCK_STREAM);
  CommandLine command =
      shell("./probe connect-tcp " + std::to_string(front.port) + "; ./probe connect-tcp " +
                std::to_string(other.port) + "; ./probe send-udp " + std::to_string(front.port) +
                "; ./probe connect-udp " + std::to_string(front.port),
            GetParam());
  command.network = schema::NetworkProfile::FULL;
  command.apiPort = front.port;
  const Result result = box.broker.run(command);
  // Which protocol it was the socket itself tells; the filter around a container keeps it from who asks.
  if (mayTakeDescriptors()) {
    EXPECT_THAT(result.denials, ElementsAre(std::pair("connect api-port landlock", 1U)));
  } else {
    EXPECT_THAT(result.denials, IsEmpty());
  }
  EXPECT_TRUE(other.heard());
  EXPECT_FALSE(front.heard());
}

// Its own sockets and directories, and what nobody has, are nobody's denials.
TEST_P(Denials, WhatACommandConnectsToAndEntersOfItsOwnIsNoDenial) {
  Box box(GetParam());
  std::filesystem::create_directories(box.world().workspace + "/place/below");
  const Listener own(box.world().workspace + "/socket");
  const Result result = box.broker.run(
      shell(std::string(box.namespaces() ? "./probe connect-path socket; ./probe connect-path "
                                           "/missing/socket; ./probe connect-path note; "
                                         : "") +
                "cd place/below; cd ..; cd missing; cd /missing; cd /usr/bin; cd /; cd /etc/passwd; true",
            GetParam()));
  EXPECT_THAT(result.denials, IsEmpty());
  EXPECT_EQ(own.heard(), box.namespaces()) << result.output;
}

TEST(DenialsWithNamespaces, P48_ADeniedReadIsToldWhereADirectoryOnItsWayIsHidden) {
  Box box(Story::kNamespaces);
  box.world().write(box.world().outside + "/secret", "canary");
  const Result result = box.broker.run(
      shell("cat ../outside/secret; mkdir deep; cd deep; cat ../../outside/secret; cat ../missing/secret; "
            "cat missing/secret; cat ../../missing/secret",
            Story::kNamespaces));
  EXPECT_EQ(result.output.find("canary"), std::string::npos);
  EXPECT_THAT(result.denials, ElementsAre(std::pair("read outside namespace", 2U)));
}

TEST_P(Denials, P14_OwnStateIsNamedAsSuch) {
  Box box(GetParam());
  for (const char* file : {"/state/broker.db", "/tokens/operator", "/run/api.sock"})
    box.world().write(box.world().home + file, "canary");
  const Result result =
      box.broker.run(shell("cat " + box.world().home + "/state/broker.db " + box.world().home +
                               "/tokens/operator " + box.world().home + "/run/api.sock",
                           GetParam()));
  const std::string key = std::string("read own-state ") + (box.namespaces() ? "namespace" : "landlock");
  ASSERT_THAT(result.denials, Contains(Key(key)));
  EXPECT_GE(result.denials.at(key), 3U);
}

TEST_P(Denials, RefusedCallsAreNamedWithTheErrnoAsBefore) {
  Box box(GetParam());
  EXPECT_EQ(box.inside({"mount", "/"}), "EPERM");
  EXPECT_EQ(box.inside({"personality"}), "EPERM");
  const Result result = box.broker.run(shell(
      "./probe mount /; ./probe mount /; ./probe personality; ./probe clone3; ./probe io-uring", GetParam()));
  ASSERT_THAT(result.denials, Contains(Key("syscall:mount kernel seccomp")));
  EXPECT_EQ(result.denials.at("syscall:mount kernel seccomp"), 2U);
  EXPECT_THAT(result.denials, Contains(Key("syscall:personality kernel seccomp")));
  EXPECT_THAT(result.denials, Not(Contains(Key("syscall:clone3 kernel seccomp"))))
      << "a question, no attempt";
  const Result socket = box.broker.run(argv({"./probe", "connect-tcp", "9"}, GetParam()));
  EXPECT_THAT(socket.denials, Contains(Key("connect network:ipv4 seccomp")));
}

TEST_P(Denials, ProtectedNamesAreNamed) {
  Box box(GetParam());
  box.world().write(box.world().workspace + "/.git/config", "[core]\n");
  const Result result =
      box.broker.run(shell("mkdir .claude; mkdir .git/hooks; echo x > .mcp.json", GetParam()));
  for (const char* key : {"create workspace:.claude supervisor", "create workspace:.git/hooks supervisor",
                          "create workspace:.mcp.json supervisor"})
    EXPECT_THAT(result.denials, Contains(Key(key)));
}

TEST_P(Denials, P49_WhatIsNotThereAndWhatModesForbidIsNobodysDenial) {
  Box box(GetParam());
  box.world().write(box.world().workspace + "/mine", "x", 0000);
  box.world().write(box.world().workspace + "/tool", "x", 0644);
  const Result result =
      box.broker.run(shell("cat missing; cat /usr/missing /missing /home/nobody-here/x; cat /etc/shadow; cat "
                           "mine; echo x > mine; ./tool; mkdir -p a/b; ls -R . > /dev/null; "
                           "cat /etc/passwd > copy; cat < /dev/null; python3 -c 'import json, tempfile, "
                           "subprocess; tempfile.TemporaryFile()'; git status; cc --version; true",
                           GetParam()));
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.denials, IsEmpty());
}

}  // namespace
}  // namespace factionos::test
