#include "broker/state/event_table.h"
#include "broker/state/grant_table.h"
#include "broker/state/idempotency_table.h"
#include "broker/state/meta_table.h"
#include "broker/state/session_table.h"
#include "broker/state/token_table.h"
#include "tests/unit/state/state_fixture.h"

namespace factionos::state {
namespace {

class TableTest : public ::testing::Test {
 protected:
  std::string insertAction() {
    ActionRow row = actionOf(ids.next(IdKind::kAction));
    ActionTable(database).insert(row);
    return row.id;
  }

  testing::TempHome home;
  Database database{home.path() / "state.db", Access::kReadWrite};
  IdGenerator ids;
};

TEST_F(TableTest, ActionKeepsEveryField) {
  ActionTable table(database);
  ActionRow row = actionOf(ids.next(IdKind::kAction));
  row.changes = {{.name = audit::Code::of("files"), .count = 2},
                 {.name = audit::Code::of("bytes"), .count = 0}};
  row.approver = Label::of("operator");
  row.decision = Code::of("approve");
  row.reason = Code::of("policy_ask");
  row.programDigest = digestOf("program");
  row.network = Code::of("none");
  row.sessionId = "ses_x";
  row.failure = Code::of("timed_out");
  row.exitCode = -9;
  row.counts = {1, 2, 3, 4};
  table.insert(row);
  const auto read = table.find(row.id);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->revision, 1U);
  EXPECT_EQ(read->state, ActionState::kProposed);
  EXPECT_EQ(read->workspace, row.workspace);
  EXPECT_EQ(read->target, row.target);
  EXPECT_EQ(read->approver, row.approver);
  EXPECT_EQ(read->reason, row.reason);
  EXPECT_TRUE(read->requestDigest == row.requestDigest);
  EXPECT_TRUE(read->programDigest && *read->programDigest == *row.programDigest);
  EXPECT_EQ(read->changes, row.changes);
  ASSERT_EQ(read->operandDigests.size(), 2U);
  EXPECT_TRUE(read->operandDigests[1] == row.operandDigests[1]);
  EXPECT_EQ(read->expires, row.expires);
  EXPECT_EQ(read->exitCode, -9);
  EXPECT_EQ(read->counts.denials, 4U);
  EXPECT_EQ(read->updated, row.updated);
  EXPECT_EQ(faultOf([&] { table.insert(row); }), StateFault::kConstraint);
}

TEST_F(TableTest, StaleRevisionChangesNothing) {
  ActionTable table(database);
  ActionRow row = actionOf(ids.next(IdKind::kAction));
  table.insert(row);
  ActionRow stale = row;
  row.state = ActionState::kApproved;
  EXPECT_EQ(table.update(row), UpdateResult::kUpdated);
  EXPECT_EQ(row.revision, 2U);
  stale.state = ActionState::kRejected;
  EXPECT_EQ(table.update(stale), UpdateResult::kStale);
  EXPECT_EQ(stale.revision, 1U);
  EXPECT_EQ(table.find(row.id)->state, ActionState::kApproved);
  stale.revision = 9;
  EXPECT_EQ(table.update(stale), UpdateResult::kStale) << "a revision that was never there is stale too";
  stale.id = "act_none";
  EXPECT_EQ(table.update(stale), UpdateResult::kMissing);
}

TEST_F(TableTest, ActionsListByPagesBothWays) {
  ActionTable table(database);
  std::vector<std::string> made;
  for (int i = 0; i < 25; ++i) {
    ActionRow row = actionOf(ids.next(IdKind::kAction));
    if (i % 2 == 1) row.state = ActionState::kSucceeded;
    table.insert(row);
    made.push_back(row.id);
  }
  for (const ListOrder order : {ListOrder::kOldestFirst, ListOrder::kNewestFirst}) {
    std::vector<std::string> seen;
    std::string after;
    for (;;) {
      const ActionPage page = table.list({}, after, 10, order);
      for (const ActionRow& row : page.rows) seen.push_back(row.id);
      if (!page.next) break;
      after = *page.next;
    }
    if (order == ListOrder::kNewestFirst) std::reverse(seen.begin(), seen.end());
    EXPECT_EQ(seen, made);
  }
  EXPECT_EQ(table.list({.state = ActionState::kSucceeded}, "", 100).rows.size(), 12U);
  EXPECT_EQ(table.list({.principal = Label::of("nobody")}, "", 100).rows.size(), 0U);
  EXPECT_EQ(table.list({.family = Code::of("git"), .workspace = Label::of("demo")}, "", 100).rows.size(),
            25U);
  EXPECT_EQ(table.count(ActionState::kProposed), 13U);
  EXPECT_EQ(table.newest(), at(1000));
}

TEST_F(TableTest, DueActionsAreThoseThatStillWait) {
  ActionTable table(database);
  ActionRow waiting = actionOf(ids.next(IdKind::kAction));
  table.insert(waiting);
  ActionRow done = actionOf(ids.next(IdKind::kAction));
  done.state = ActionState::kSucceeded;
  table.insert(done);
  EXPECT_TRUE(table.due(at(4999), 10).empty());
  ASSERT_EQ(table.due(at(5000), 10).size(), 1U);
  EXPECT_EQ(table.due(at(5000), 10)[0].id, waiting.id);
}

TEST_F(TableTest, RevokedTokenIsNobodyAndItsNameStaysTaken) {
  TokenTable table(database);
  table.insert({.name = Label::of("ci"), .scopes = 3, .digest = digestOf("t1"), .created = at(1)});
  ASSERT_TRUE(table.authenticate(digestOf("t1")));
  EXPECT_EQ(table.authenticate(digestOf("t1"))->scopes, 3U);
  EXPECT_FALSE(table.authenticate(digestOf("t2")));
  EXPECT_TRUE(table.revoke(Label::of("ci"), at(2)));
  EXPECT_FALSE(table.revoke(Label::of("ci"), at(3)));
  EXPECT_FALSE(table.authenticate(digestOf("t1")));
  EXPECT_EQ(
      faultOf([&] { table.insert({.name = Label::of("ci"), .digest = digestOf("t3"), .created = at(4)}); }),
      StateFault::kConstraint);
  EXPECT_EQ(table.list()[0].revoked, at(2));
}

TEST_F(TableTest, GrantsEnd) {
  GrantTable table(database);
  GrantRow row{.family = Code::of("git"),
               .operation = Code::of("commit"),
               .workspace = Label::of("demo"),
               .grantor = Label::of("operator"),
               .until = at(100),
               .created = at(1)};
  table.insert(row);
  EXPECT_GT(row.id, 0);
  EXPECT_EQ(table.live(at(99)).size(), 1U);
  EXPECT_EQ(table.live(at(100)).size(), 0U);
  EXPECT_EQ(table.purge(at(100)), 1U);
  EXPECT_FALSE(table.erase(row.id));
}

TEST_F(TableTest, SessionsAreSummaries) {
  SessionTable table(database);
  const std::string action = insertAction();
  SessionRow row{
      .id = ids.next(IdKind::kSession), .actionId = action, .state = Code::of("running"), .started = at(1)};
  table.insert(row);
  EXPECT_EQ(table.unfinished().size(), 1U);
  row.state = Code::of("exited");
  row.bytesOut = 7;
  row.ended = at(2);
  EXPECT_TRUE(table.update(row));
  EXPECT_EQ(table.unfinished().size(), 0U);
  EXPECT_EQ(table.find(row.id)->bytesOut, 7U);
  EXPECT_EQ(table.list("", 10).size(), 1U);
  row.id = ids.next(IdKind::kSession);
  row.actionId = "act_none";
  EXPECT_EQ(faultOf([&] { table.insert(row); }), StateFault::kConstraint) << "a session belongs to an action";
}

TEST_F(TableTest, EventsAreDedupedAndBounded) {
  EventTable table(database);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(table.insert({.id = ids.next(IdKind::kEvent),
                              .source = Label::of("claude-code"),
                              .kind = Code::of("stop"),
                              .fields = 4,
                              .bytes = 100,
                              .time = at(i),
                              .dedupe = digestOf(std::to_string(i))}));
  }
  EXPECT_FALSE(table.insert({.id = ids.next(IdKind::kEvent),
                             .source = Label::of("claude-code"),
                             .kind = Code::of("stop"),
                             .time = at(1),
                             .dedupe = digestOf("3")}));
  EXPECT_EQ(table.trim(5), 15U);
  EXPECT_EQ(table.list("", 100).size(), 5U);
  EXPECT_EQ(table.list("", 100)[0].time, at(19)) << "the oldest went";
}

TEST_F(TableTest, CountersOnlyHoldNumbers) {
  MetaTable table(database);
  EXPECT_EQ(table.get(Counter::kPolicyRevision), 0U);
  EXPECT_EQ(table.raise(Counter::kPolicyRevision), 1U);
  EXPECT_EQ(table.raise(Counter::kPolicyRevision), 2U);
  table.set(Counter::kBootEpoch, 9);
  EXPECT_EQ(table.get(Counter::kBootEpoch), 9U);
}

}  // namespace
}  // namespace factionos::state
