#include "broker/idempotency/idempotency.h"

#include <filesystem>
#include <limits>

#include "broker/state/meta_table.h"
#include "tests/unit/state/state_fixture.h"

namespace factionos::idempotency {
namespace {

using state::digestOf;
using state::IdKind;
using state::Transaction;

constexpr std::int64_t kHour = 60 * 60 * 1000;

class IdempotencyTest : public state::StateTest {
 protected:
  Decision begin(std::string_view key, std::string_view request = "body",
                 std::string_view principal = "agent-one") {
    std::optional<Decision> decision;
    commit([&](Transaction& transaction) {
      decision = rules().begin(transaction, Label::of(principal), key, digestOf(request), now);
    });
    return *decision;
  }

  // As actions do it: the claim, the action and the tie in one change.
  std::string propose(const KeyHandle& handle) {
    const std::string id = ids.next(IdKind::kAction);
    commit([&](Transaction& transaction) {
      state::ActionRow row = state::actionOf(id);
      state::ActionTable(transaction.database()).insert(row);
      rules().attachAction(transaction, handle, id);
    });
    return id;
  }

  void finish(const KeyHandle& handle, std::uint32_t status, std::string_view reply) {
    commit([&](Transaction& transaction) {
      rules().finish(transaction, handle, status, audit::asBytes(reply), now);
    });
  }

  void wait(const KeyHandle& handle) {
    commit([&](Transaction& transaction) { rules().wait(transaction, handle, now); });
  }

  bool claim(const KeyHandle& handle) {
    bool mine = false;
    commit([&](Transaction& transaction) { mine = rules().claim(transaction, handle); });
    return mine;
  }

  bool release(const KeyHandle& handle) {
    bool done = false;
    commit([&](Transaction& transaction) { done = rules().release(transaction, handle); });
    return done;
  }

  Idempotency rules() const { return Idempotency(keys, boot); }

  template <typename Outcome>
  static bool is(const Decision& decision) {
    return std::holds_alternative<Outcome>(decision.outcome);
  }

