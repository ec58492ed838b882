// What the tests of a family's worker that was taken over have in common.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "live_broker.h"
#include "tests/hostile/policy_text.h"

namespace factionos::test {

class HostileFamilyWorker : public testing::Test {
 protected:
  // `programs`: of the broker whose family's worker is the hostile one.
  explicit HostileFamilyWorker(const char* programs)
      : broker({.policy = kEverythingAllowed, .broker = programs}) {}

  void TearDown() override {
    EXPECT_EQ(broker.cli({"audit", "verify"}).status, 0) << "the audit is whole";
    const auto honest = honestChange();
    EXPECT_EQ(honest.status, 200) << "the broker serves on: " << honest.body;
  }

  virtual Reply honestChange() = 0;

  // The latest action is the scenario's.
  void expectMisbehaved(const Reply& reply, const std::string& scenario) {
    EXPECT_EQ(reply.code(), "worker_misbehaved") << scenario << reply.body;
    const auto actions = broker.get("/v1/actions?limit=1", token);
    EXPECT_EQ(actions.at("/actions/0/state"), "failed") << scenario << actions.body;
    EXPECT_EQ(actions.at("/actions/0/failureCode"), "worker_misbehaved") << scenario;
  }

  LiveBroker broker;
  std::string token = broker.token("read,propose", "agent");
};

}  // namespace factionos::test
