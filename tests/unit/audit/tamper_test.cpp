#include <filesystem>
#include <utility>

#include "broker/audit/epoch_key.h"
#include "broker/audit/head.h"
#include "broker/audit/line.h"
#include "tests/unit/audit/audit_fixture.h"

// What someone does to the files, and what verify() says of it.
namespace factionos::audit {
namespace {

// Genesis, seal of the open, ten decisions: twelve lines, closed.
class TamperTest : public AuditTest {
 protected:
  void SetUp() override {
    AuditTest::SetUp();
    const auto log = open();
    append(*log, 10);
    ASSERT_EQ(log->lastSequence(), 12U);
  }
};

TEST_F(TamperTest, UntouchedLogIsIntact) {
  const Verdict verdict = check();
  EXPECT_TRUE(verdict.intact()) << nameOf(verdict.breach) << " at " << verdict.sequence;
  EXPECT_EQ(verdict.records, 10U);
  EXPECT_EQ(verdict.sequence, 12U);
  EXPECT_EQ(verdict.tornBytes, 0U);
  EXPECT_FALSE(verdict.headBehind);
}

TEST_F(TamperTest, D1_P81_EveryFlippedByteIsFoundAtItsLine) {
  const std::string good = testing::readFile(paths.log());
  std::uint64_t sequence = 1;
  for (std::size_t at = 0; at < good.size(); ++at) {
    // Every byte of a line in each epoch and of the last, a sample of the rest.
    if (at % 7 == 0 || good[at] == '\n' || at + 600 > good.size()) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (at % 2 == 0 ? 0x01 : 0x20));
      testing::overwriteFile(paths.log(), bad);
      const Verdict verdict = check();
      ASSERT_FALSE(verdict.intact()) << "byte " << at << " of line " << sequence;
      ASSERT_EQ(verdict.sequence, sequence) << "byte " << at << ": " << nameOf(verdict.breach);
    }
    if (good[at] == '\n') ++sequence;
  }
}

TEST_F(TamperTest, P81_DroppedFirstLine) {
  auto kept = lines();
  kept.erase(kept.begin());
  rewrite(kept);
  expectBroken(check(), Breach::kSequence, 1);
}

TEST_F(TamperTest, P81_DroppedMiddleLine) {
  auto kept = lines();
  kept.erase(kept.begin() + 5);
  rewrite(kept);
  expectBroken(check(), Breach::kSequence, 6);
}

TEST_F(TamperTest, D2_P81_DroppedLastLinesAtACleanEdge) {
  for (std::size_t drop = 1; drop < 12; ++drop) {
    auto kept = lines();
    kept.resize(12 - drop);
    const auto saved = testing::readFile(paths.log());
    rewrite(kept);
    expectBroken(check(), Breach::kTruncated, 12 - drop + 1);
    testing::overwriteFile(paths.log(), saved);
  }
}

TEST_F(TamperTest, P81_DroppedAllLines) {
  rewrite({});
  expectBroken(check(), Breach::kNoLog, 1);
  std::filesystem::remove(paths.log());
  expectBroken(check(), Breach::kNoLog, 1);
  std::filesystem::remove_all(paths.directory());
  expectBroken(check(), Breach::kNoLog, 1);
}

TEST_F(TamperTest, D3_SwappedNeighbours) {
  auto changed = lines();
  std::swap(changed[4], changed[5]);
  rewrite(changed);
  expectBroken(check(), Breach::kSequence, 5);
}

TEST_F(TamperTest, D3_DuplicatedLineInTheMiddleAndAtTheEnd) {
  auto changed = lines();
  changed.insert(changed.begin() + 4, changed[4]);
  rewrite(changed);
  expectBroken(check(), Breach::kSequence, 6);
}

TEST_F(TamperTest, D3_DuplicatedLastLine) {
  auto changed = lines();
  changed.push_back(changed.back());
  rewrite(changed);
  expectBroken(check(), Breach::kSequence, 13);
}

// Written by hand, well chained, by someone who has no key.
std::string forged(const std::string& lastLine, std::optional<Signature> signature) {
  const auto last = parseLine(std::string_view(lastLine).substr(0, lastLine.size() - 1));
  return encode(Line{.sequence = last->line.sequence + 1,
                     .time = last->line.time,
                     .clock = ClockNote::kForward,
                     .body = recordOf(),
                     .previous = last->lineHash,
                     .signature = signature});
}

TEST_F(TamperTest, AppendedLineWithAForgedSignature) {
  auto changed = lines();
  changed.push_back(forged(changed.back(), Signature{}));
  rewrite(changed);
  expectBroken(check(), Breach::kSignature, 13);
}

