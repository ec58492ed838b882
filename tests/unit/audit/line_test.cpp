#include "broker/audit/line.h"

#include <limits>
#include <sstream>

#include "broker/audit/reader.h"
#include "tests/unit/audit/audit_fixture.h"

namespace factionos::audit {
namespace {

Line largest() {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  const std::string label = std::string(32, 'a') + "." + std::string(32, 'b') + "." + std::string(30, 'c');
  const std::string code(Code::kMaxBytes, 'z');
  Record record = recordOf(std::numeric_limits<std::uint32_t>::max());
  record.family = record.operation = record.decision = record.idempotency = record.result = Code::of(code);
  record.requester = Label::of(label);
  record.approver = record.target = Label::of(label);
  record.failure = Code::of(code);
  record.redactionVersion = std::numeric_limits<std::uint32_t>::max();
  record.counts = {kMost, kMost, kMost};
  record.requestDigest = Digest{};
  return Line{.sequence = kMost,
              .time = Time(std::chrono::milliseconds(static_cast<std::int64_t>(kLastTimeMs))),
              .body = record,
              .previous = {},
              .signature = Signature{}};
}

std::string withoutNewline(std::string text) {
  text.pop_back();
  return text;
}

TEST(Line, ReadsBackWhatItWrote) {
  for (const auto& body :
       std::vector<decltype(Line::body)>{Genesis{}, Seal{7, {}}, Gap{12, {}}, Void{3, 5}, recordOf()}) {
    const Line line{.sequence = 9, .time = Time(std::chrono::milliseconds(1)), .body = body, .previous = {}};
    const auto parsed = parseLine(withoutNewline(encode(line)));
    ASSERT_TRUE(parsed) << encode(line);
    EXPECT_EQ(encode(parsed->line), encode(line));
    EXPECT_TRUE(parsed->storedHash == parsed->contentHash);
  }
}

TEST(Line, TheLargestFits) {
  const std::string text = encode(largest());
  EXPECT_LT(text.size(), kMaxLineBytes);
  EXPECT_TRUE(parseLine(withoutNewline(text)));
}

TEST(Line, HasOneTextAlone) {
  const std::string good = withoutNewline(encode(largest()));
  ASSERT_TRUE(parseLine(good));
  EXPECT_FALSE(parseLine(good + " "));
  EXPECT_FALSE(parseLine(" " + good));
  EXPECT_FALSE(parseLine(good + " x=1"));
  for (std::size_t cut = 0; cut < good.size(); ++cut) EXPECT_FALSE(parseLine(good.substr(0, cut)));
  std::string zeros = good;
  zeros.replace(zeros.find("revision="), 9, "revision=0");
  EXPECT_FALSE(parseLine(zeros));
  std::string upper = good;
  upper.replace(upper.find("prev=0"), 6, "prev=A");
  EXPECT_FALSE(parseLine(upper));
}

using ReaderTest = AuditTest;

TEST_F(ReaderTest, ListsByPagesInOrder) {
  const auto log = open();
  append(*log, 40);
  std::vector<std::uint64_t> seen;
  std::uint64_t after = 0;
  for (;;) {
    const auto page = list(paths, after, 7);
    if (page.empty()) break;
    EXPECT_LE(page.size(), 7U);
    for (const Line& line : page) seen.push_back(line.sequence);
    after = page.back().sequence;
  }
  ASSERT_EQ(seen.size(), 42U);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i + 1);
  for (std::uint64_t from = 0; from < 42; ++from) EXPECT_EQ(list(paths, from, 1).front().sequence, from + 1);
}

TEST_F(ReaderTest, ExportsEveryLineAsOneJsonObject) {
  const auto log = open();
  append(*log, 3);
  std::ostringstream out;
  EXPECT_EQ(exportTo(paths, out), 5U);
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_NE(text.find(R"("kind":"genesis","key":")" + firstKey + "\""), std::string::npos);
  EXPECT_NE(
      text.find(R"("family":"git","operation":"commit","requester":"agent-one","approver":"operator",)"),
      std::string::npos);
}

TEST_F(ReaderTest, D10_KeyedDigestFindsTheRecord) {
  const auto log = open();
  append(*log, 2);
  Record record = recordOf();
  record.requestDigest = hash(asBytes("stands for a keyed digest"));
  log->append(std::vector{record});
  std::ostringstream out;
  exportTo(paths, out);
  EXPECT_NE(out.str().find(toHex(record.requestDigest->bytes)), std::string::npos);
}

}  // namespace
}  // namespace factionos::audit
