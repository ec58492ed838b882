#include "sandbox/environment.h"

#include <stdexcept>

#include <gmock/gmock.h>

namespace factionos::sandbox {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

TEST(Environment, P26_HoldsOnlyAllowlistedNames) {
  const char* const current[] = {"AWS_SECRET_ACCESS_KEY=x",
                                 "LD_PRELOAD=/tmp/evil.so",
                                 "BASH_ENV=/tmp/evil",
                                 "BASH_FUNC_ls%%=() { :; }",
                                 "SSH_AUTH_SOCK=/run/agent",
                                 "GIT_SSH_COMMAND=evil",
                                 "HOME=/home/somebody",
                                 "LANG=de_DE.UTF-8",
                                 "LC_TIME=C",
                                 "LC_EVIL=C",
                                 "PATH=/tmp/evil",
                                 "TERM=xterm-256color",
                                 "TZ=Europe/Berlin",
                                 "no equals sign",
                                 nullptr};
  EXPECT_THAT(buildEnvironment(current, {}),
              ElementsAre("LANG=de_DE.UTF-8", "LC_TIME=C", "PATH=/usr/local/bin:/usr/bin:/bin",
                          "TERM=xterm-256color", "TZ=Europe/Berlin"));
}

TEST(Environment, ValuesThatAreFileNamesOrHoldControlsStayOut) {
  for (const char* const entry :
       {"TZ=/etc/shadow", "TZ=:/etc/shadow", "TZ=../../etc/shadow", "LANG=../evil/locale", "LANG=/tmp/locale",
        "TERM=../evil", "TERM=a\x1b[2J", "TERM=", "LC_ALL=a b",
        "TERM=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    const char* const current[] = {entry, nullptr};
    EXPECT_THAT(buildEnvironment(current, {}), ElementsAre("PATH=/usr/local/bin:/usr/bin:/bin")) << entry;
  }
}

TEST(Environment, WhatThePolicySetsWinsAndIsChecked) {
  const char* const current[] = {"TERM=xterm", nullptr};
  EnvironmentPolicy policy;
  policy.path = "/bin";
  policy.set = {{"TERM", "dumb"}, {"HOME", "/w"}};
  EXPECT_THAT(buildEnvironment(current, policy), ElementsAre("HOME=/w", "PATH=/bin", "TERM=dumb"));

  for (const char* const name : {"", "lower", "A=B", "A B", "1A", "A-B"}) {
    policy.set = {{name, "x"}};
    EXPECT_THROW(buildEnvironment(current, policy), std::invalid_argument) << name;
  }
  policy.set = {{"A", std::string("x\0y", 3)}};
  EXPECT_THROW(buildEnvironment(current, policy), std::invalid_argument);
}

TEST(Environment, TheFirstOfTwoEntriesCountsAndPointersEndInNull) {
  const char* const current[] = {"TERM=one", "TERM=two", nullptr};
  auto environment = buildEnvironment(current, {});
  EXPECT_THAT(environment, Contains("TERM=one"));
  EXPECT_THAT(environment, Not(Contains("TERM=two")));
  const auto pointers = environmentPointers(environment);
  ASSERT_EQ(pointers.size(), environment.size() + 1);
  EXPECT_EQ(pointers.back(), nullptr);
  EXPECT_STREQ(pointers.front(), environment.front().c_str());
}

}  // namespace
}  // namespace factionos::sandbox
