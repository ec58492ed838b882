#include <new>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/redaction/masked_text.h"
#include "tests/unit/redaction/masking.h"

namespace factionos::redaction::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A scanner that works `good` times and then fails as the real one would.
class FailingScanner final : public PrefixScanner {
 public:
  FailingScanner(std::unique_ptr<PrefixScanner> inner, int good) : inner_(std::move(inner)), good_(good) {}
  std::span<const PrefixEvent> scan(Projection projection, std::string_view text) override {
    if (good_-- == 0) throw MaskerFault("broken");
    return inner_->scan(projection, text);
  }

 private:
  std::unique_ptr<PrefixScanner> inner_;
  int good_;
};

class FailingPatterns final : public PatternSet {
 public:
  explicit FailingPatterns(int good) : good_(good) {}
  std::unique_ptr<PrefixScanner> open() const override {
    return std::make_unique<FailingScanner>(patterns().open(), good_);
  }

 private:
  int good_;
};

class FullSink final : public MaskedSink {
 public:
  void onMasked(MaskedBytes bytes) override {
    if (fails-- > 0) throw std::bad_alloc();
    text.append(bytes.view());
  }
  int fails = 1;
  std::string text;
};

TEST(MaskerFailure, P84_MatcherErrorWithholdsEverythingAfterIt) {
  for (int good = 0; good < 6; ++good) {
    const FailingPatterns broken(good);
    Masker masker(broken, secretsOf({"tok-AAAABBBBCCCC"}));
    Collector sink;
    const std::string raw = "visible\nhidden tok-AAAA";
    for (int i = 0; i < 4; ++i) masker.feed(std::as_bytes(std::span(raw)), {}, sink);
    masker.finish(sink);
    EXPECT_TRUE(masker.withholding());
    EXPECT_FALSE(masker.deadline());
    const std::size_t at = sink.text.find("[withheld:masker_fault]");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(sink.text.substr(at), "[withheld:masker_fault][withheld:masker_fault bytes=" +
                                        std::to_string(masker.withheldBytes()) + "]");
    EXPECT_GT(masker.withheldBytes(), 0U);
    EXPECT_EQ(masker.rawBytes(), raw.size() * 4);
  }
}

TEST(MaskerFailure, P84_SinkErrorWithholds) {
  Masker masker(patterns(), secretsOf({}));
  FullSink sink;
  const std::string raw = "some output\n";
  for (int i = 0; i < 3; ++i) masker.feed(std::as_bytes(std::span(raw)), {}, sink);
  masker.finish(sink);
  EXPECT_EQ(sink.text, "[withheld:masker_fault][withheld:masker_fault bytes=36]");
}

TEST(MaskerFailure, P84_SinkThatAlwaysFailsGetsNothing) {
  Masker masker(patterns(), secretsOf({}));
  FullSink sink;
  sink.fails = 1000;
  const std::string raw = "some output\n";
  for (int i = 0; i < 3; ++i) masker.feed(std::as_bytes(std::span(raw)), {}, sink);
  masker.tick({}, sink);
  masker.finish(sink);
  EXPECT_EQ(sink.text, "");
  EXPECT_EQ(masker.withheldBytes(), 36U);
}

TEST(MaskerFailure, AMaskerWithoutRoomIsNotMade) {
  EXPECT_THROW(Masker(patterns(), nullptr), MaskerFault);
  EXPECT_THROW(Masker(patterns(), secretsOf({}), MaskerLimits{.holdTime = 50ms, .holdBytes = 1}),
               MaskerFault);
}

TEST(MaskText, MasksAndBoundsAWholeText) {
  const Secrets secrets = secretsOf({"tok-AAAABBBBCCCC"});
  EXPECT_EQ(maskText(patterns(), secrets, "Fix tok-AAAABBBBCCCC\x1b[2J", 4096).text(),
            "Fix [masked:secret]\\x1b[2J");
  EXPECT_EQ(maskText(patterns(), secrets, std::string(100, 'a'), 40).text(),
            std::string(40, 'a') + "[dropped:60]");
  EXPECT_EQ(maskText(patterns(), secrets, "", 40).text(), "");
}

}  // namespace
}  // namespace factionos::redaction::testing
