// What goes into a terminal.
#include <csignal>

#include <gtest/gtest.h>

#include "harness.h"
#include "protocol/rpc/descriptor.h"

namespace factionos::test {
namespace {

TEST(Terminal, E11_ControlBytesReachTheForeground) {
  Broker broker;
  const auto interrupted =
      broker.start(shell("trap 'echo got-int; exit 5' INT; echo ready; while :; do sleep 0.05; done"));
  interrupted->expectOutput("ready");
  EXPECT_EQ(interrupted->input("\x03"), "");
  EXPECT_EQ(interrupted->finish().code, 5);
  EXPECT_NE(interrupted->result.output.find("got-int"), std::string::npos);

  const auto fed = broker.start(shell("echo ready; cat; echo end-of-file"));
  fed->expectOutput("ready");
  EXPECT_EQ(fed->input("typed\n\x04"), "");
  EXPECT_EQ(fed->finish().code, 0);
  EXPECT_NE(fed->result.output.find("end-of-file"), std::string::npos);
}

TEST(Terminal, E5_AValidResizeIsSeenAndAnInvalidOneRefused) {
  Broker broker;
  const auto running =
      broker.start(shell("trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done"));
  running->expectOutput("ready");
  EXPECT_EQ(running->resize(0, 0), "window_invalid");
  EXPECT_EQ(running->resize(65535, 65535), "window_invalid");
  EXPECT_EQ(running->resize(1001, 24), "window_invalid");
  EXPECT_EQ(running->resize(101, 37), "");
  running->finish();
  EXPECT_NE(running->result.output.find("37 101"), std::string::npos) << running->result.output;
  EXPECT_EQ(running->resize(80, 24), "ended");
}

TEST(Terminal, E5_OneByOneIsAWindow) {
  Broker broker;
  const auto running = broker.start(shell("echo ready; read line; stty size"));
  running->expectOutput("ready");
  EXPECT_EQ(running->resize(1, 1), "");
  EXPECT_EQ(running->input("\n"), "");
  EXPECT_NE(running->finish().output.find("1 1"), std::string::npos);
}

TEST(Terminal, P35_InputToAnEndedSessionIsRefused) {
  Broker broker;
  const auto running = broker.start(argv({"true"}));
  running->finish();
  EXPECT_EQ(running->input("x\n"), "ended");
}

TEST(Terminal, ALineThatTheKernelWouldCutIsNotWritten) {
  Broker broker;
  const auto running = broker.start(shell("echo ready; read a; echo \"${#a}\"; read b; echo \"[$b]\""));
  running->expectOutput("ready");
  EXPECT_EQ(running->input(std::string(4096, 'x') + "\n"), "line_too_long");
  EXPECT_EQ(running->input(std::string(4000, 'x')), "");
  EXPECT_EQ(running->input(std::string(96, 'x') + "\n"), "line_too_long");
  EXPECT_EQ(running->input(std::string(95, 'x') + "\n"), "");
  running->expectOutput("4095\r\n");
  EXPECT_EQ(running->input("ok\n"), "");
  running->finish();
  EXPECT_NE(running->result.output.find("[ok]"), std::string::npos);
}

TEST(Terminal, RawInputOfAnyLengthArrivesWhole) {
  Broker broker;
  const auto running = broker.start(shell("stty raw -echo; printf ready; head -c 60000 | cksum; stty sane"));
  running->expectOutput("ready");
  std::string data;
  for (int i = 0; i < 60000; ++i) data.push_back(static_cast<char>('a' + i % 26));
  EXPECT_EQ(running->input(data), "");
  const Result& result = running->finish();
  EXPECT_NE(result.output.find(" 60000"), std::string::npos) << result.output;
}

TEST(Terminal, AProgramThatDoesNotReadIsTold) {
  Broker broker;
  const auto running = broker.start(shell("stty raw -echo; printf ready; sleep 60"));
  running->expectOutput("ready");
  // How much the kernel holds for a program that does not read is its own affair.
  std::string told;
  for (int i = 0; i < 16 && told.empty(); ++i) told = running->input(std::string(65536, 'x'));
  EXPECT_EQ(told, "input_full");
  EXPECT_LT(std::stoul(running->inputTarget), 65536U);
  running->kill();
  running->finish();
}

TEST(Terminal, AWorkerTakesOneTerminalAndNothingElse) {
  Broker broker;
  auto worker = broker.startPty();
  auto request = worker.pty.attachRequest();
  rpc::SocketPair pair = rpc::socketPair();
  request.setMaster(rpc::carryDescriptor<schema::Descriptor>(kj::mv(pair.first)));
  EXPECT_EQ(broker.wait(request.send().then([](auto&& got) { return denialText(got.getDenial()); })),
            "master_refused/terminal_descriptor");
  auto again = worker.pty.attachRequest();
  EXPECT_EQ(broker.wait(again.send().then([](auto&& got) { return denialText(got.getDenial()); })),
            "already_attached/once");
}

}  // namespace
}  // namespace factionos::test
