// Commands through launcher, session and pty worker, each in its own sandbox.
#include <gtest/gtest.h>

#include "harness.h"

namespace factionos::test {
namespace {

class Run : public testing::TestWithParam<Story> {};
INSTANTIATE_TEST_SUITE_P(Stories, Run, testing::Values(Story::kNamespaces, Story::kForbidden), storyName);

TEST_P(Run, ATrueCommandEndsWithItsStatus) {
  Broker broker;
  const Result result = broker.run(argv({"/bin/true"}, GetParam()));
  EXPECT_EQ(result.denial, "");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.reason, schema::EndReason::EXITED);
  EXPECT_EQ(result.output, "");
}

TEST_P(Run, AShellLineEndsWithItsStatusAndItsOutput) {
  Broker broker;
  const Result result = broker.run(shell("echo out; echo err >&2; exit 7", GetParam()));
  EXPECT_EQ(result.denial, "");
  EXPECT_EQ(result.code, 7);
  EXPECT_EQ(result.output, "out\r\nerr\r\n");
  EXPECT_EQ(result.toldBytes, result.output.size());
}

}  // namespace
}  // namespace factionos::test