TEST_F(TamperTest, AppendedLineWithoutASignatureCountsForNothing) {
  auto changed = lines();
  const std::string extra = forged(changed.back(), std::nullopt);
  changed.push_back(extra);
  rewrite(changed);
  const Verdict verdict = check();
  EXPECT_TRUE(verdict.intact());
  EXPECT_EQ(verdict.tornBytes, extra.size());
  open();
  EXPECT_EQ(check().gaps, 1U);
  EXPECT_TRUE(check().intact());
}

TEST_F(TamperTest, HeadThatWasChangedWithoutTheKeyHidesNothing) {
  const std::string good = testing::readFile(paths.head());
  const std::size_t newest = readHeads(paths.head()).newest->counter % 2 == 1 ? 0 : 1;
  for (std::size_t at = 0; at < good.size(); at += 3) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    testing::overwriteFile(paths.head(), bad);
    const Verdict verdict = check();
    // The newest slot alone may be damaged, as by power loss: then the log must hold the batch that it stood
    // for.
    ASSERT_EQ(verdict.intact(), at / kHeadSlotBytes == newest) << "byte " << at;
    ASSERT_EQ(verdict.headBehind, verdict.intact());
  }
}

TEST_F(TamperTest, NewestHeadSlotDestroyedAndItsBatchDropped) {
  std::string head = testing::readFile(paths.head());
  const HeadPair pair = readHeads(paths.head());
  const std::size_t slot = pair.newest->counter % 2 == 1 ? 0 : kHeadSlotBytes;
  head.replace(slot, kHeadSlotBytes, kHeadSlotBytes, '\0');
  testing::overwriteFile(paths.head(), head);
  EXPECT_TRUE(check().intact()) << "as power loss leaves it: the batch is in the log";
  auto kept = lines();
  kept.pop_back();
  rewrite(kept);
  expectBroken(check(), Breach::kHeadDamaged, 11);
}

TEST_F(TamperTest, OldHeadSlotCopiedOverTheNewest) {
  std::string head = testing::readFile(paths.head());
  const std::string first = head.substr(0, kHeadSlotBytes);
  testing::overwriteFile(paths.head(), first + first);
  EXPECT_EQ(check().breach, Breach::kHeadDamaged);
}

TEST_F(TamperTest, HeadSlotOfLongAgoPutInTheNewestsPlace) {
  const std::string old = testing::readFile(paths.head());
  {
    const auto log = open();
    append(*log, 4);
  }
  std::string head = testing::readFile(paths.head());
  const std::size_t slot = readHeads(paths.head()).newest->counter % 2 == 1 ? 0 : kHeadSlotBytes;
  head.replace(slot, kHeadSlotBytes, old, slot, kHeadSlotBytes);
  testing::overwriteFile(paths.head(), head);
  EXPECT_EQ(check().breach, Breach::kHeadDamaged);
}

TEST_F(TamperTest, HeadMadeWithAnotherKey) {
  auto kept = lines();
  kept.pop_back();
  rewrite(kept);
  std::uint64_t size = 0;
  for (const std::string& line : kept) size += line.size();
  const auto last = parseLine(std::string_view(kept.back()).substr(0, kept.back().size() - 1));
  Head head{
      .epoch = 2, .sequence = 11, .size = size, .epochStart = kept.front().size(), .hash = last->lineHash};
  FileOps ops;
  std::filesystem::remove(paths.head());
  HeadFile::create(paths.head(), head, EpochKey::generate(2), ops);
  expectBroken(check(), Breach::kHeadDamaged, 11);
  std::filesystem::remove(paths.head());
  HeadFile::create(paths.head(), head, *EpochKey::load(paths.key()), ops);
  EXPECT_TRUE(check().intact()) << "control: with the epoch's own key it is the same head, and nothing shows";
}

TEST_F(TamperTest, LineRewrittenWithItsOwnHashDoesNotFitTheNext) {
  {
    const auto log = open();
    log->append(std::vector(3, recordOf()));
  }
  auto changed = lines();
  auto parsed = parseLine(std::string_view(changed[13]).substr(0, changed[13].size() - 1));
  ASSERT_FALSE(parsed->line.signature) << "inside a batch, where no signature is in the way";
  std::get<Record>(parsed->line.body).decision = Code::of("reject");
  changed[13] = encode(parsed->line);
  rewrite(changed);
  expectBroken(check(), Breach::kChain, 15);
}

TEST_F(TamperTest, MissingHead) {
  std::filesystem::remove(paths.head());
  EXPECT_EQ(check().breach, Breach::kHeadDamaged);
}

