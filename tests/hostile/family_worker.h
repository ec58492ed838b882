// What the tests of a family's worker that was taken over have in common.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "live_broker.h"
#include "tests/hostile/policy_text.h"
#include "tests/hostile/wire.h"

namespace factionos::test {

class HostileFamilyWorker : public testing::Test {
 protected:
  // `programs`: of the broker whose family's worker, `name`, is the hostile one.
  HostileFamilyWorker(const char* programs, std::string name)
      : broker({.policy = kEverythingAllowed, .broker = programs}), name_(std::move(name)) {}

  void TearDown() override {
    EXPECT_EQ(broker.cli({"audit", "verify"}).status, 0) << "the audit is whole";
    const auto honest = honestChange();
    EXPECT_EQ(honest.status, 200) << "the broker serves on: " << honest.body;
  }

  virtual Reply honestChange() = 0;
  virtual Reply turnBad(const std::string& scenario, const std::string& argument = "x") = 0;

  // The latest action is the scenario's.
  void expectMisbehaved(const Reply& reply, const std::string& scenario) {
    EXPECT_EQ(reply.code(), "worker_misbehaved") << scenario << reply.body;
    const auto actions = broker.get("/v1/actions?limit=1", token);
    EXPECT_EQ(actions.at("/actions/0/state"), "failed") << scenario << actions.body;
    EXPECT_EQ(actions.at("/actions/0/failureCode"), "worker_misbehaved") << scenario;
  }

  // And by its name: not for something else that would have been found out later.
  void expectBroken(const std::string& scenario) {
    SCOPED_TRACE(scenario);
    const auto before = told();
    expectMisbehaved(turnBad(scenario), scenario);
    EXPECT_TRUE(eventually([&]() { return told() == before + 1; })) << broker.log();
  }

  // How often the log tells of a line that was ended because its protocol was broken.
  std::size_t told() const {
    const auto line = "worker_misbehaved worker=" + name_ + " session=none breach=protocol";
    const auto text = broker.log();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(line, at)) != std::string::npos; ++at) ++count;
    return count;
  }

  LiveBroker broker;
  std::string token = broker.token("read,propose", "agent");

 private:
  std::string name_;
};

}  // namespace factionos::test
