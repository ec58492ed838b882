// What people use a terminal for works in one: job control, an editor, a pager.
#include <gtest/gtest.h>

#include "harness.h"
#include "tests/absent.h"

namespace factionos::test {
namespace {

class ScreenTools : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, ScreenTools, testing::Values(Story::kNamespaces, Story::kForbidden),
                         storyName);

TEST_P(ScreenTools, JobControl) {
  if (!hasProgram("bash")) ABSENT("bash");
  Broker broker;
  CommandLine interactive = argv({"bash", "--norc", "--noprofile", "-i"}, GetParam());
  interactive.environment = {"PS1=prompt: ", "TERM=dumb"};
  const auto running = broker.start(interactive);
  ASSERT_TRUE(running->started()) << running->result.denial;
  running->expectOutput("prompt: ");
  EXPECT_EQ(running->output().find("no job control"), std::string::npos) << running->output();
  // A word that the terminal's echo does not hold, so that only the job prints it; and one program that does
  // with a signal what the system does: a shell that is about to start another catches it.
  EXPECT_EQ(running->input("sh -c 'echo sta\"\"rted; exec cat'\n"), "");
  running->expectOutput("started");
  EXPECT_EQ(running->input("\x1a"), "");  // ^Z
  running->expectOutput("Stopped");
  EXPECT_EQ(running->input("sleep 2 & jobs\n"), "");
  running->expectOutput("Running");
  EXPECT_EQ(running->input("fg %1\n"), "");
  running->expectOutput("fg %1\r\nsh -c");
  EXPECT_EQ(running->input("me\n"), "");
  running->expectOutput("me\r\nme\r\n");  // the echo, and what the job says
  EXPECT_EQ(running->input("\x03"), "");
  running->expectOutput("^C\r\nprompt: ");  // what is typed before belongs to nobody: the terminal drops it
  EXPECT_EQ(running->input("echo status $?\n"), "");
  running->expectOutput("status 130");
  EXPECT_EQ(running->input("exit 4\n"), "");
  EXPECT_EQ(running->finish().code, 4);
}

TEST_P(ScreenTools, TheControllingTerminalIsReadAndWrittenByItsName) {
  Broker broker;
  const auto running = broker.start(
      shell("tty; echo to-tty > /dev/tty; read answer < /dev/tty; echo \"heard $answer\"", GetParam()));
  running->expectOutput("to-tty");
  EXPECT_EQ(running->output().find("not a tty"), std::string::npos);
  EXPECT_NE(running->output().find("/dev/pts/"), std::string::npos);
  EXPECT_EQ(running->input("me\n"), "");
  running->finish();
  EXPECT_NE(running->result.output.find("heard me"), std::string::npos) << running->result.output;
}

TEST_P(ScreenTools, AnEditorWritesAFile) {
  if (!hasProgram("vi")) ABSENT("vi");
  Broker broker;
  broker.world.write(broker.world.workspace + "/text", "first line\n");
  const auto running = broker.start(argv({"vi", "-N", "-u", "NONE", "text"}, GetParam()));
  ASSERT_TRUE(running->started()) << running->result.denial;
  running->expectOutput("first line");
  EXPECT_EQ(running->input("Osecond\x1b:wq\r"), "");
  EXPECT_EQ(running->finish().code, 0) << running->result.output;
  EXPECT_EQ(World::read(broker.world.workspace + "/text"), "second\nfirst line\n");
}

TEST_P(ScreenTools, APagerPages) {
  if (!hasProgram("less")) ABSENT("less");
  Broker broker;
  std::string text = "the-top\n";
  for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i) + "\n";
  broker.world.write(broker.world.workspace + "/text", text + "the-bottom\n");
  const auto running = broker.start(argv({"less", "text"}, GetParam()));
  ASSERT_TRUE(running->started()) << running->result.denial;
  running->expectOutput("the-top");
  EXPECT_EQ(running->output().find("the-bottom"), std::string::npos);
  EXPECT_EQ(running->input("G"), "");
  running->expectOutput("the-bottom");
  EXPECT_EQ(running->input("?line 7$\n"), "");
  EXPECT_EQ(running->input("q"), "");
  EXPECT_EQ(running->finish().code, 0);
}

}  // namespace
}  // namespace factionos::test
