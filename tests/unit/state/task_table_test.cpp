#include "broker/state/task_table.h"

#include "broker/state/campaign_table.h"
#include "broker/state/run_table.h"
#include "tests/unit/state/state_fixture.h"

namespace factionos::state {
namespace {

TaskRow taskOf(const std::string& id) {
  return TaskRow{.id = id,
                 .name = Label::of("build"),
                 .templateId = Label::of("claude"),
                 .workspace = Label::of("demo"),
                 .network = Code::of("none"),
                 .principal = Label::of("agent-one"),
                 .created = at(1000),
                 .updated = at(1000)};
}

class TaskTableTest : public StateTest {
 protected:
  TaskTable tasks() { return TaskTable(*database); }
  // An action of `task` that stands as told.
  void dispatch(const std::string& task, const std::string& action, ActionState state) {
    auto row = actionOf(action);
    ActionTable(*database).insert(row);
    row.state = state;
    ASSERT_EQ(ActionTable(*database).update(row), UpdateResult::kUpdated);
    auto standing = tasks().find(task);
    ASSERT_TRUE(standing);
    standing->row.actionId = action;
    ASSERT_EQ(tasks().update(standing->row), UpdateResult::kUpdated);
  }
};

TEST_F(TaskTableTest, AStaleRevisionChangesNothing) {
  tasks().insert(taskOf("tsk_1"));
  auto one = tasks().find("tsk_1")->row;
  auto other = one;
  one.cancelled = true;
  EXPECT_EQ(tasks().update(one), UpdateResult::kUpdated);
  EXPECT_EQ(one.revision, 2U);
  other.attempt = 7;
  EXPECT_EQ(tasks().update(other), UpdateResult::kStale);
  EXPECT_EQ(tasks().find("tsk_1")->row.attempt, 1U);
  other.id = "tsk_2";
  EXPECT_EQ(tasks().update(other), UpdateResult::kMissing);
}

TEST_F(TaskTableTest, ATaskStandsAsItsActionAndItsNeedsDo) {
  for (const char* id : {"tsk_1", "tsk_2", "tsk_3"}) tasks().insert(taskOf(id));
  tasks().need("tsk_3", "tsk_1");
  tasks().need("tsk_3", "tsk_2");
  EXPECT_FALSE(tasks().find("tsk_3")->action);
  EXPECT_EQ(tasks().find("tsk_3")->needsUnmet, 2U);
  EXPECT_EQ(tasks().find("tsk_3")->needsFailed, 0U);
  dispatch("tsk_1", "act_1", ActionState::kSucceeded);
  dispatch("tsk_2", "act_2", ActionState::kFailed);
  const auto standing = tasks().find("tsk_3");
  EXPECT_EQ(standing->needs, 2U);
  EXPECT_EQ(standing->needsUnmet, 1U);
  EXPECT_EQ(standing->needsFailed, 1U);
  EXPECT_EQ(tasks().find("tsk_1")->action, ActionState::kSucceeded);
  EXPECT_EQ(tasks().findByAction("act_2")->row.id, "tsk_2");
  EXPECT_EQ(tasks().needsOf("tsk_3"), (std::vector<std::string>{"tsk_1", "tsk_2"}));
}

TEST_F(TaskTableTest, OneActionBelongsToOneTask) {
  tasks().insert(taskOf("tsk_1"));
  tasks().insert(taskOf("tsk_2"));
  dispatch("tsk_1", "act_1", ActionState::kExecuting);
  auto other = tasks().find("tsk_2")->row;
  other.actionId = "act_1";
  EXPECT_THROW(tasks().update(other), StateUnavailable);
}

TEST_F(TaskTableTest, OnlyEndedTasksThatNobodyNeedsGo) {
  for (const char* id : {"tsk_1", "tsk_2", "tsk_3", "tsk_4"}) tasks().insert(taskOf(id));
  tasks().need("tsk_2", "tsk_1");
  dispatch("tsk_1", "act_1", ActionState::kSucceeded);
  dispatch("tsk_3", "act_3", ActionState::kFailed);
  EXPECT_EQ(tasks().open(), 2U);
  EXPECT_EQ(tasks().trim(1), 1U);
  EXPECT_TRUE(tasks().find("tsk_1"));
  EXPECT_FALSE(tasks().find("tsk_3"));
  EXPECT_EQ(tasks().count(), 3U);
}

TEST_F(TaskTableTest, WhatNeverRanAndNeverWillGoesToo) {
  for (const char* id : {"tsk_1", "tsk_2", "tsk_3", "tsk_4", "tsk_5", "tsk_6"}) tasks().insert(taskOf(id));
  auto never = tasks().find("tsk_1")->row;
  never.cancelled = true;
  tasks().update(never);
  dispatch("tsk_2", "act_2", ActionState::kRejected);
  dispatch("tsk_3", "act_3", ActionState::kExpired);
  dispatch("tsk_4", "act_4", ActionState::kUnknown);
  auto unknown = tasks().find("tsk_4")->row;
  unknown.cancelled = true;
  tasks().update(unknown);
  dispatch("tsk_5", "act_5", ActionState::kProposed);
  EXPECT_EQ(tasks().trim(0), 3U);
  for (const char* id : {"tsk_4", "tsk_5", "tsk_6"}) EXPECT_TRUE(tasks().find(id)) << id;
}

TEST_F(TaskTableTest, ACampaignIsListedWithItsTasksInOrder) {
  CampaignTable campaigns(*database);
  campaigns.insert({.id = "cmp_1",
                    .name = Label::of("release"),
                    .principal = Label::of("agent-one"),
                    .created = at(1),
                    .updated = at(1)});
  for (const char* id : {"tsk_2", "tsk_1"}) {
    auto row = taskOf(id);
    row.campaignId = "cmp_1";
    tasks().insert(row);
  }
  tasks().insert(taskOf("tsk_3"));
  const auto all = tasks().ofCampaign("cmp_1");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.front().row.id, "tsk_1");
  EXPECT_EQ(tasks().list({}, {}, 10).front().row.id, "tsk_3");
  EXPECT_EQ(tasks().list({.campaignId = "cmp_1"}, "tsk_2", 10).size(), 1U);
  EXPECT_TRUE(campaigns.touch("cmp_1", at(2)));
  EXPECT_EQ(campaigns.find("cmp_1")->revision, 2U);
  EXPECT_FALSE(campaigns.touch("cmp_2", at(2)));
}

TEST_F(TaskTableTest, ARunIsUnfinishedUntilItHasEndedAndIsRemoved) {
  auto action = actionOf("act_1");
  ActionTable(*database).insert(action);
  RunTable runs(*database);
  RunRow row{
      .actionId = "act_1", .runtime = Code::of("docker"), .cleanup = Code::of("pending"), .started = at(1)};
  runs.insert(row);
  EXPECT_EQ(runs.unfinished(10).size(), 1U);
  row.ended = at(2);
  row.cleanup = Code::of("left");
  EXPECT_TRUE(runs.update(row));
  EXPECT_EQ(runs.unfinished(10).size(), 1U);
  row.cleanup = Code::of("removed");
  EXPECT_TRUE(runs.update(row));
  EXPECT_TRUE(runs.unfinished(10).empty());
  EXPECT_EQ(runs.find("act_1")->runtime.text(), "docker");
}

TEST(RunNames, ARunHasTheNameOfItsAction) {
  IdGenerator ids;
  const auto action = ids.next(IdKind::kAction);
  EXPECT_TRUE(isId(IdKind::kRun, runIdOf(action)));
  EXPECT_EQ(actionIdOf(runIdOf(action)), action);
}

}  // namespace
}  // namespace factionos::state
