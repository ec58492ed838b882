#include "broker/redaction/visible.h"

#include <string>

#include <gtest/gtest.h>

#include "broker/redaction/text.h"

namespace factionos::redaction {
namespace {

TEST(MakeVisible, P32_ShowsWhatHidesItself) {
  EXPECT_EQ(makeVisible("ls -l", 100), "[5 bytes] ls -l");
  EXPECT_EQ(makeVisible("a\x1b[8mb\n\r\tc", 100), "[10 bytes] a\\x1b[8mb\\n\\r\\tc");
  EXPECT_EQ(makeVisible("x\xe2\x80\x8by", 100), "[5 bytes] x\\u{200b}y");       // zero width space
  EXPECT_EQ(makeVisible("x\xe2\x80\xaey", 100), "[5 bytes] x\\u{202e}y");       // right-to-left override
  EXPECT_EQ(makeVisible("x\xe2\x80\xa8y", 100), "[5 bytes] x\\u{2028}y");       // line separator
  EXPECT_EQ(makeVisible("x\xf3\xa0\x81\xb2y", 100), "[6 bytes] x\\u{e0072}y");  // tag letter
  EXPECT_EQ(makeVisible("x\xc2\xa0y", 100), "[4 bytes] x\\u{00a0}y");           // no-break space
  EXPECT_EQ(makeVisible("x\xc2\x9by", 100), "[4 bytes] x\\u{009b}y");           // C1 CSI
  EXPECT_EQ(makeVisible("x\x9b\xffy", 100), "[4 bytes] x\\x9b\\xffy");          // not UTF-8
  EXPECT_EQ(makeVisible("h\xc3\xa9", 100), "[3 bytes] h\xc3\xa9");
}

TEST(MakeVisible, P32_NoEscapeCanBeImitated) {
  EXPECT_EQ(makeVisible("\\x1b", 100), "[4 bytes] \\\\x1b");
  EXPECT_NE(makeVisible("\\u{202e}", 100).substr(10), makeVisible("\xe2\x80\xae", 100).substr(10));
}

TEST(MakeVisible, P32_StatesLengthAndHiddenTail) {
  EXPECT_EQ(makeVisible("", 100), "[0 bytes] ");
  EXPECT_EQ(makeVisible(std::string(100, 'a'), 10), "[100 bytes, last 90 hidden] aaaaaaaaaa");
  EXPECT_EQ(makeVisible("ab\x1b", 4), "[3 bytes, last 1 hidden] ab");
  EXPECT_EQ(makeVisible("ls" + std::string(500, ' ') + "; rm", 100), "[506 bytes] ls\\s{500}; rm");
}

TEST(MakeVisible, AnyBytesGivePrintableUtf8WithinTheBound) {
  std::string all;
  for (int round = 0; round < 3; ++round) {
    for (int b = 0; b < 256; ++b) all += static_cast<char>(b * (round + 1) % 256);
  }
  const std::string text = makeVisible(all, 2000);
  EXPECT_LE(text.size(), 2064U);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decodeUtf8(std::string_view(text).substr(at));
    ASSERT_EQ(point.status, CodePoint::Status::kValid);
    ASSERT_FALSE(isHidden(point.value));
    at += point.length;
  }
}

TEST(DecodeUtf8, FollowsTheStandard) {
  using Status = CodePoint::Status;
  const auto is = [](std::string_view text, Status status, std::size_t length) {
    const CodePoint point = decodeUtf8(text);
    return point.status == status && point.length == length;
  };
  EXPECT_TRUE(is("a", Status::kValid, 1));
  EXPECT_TRUE(is("\xf4\x8f\xbf\xbf", Status::kValid, 4));
  EXPECT_TRUE(is("\xc0\x80", Status::kInvalid, 1));          // overlong
  EXPECT_TRUE(is("\xe0\x9f\xbf", Status::kInvalid, 1));      // overlong
  EXPECT_TRUE(is("\xed\xa0\x80", Status::kInvalid, 1));      // surrogate
  EXPECT_TRUE(is("\xf4\x90\x80\x80", Status::kInvalid, 1));  // above U+10FFFF
  EXPECT_TRUE(is("\xe2\x82x", Status::kInvalid, 2));
  EXPECT_TRUE(is("\xe2\x82", Status::kIncomplete, 2));
  EXPECT_EQ(decodeUtf8("\xe2\x82\xac").value, U'\u20ac');
}

}  // namespace
}  // namespace factionos::redaction