  state::Keys keys = state::Keys::create(home.path() / "keys");
  std::uint64_t boot = 1;
  LivedTime now{1000};
};

TEST_F(IdempotencyTest, C1_SameKeySameRequestReplaysStatusAndBody) {
  const Decision first = begin("k1");
  ASSERT_TRUE(is<Fresh>(first));
  const std::string action = propose(first.handle);
  finish(first.handle, 201, "{\"session\":1}");
  const Decision second = begin("k1");
  ASSERT_TRUE(is<Replay>(second));
  const auto& replay = std::get<Replay>(second.outcome);
  EXPECT_EQ(replay.status, 201U);
  EXPECT_EQ(std::string(replay.reply.begin(), replay.reply.end()), "{\"session\":1}");
  EXPECT_EQ(replay.actionId, action);
}

TEST_F(IdempotencyTest, C3_SameKeyOtherRequestIsRefusedAndTheFirstStaysReplayable) {
  finish(begin("k").handle, 200, "first");
  EXPECT_TRUE(is<Mismatch>(begin("k", "other body")));
  EXPECT_TRUE(is<Replay>(begin("k")));
}

TEST_F(IdempotencyTest, C3_OtherRequestIsRefusedInEveryState) {
  const Decision first = begin("k");
  EXPECT_TRUE(is<Mismatch>(begin("k", "other")));
  propose(first.handle);
  wait(first.handle);
  EXPECT_TRUE(is<Mismatch>(begin("k", "other")));
}

TEST_F(IdempotencyTest, C5_P79_ManyAtOnceGiveOneFresh) {
  int fresh = 0;
  int inFlight = 0;
  std::vector<state::Mutation> batch;
  for (int i = 0; i < 50; ++i) {
    batch.push_back([&](Transaction& transaction) {
      const Decision decision =
          rules().begin(transaction, Label::of("agent-one"), "same", digestOf("body"), now);
      fresh += is<Fresh>(decision) ? 1 : 0;
      inFlight += is<InFlight>(decision) ? 1 : 0;
      if (const auto* busy = std::get_if<InFlight>(&decision.outcome)) {
        EXPECT_GT(busy->retryAfterMs, 0U);
      }
    });
  }
  EXPECT_EQ(writer->runBatch(batch).committed, 50U);
  EXPECT_EQ(fresh, 1);
  EXPECT_EQ(inFlight, 49);
}

TEST_F(IdempotencyTest, KeysBelongToTheirPrincipal) {
  EXPECT_TRUE(is<Fresh>(begin("k", "body", "agent-one")));
  EXPECT_TRUE(is<Fresh>(begin("k", "body", "agent-two")));
}

TEST_F(IdempotencyTest, WaitingActionIsShownAndOneCallerRunsIt) {
  const Decision first = begin("k");
  const std::string action = propose(first.handle);
  wait(first.handle);
  const Decision second = begin("k");
  ASSERT_TRUE(is<Waiting>(second));
  EXPECT_EQ(std::get<Waiting>(second.outcome).actionId, action);
  EXPECT_TRUE(claim(second.handle));
  EXPECT_FALSE(claim(second.handle)) << "P73: the second of two parallel callers";
  EXPECT_TRUE(is<InFlight>(begin("k")));
  finish(second.handle, 200, "done");
  EXPECT_TRUE(is<Replay>(begin("k")));
  EXPECT_FALSE(claim(second.handle));
}

TEST_F(IdempotencyTest, C6_P80_RestartWithAnActionIsInterruptedNeverFresh) {
  const Decision first = begin("k");
  const std::string action = propose(first.handle);
  ++boot;
  const Decision second = begin("k");
  ASSERT_TRUE(is<Interrupted>(second));
  EXPECT_EQ(std::get<Interrupted>(second.outcome).actionId, action);
  std::vector<state::IdempotencyRow> left;
  commit([&](Transaction& transaction) { left = rules().interrupted(transaction, 10); });
  ASSERT_EQ(left.size(), 1U);
  finish({left[0].principal, left[0].keyDigest}, 200, "reconciled");
  EXPECT_TRUE(is<Replay>(begin("k"))) << "never stuck in flight";
}

TEST_F(IdempotencyTest, C6_RestartBeforeTheIntentIsFresh) {
  ASSERT_TRUE(is<Fresh>(begin("k")));
  ++boot;
  EXPECT_TRUE(is<Fresh>(begin("k")));
  EXPECT_TRUE(is<InFlight>(begin("k")));
}

TEST_F(IdempotencyTest, C6_WaitingActionSurvivesARestart) {
  const Decision first = begin("k");
  propose(first.handle);
  wait(first.handle);
  ++boot;
  EXPECT_TRUE(is<Waiting>(begin("k")));
  EXPECT_TRUE(claim(first.handle));
  EXPECT_TRUE(is<InFlight>(begin("k")));
}

TEST_F(IdempotencyTest, C7_FailedValidationStoresNothing) {
  const Decision first = begin("k", "wrong body");
  EXPECT_TRUE(release(first.handle));
  EXPECT_TRUE(is<Fresh>(begin("k", "corrected body")));
}

TEST_F(IdempotencyTest, C7_MutationThatThrowsStoresNothing) {
  EXPECT_THROW(commit([&](Transaction& transaction) {
                 rules().begin(transaction, Label::of("agent-one"), "k", digestOf("wrong"), now);
                 throw std::runtime_error("invalid_request");
               }),
               std::runtime_error);
  EXPECT_TRUE(is<Fresh>(begin("k", "corrected")));
}

TEST_F(IdempotencyTest, ReleaseIsRefusedOnceAnActionStandsBehindTheKey) {
  const Decision first = begin("k");
  propose(first.handle);
  EXPECT_FALSE(release(first.handle));
  EXPECT_TRUE(is<InFlight>(begin("k")));
}

TEST_F(IdempotencyTest, C8_StoredFailureIsReplayed) {
  const Decision first = begin("k");
  propose(first.handle);
  finish(first.handle, 504, "timed_out");
  const Decision second = begin("k");
  ASSERT_TRUE(is<Replay>(second));
  EXPECT_EQ(std::get<Replay>(second.outcome).status, 504U);
}

TEST_F(IdempotencyTest, C9_KeyShapeIsJudgedByName) {
  EXPECT_EQ(checkKey(""), KeyError::kEmpty);
  EXPECT_EQ(checkKey(std::string(256, 'a')), KeyError::kTooLong);
  EXPECT_FALSE(checkKey(std::string(255, 'a')));
  for (const char* bad : {"a b", "a\nb", "a\tb", "\x7f", "caf\xc3\xa9", "\x1b[2J"}) {
    EXPECT_EQ(checkKey(bad), KeyError::kNotVisibleAscii);
  }
  EXPECT_EQ(checkKey("\"quoted\""), KeyError::kQuote);
  EXPECT_EQ(checkKey("it's"), KeyError::kQuote);
  EXPECT_FALSE(checkKey("8e03978e-40d5-43dd-bc93-6894a57f9324"));
  EXPECT_FALSE(checkKey("!#$%&()*+,-./:;<=>?@[\\]^_`{|}~"));
  try {
    begin("s3cret\nkey");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()), "idempotency_key_not_visible_ascii");
  }
}

