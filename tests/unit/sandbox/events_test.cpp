#include "sandbox/events.h"

#include <cstring>

#include <gtest/gtest.h>
#include <unistd.h>

#include "sandbox/descriptors.h"

namespace factionos::sandbox {
namespace {

TEST(Events, RoundTripThroughAPipe) {
  const Pipe pipe = makePipe();
  const Event sent{EventCode::kTrapped, {41, 0xc000003e, 0}};
  writeEvent(pipe.write.get(), sent);
  EventBytes bytes;
  ASSERT_EQ(read(pipe.read.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(kEventBytes));
  EXPECT_EQ(parseEvent(bytes), sent);
}

TEST(Events, EveryKnownCodeIsTakenAndNoOther) {
  for (std::uint32_t code = 0; code <= kLastEventCode + 2; ++code) {
    const bool known = code >= 1 && code <= kLastEventCode;
    const Event event{static_cast<EventCode>(code), {1, 1, 0}};
    EXPECT_EQ(parseEvent(encode(event)).has_value(), known) << code;
  }
}

TEST(Events, EveryFlippedBitOfTheHeadIsRefusedOrAnotherKnownCode) {
  const EventBytes good = encode({EventCode::kServing, {1, 2, 3}});
  for (std::size_t bit = 0; bit < 64; ++bit) {
    EventBytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto parsed = parseEvent(bad);
    if (bit < 32) {
      EXPECT_FALSE(parsed) << bit;
    } else if (parsed) {
      EXPECT_LE(static_cast<std::uint32_t>(parsed->code), kLastEventCode);
    }
  }
}

TEST(Events, NumbersOutOfRangeAreRefused) {
  const auto taken = [](EventCode code, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    return parseEvent(encode({code, {a, b, c}})).has_value();
  };
  EXPECT_TRUE(taken(EventCode::kSetupFailed, 1, 0, 0));
  EXPECT_TRUE(taken(EventCode::kSetupFailed, kLastStep, 4095, 0));
  EXPECT_FALSE(taken(EventCode::kSetupFailed, 0, 0, 0));
  EXPECT_FALSE(taken(EventCode::kSetupFailed, kLastStep + 1, 0, 0));
  EXPECT_FALSE(taken(EventCode::kSetupFailed, 1, 4096, 0));
  EXPECT_FALSE(taken(EventCode::kSetupFailed, 1, 0, 1));
  EXPECT_TRUE(taken(EventCode::kTrapped, 0xffffffff, 0xffffffff, 0));
  EXPECT_FALSE(taken(EventCode::kTrapped, 1ULL << 32, 0, 0));
  EXPECT_TRUE(taken(EventCode::kEntered, 7, 2, 63));
  EXPECT_FALSE(taken(EventCode::kEntered, 7, 3, 0));
}

TEST(Events, ASetupErrorSaysItsStepAndErrnoAndNoText) {
  const Event event = eventOf(SetupError(Step::kLandlock, 38, "landlock_missing"));
  EXPECT_EQ(event, (Event{EventCode::kSetupFailed, {static_cast<std::uint64_t>(Step::kLandlock), 38, 0}}));
}

TEST(Events, EveryStepHasALabel) {
  for (unsigned step = 1; step <= kLastStep; ++step)
    EXPECT_NE(label(static_cast<Step>(step)), "unknown") << step;
  EXPECT_EQ(label(static_cast<Step>(kLastStep + 1)), "unknown");
  EXPECT_EQ(label(Step::kLandlock), "landlock");
}

}  // namespace
}  // namespace factionos::sandbox