TEST_F(TamperTest, RollbackOfTheLogAlone) {
  const std::string old = testing::readFile(paths.log());
  append(*open(), 3);
  ASSERT_TRUE(check().intact());
  testing::overwriteFile(paths.log(), old);
  expectBroken(check(), Breach::kTruncated, 13);
  EXPECT_THROW(open(), AuditUnavailable);
}

TEST_F(TamperTest, RollbackOfLogAndHeadShowsByTheKeyOnceAnEpochHasPassed) {
  const std::string oldLog = testing::readFile(paths.log());
  const std::string oldHead = testing::readFile(paths.head());
  append(*open(), 3);
  testing::overwriteFile(paths.log(), oldLog);
  testing::overwriteFile(paths.head(), oldHead);
  expectBroken(check(), Breach::kWrongEpochKey, 12);
}

TEST_F(TamperTest, RollbackOfEverythingShowsAgainstAnAnchor) {
  const auto save = home.path() / "saved";
  const auto whole = {paths.log(), paths.head(), paths.key()};
  std::filesystem::create_directory(save);
  for (const auto& file : whole) std::filesystem::copy_file(file, save / file.filename());
  Expectation anchor{.firstPublicKey = firstKey};
  {
    const auto log = open();
    append(*log, 3);
    anchor.atLeast = log->lastSequence();
    anchor.hashAtLeast = log->lastHash();
  }
  ASSERT_TRUE(verify(paths, anchor).intact());
  for (const auto& file : whole) {
    testing::overwriteFile(file, testing::readFile(save / file.filename()));
  }
  ASSERT_TRUE(check().intact()) << "without an anchor nothing tells";
  expectBroken(verify(paths, anchor), Breach::kTruncated, 13);
}

TEST_F(TamperTest, AnchorWithAnotherHash) {
  expectBroken(verify(paths, Expectation{.firstPublicKey = firstKey, .atLeast = 7, .hashAtLeast = Digest{}}),
               Breach::kTruncated, 7);
}

TEST_F(TamperTest, WrongFirstKey) {
  const testing::TempHome other;
  const std::string otherKey = AuditLog::create(AuditPaths{other.path()});
  expectBroken(verify(paths, Expectation{.firstPublicKey = otherKey}), Breach::kWrongFirstKey, 1);
}

TEST_F(TamperTest, ForeignEpochKey) {
  const testing::TempHome other;
  AuditLog::create(AuditPaths{other.path()});
  testing::overwriteFile(paths.key(), testing::readFile(AuditPaths{other.path()}.key()));
  expectBroken(check(), Breach::kWrongEpochKey, 12);
  EXPECT_THROW(open(), AuditUnavailable);
}

TEST_F(TamperTest, WhoHoldsTodaysKeyCannotRewriteAClosedEpoch) {
  open();  // seals epoch 2 and erases its key
  const auto key = EpochKey::load(paths.key());
  ASSERT_TRUE(key);
  // Rewrites line 5 and chains and signs all that follows with the key at hand.
  auto changed = lines();
  Digest previous;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    auto parsed = parseLine(std::string_view(changed[i]).substr(0, changed[i].size() - 1));
    if (i >= 4) {
      parsed->line.previous = previous;
      if (auto* record = std::get_if<Record>(&parsed->line.body)) record->decision = Code::of("reject");
      parsed->line.signature = key->sign(signedText(hash(asBytes(encodeContent(parsed->line)))));
    }
    changed[i] = encode(parsed->line);
    previous = hash(asBytes(std::string_view(changed[i]).substr(0, changed[i].size() - 1)));
  }
  rewrite(changed);
  expectBroken(check(), Breach::kSignature, 5);
}

TEST_F(TamperTest, LogAheadOfTheHeadByMoreThanOneBatch) {
  const std::string oldHead = testing::readFile(paths.head());
  {
    const auto log = open();  // one batch: the seal
    const std::string headAfterOpen = testing::readFile(paths.head());
    append(*log, 1);
    testing::overwriteFile(paths.head(), headAfterOpen);
    const Verdict oneBatch = check();
    EXPECT_TRUE(oneBatch.intact()) << nameOf(oneBatch.breach);
    EXPECT_TRUE(oneBatch.headBehind);
  }
  testing::overwriteFile(paths.head(), oldHead);
  expectBroken(check(), Breach::kHeadBehind, 13);
  EXPECT_THROW(open(), AuditUnavailable);
}

TEST_F(TamperTest, EveryBreachRefusesToOpen) {
  auto changed = lines();
  std::swap(changed[8], changed[9]);
  rewrite(changed);
  try {
    open();
    FAIL() << "opened";
  } catch (const AuditUnavailable& error) {
    EXPECT_EQ(error.fault(), AuditFault::kTampered);
  }
}

}  // namespace
}  // namespace factionos::audit
