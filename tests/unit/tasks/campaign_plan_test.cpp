#include "broker/tasks/campaign_plan.h"

#include <gtest/gtest.h>

#include <capnp/message.h>

namespace factionos::broker {
namespace {

struct Asked {
  const char* name;
  std::vector<const char*> after;
};

Outcome<CampaignPlan> planOf(const std::vector<Asked>& tasks) {
  capnp::MallocMessageBuilder message;
  auto list = message.initRoot<schema::CampaignCreate>().initTasks(static_cast<unsigned>(tasks.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setName(tasks[i].name);
    auto after = list[i].initAfter(static_cast<unsigned>(tasks[i].after.size()));
    for (unsigned j = 0; j < after.size(); ++j) after.set(j, tasks[i].after[j]);
  }
  return campaignPlan(list.asReader());
}

bool refusedAt(const std::vector<Asked>& tasks, std::string_view field) {
  const auto plan = planOf(tasks);
  const auto* refused = refusedIn(plan);
  return refused != nullptr && refused->field.text() == field;
}

TEST(CampaignPlan, NamesBecomePlaces) {
  const auto plan = planOf({{"c", {"a", "b", "a"}}, {"a", {}}, {"b", {"a"}}});
  ASSERT_EQ(refusedIn(plan), nullptr);
  const auto& needs = std::get<CampaignPlan>(plan).needs;
  EXPECT_EQ(needs[0], (std::vector<std::size_t>{1, 2}));
  EXPECT_TRUE(needs[1].empty());
  EXPECT_EQ(needs[2], (std::vector<std::size_t>{1}));
}

TEST(CampaignPlan, WhatWouldWaitForItselfIsRefused) {
  EXPECT_TRUE(refusedAt({{"a", {"a"}}}, "tasks[].after"));
  EXPECT_TRUE(refusedAt({{"a", {"b"}}, {"b", {"a"}}}, "tasks[].after"));
  EXPECT_TRUE(refusedAt({{"a", {}}, {"b", {"a", "d"}}, {"c", {"b"}}, {"d", {"c"}}}, "tasks[].after"));
}

TEST(CampaignPlan, NamesAreLabelsAndThereOnce) {
  EXPECT_TRUE(refusedAt({}, "tasks"));
  EXPECT_TRUE(refusedAt({{"a", {}}, {"a", {}}}, "tasks[].name"));
  EXPECT_TRUE(refusedAt({{"a b", {}}}, "tasks[].name"));
  EXPECT_TRUE(refusedAt({{"a", {"nobody"}}}, "tasks[].after"));
}

}  // namespace
}  // namespace factionos::broker