TEST_F(IdempotencyTest, C9_I7_KeysAreStoredAsKeyedDigestsAlone) {
  finish(begin("canary-key-text-1234").handle, 200, "ok");
  close();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(home.path())) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(testing::readFile(entry.path()).find("canary-key-text"), std::string::npos) << entry.path();
  }
}

TEST_F(IdempotencyTest, KeysExpireADayAfterTheirLastChange) {
  finish(begin("k").handle, 200, "ok");
  now.ms += kLifetimeMs - 1;
  EXPECT_TRUE(is<Replay>(begin("k")));
  now.ms += 1;
  EXPECT_TRUE(is<Fresh>(begin("k")));
}

TEST_F(IdempotencyTest, KeyInFlightNeverExpires) {
  const Decision first = begin("k");
  propose(first.handle);
  now.ms += 3 * kLifetimeMs;
  EXPECT_TRUE(is<InFlight>(begin("k")));
  commit([&](Transaction& transaction) { EXPECT_EQ(rules().purge(transaction, now, 10), 0U); });
  finish(first.handle, 200, "late");
  EXPECT_TRUE(is<Replay>(begin("k"))) << "its day begins at the answer";
}

TEST_F(IdempotencyTest, PurgeTakesWhatExpired) {
  finish(begin("old").handle, 200, "");
  now.ms += kLifetimeMs;
  finish(begin("new").handle, 200, "");
  commit([&](Transaction& transaction) { EXPECT_EQ(rules().purge(transaction, now, 10), 1U); });
  EXPECT_TRUE(is<Replay>(begin("new")));
}

TEST_F(IdempotencyTest, C13_WallClockJumpsChangeNothing) {
  // The wall clock is read by the writer alone; lived time comes from a clock that only goes forward.
  std::int64_t steady = 5000;
  const auto lived = [&](std::uint64_t base) { return LivedClock(base, [&steady] { return steady; }); };
  const LivedClock clock = lived(0);
  audit::Time wall = state::at(1'700'000'000'000);
  state::Writer jumping(*database, *log, [&wall] { return wall; });
  const auto beginAt = [&] {
    std::optional<Decision> decision;
    jumping.runBatch({[&](Transaction& transaction) {
      decision = rules().begin(transaction, Label::of("agent-one"), "k", digestOf("body"), clock.now());
    }});
    return *decision;
  };
  const Decision first = beginAt();
  jumping.runBatch({[&](Transaction& transaction) {
    rules().finish(transaction, first.handle, 200, audit::asBytes("once"), clock.now());
  }});
  for (const auto jump : {48, -96, 24 * 365}) {
    wall += std::chrono::hours(jump);
    steady += kHour;
    EXPECT_TRUE(is<Replay>(beginAt())) << jump;
  }
  steady += 24 * kHour;
  EXPECT_TRUE(is<Fresh>(beginAt()));
}

TEST_F(IdempotencyTest, C13_LivedTimeGoesOnAfterARestartAndNeverBack) {
  std::int64_t steady = 1'000'000;
  {
    const LivedClock clock(0, [&steady] { return steady; });
    steady += 5 * kHour;
    now = clock.now();
    finish(begin("k").handle, 200, "ok");
  }
  const std::uint64_t base = state::MetaTable(*database).get(state::Counter::kLivedMs);
  EXPECT_EQ(base, static_cast<std::uint64_t>(5 * kHour));
  steady = 7;  // the machine was restarted too
  const LivedClock clock(base, [&steady] { return steady; });
  EXPECT_EQ(clock.now().ms, 5 * kHour);
  steady = 3;
  EXPECT_EQ(clock.now().ms, 5 * kHour) << "a clock that goes back is held";
}

TEST_F(IdempotencyTest, WrongUseIsAnErrorOfTheProgram) {
  const Decision first = begin("k");
  EXPECT_THROW(wait(first.handle), std::logic_error) << "no action";
  EXPECT_THROW(finish(first.handle, 200, std::string(kMaxReplyBytes + 1, 'x')), std::logic_error);
  finish(first.handle, 200, "");
  EXPECT_THROW(finish(first.handle, 201, ""), std::logic_error) << "the first answer stays";
  EXPECT_THROW(finish({Label::of("nobody"), digestOf("x")}, 200, ""), std::logic_error);
}

}  // namespace
}  // namespace factionos::idempotency
