#include "broker/redaction/output.h"

#include <random>
#include <span>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/redaction/masking.h"

namespace factionos::redaction::testing {
namespace {

// Feeds the window as in production: through a masker.
class Session {
 public:
  explicit Session(OutputLimits limits = {}) : window(limits), masker_(patterns(), secretsOf({})) {}
  Session& print(std::string_view raw) {
    masker_.feed(std::as_bytes(std::span(raw)), {}, window);
    return *this;
  }
  void finish() {
    masker_.finish(window);
    window.finish();
  }
  OutputWindow window;

 private:
  Masker masker_;
};

constexpr OutputLimits kSmall{.totalBytes = 64, .headBytes = 16};

TEST(OutputWindow, ShowsWhatFitsAsItIs) {
  Session session;
  session.print("one\r\ntwo\n");
  EXPECT_EQ(session.window.read(0, 1000).text(), "one\ntwo\n");
  EXPECT_EQ(session.window.totalBytes(), 9U);
  EXPECT_EQ(session.window.droppedBytes(), 0U);
  EXPECT_EQ(session.window.lines(), 2U);
  EXPECT_FALSE(session.window.truncated());
  session.print("three");
  EXPECT_EQ(session.window.lines(), 3U);
  EXPECT_EQ(session.window.read(9, 1000).text(), "three");
}

TEST(OutputWindow, E7_CountsExactlyWhatItDropped) {
  Session session(kSmall);
  std::string all;
  for (int i = 0; i < 100; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    all += line;
    session.print(line);
    const OutputWindow& window = session.window;
    ASSERT_EQ(window.totalBytes(), all.size());
    ASSERT_EQ(window.lines(), static_cast<std::uint64_t>(i) + 1);
    ASSERT_EQ(window.droppedBytes(), all.size() > 64 ? all.size() - 64 : 0);
    ASSERT_EQ(window.truncated(), all.size() > 64);
    ASSERT_EQ(window.head(1000).text(), all.size() > 64 ? all.substr(0, 16) : all);
    const OutputWindow::Text tail = window.tail(48);
    ASSERT_EQ(tail.text(), all.substr(tail.from()));
    ASSERT_EQ(tail.next(), all.size());
  }
}

TEST(OutputWindow, ReadingOnGivesEveryKeptByteOnceAndCountsTheGap) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Session session({.totalBytes = 20 + random() % 100, .headBytes = 1 + random() % 19});
    std::string all;
    std::uint64_t at = 0;
    std::string got;
    std::uint64_t lost = 0;
    const auto readOn = [&] {
      for (;;) {
        const OutputWindow::Text text = session.window.read(at, 16 + random() % 40);
        ASSERT_EQ(text.from(), at + text.gap());
        ASSERT_EQ(text.text(), all.substr(text.from(), text.next() - text.from()));
        lost += text.gap();
        got += text.text();
        if (text.next() == at) return;
        at = text.next();
      }
    };
    for (int i = 0; i < 30; ++i) {
      const std::string piece(random() % 50, static_cast<char>('#' + i % 10));
      all += piece;
      session.print(piece);
      if (random() % 4 == 0) readOn();
    }
    readOn();
    EXPECT_EQ(got.size() + lost, all.size());
    EXPECT_EQ(at, all.size());
  }
}

TEST(OutputWindow, OffsetsBeyondTheEndAreTheEnd) {
  Session session;
  session.print("abc");
  const OutputWindow::Text text = session.window.read(99, 100);
  EXPECT_EQ(text.text(), "");
  EXPECT_EQ(text.from(), 3U);
  EXPECT_EQ(text.next(), 3U);
  EXPECT_EQ(text.gap(), 0U);
  EXPECT_EQ(OutputWindow().read(5, 100).next(), 0U);
  EXPECT_EQ(OutputWindow().tail(100).text(), "");
}

TEST(OutputWindow, P30_ClipboardAndOtherSequencesAreNeutralised) {
  Session session;
  session.print(
      "a\x1b]52;c;aGk=\x07\x1b]52;c;?\x1b\\b\x1b[31mc\x9b"
      "2J\xc2\x9bZ\x7f\rd");
  session.window.finish();
  const std::string text = session.window.read(0, 1000).text();
  EXPECT_EQ(text,
            "a\\x1b]52;c;aGk=\\x07\\x1b]52;c;?\\x1b\\b\\x1b[31mc\xef\xbf\xbd"
            "2J\\u{009b}Z\\x7f\\rd");
  for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20);
}

TEST(OutputWindow, BidiAndSeparatorsAreShownAndScriptsKept) {
  Session session;
  session.print("\xe2\x80\xae\xe2\x80\xa8\xf3\xa0\x81\x81 héllo 日本 👩‍💻\n");
  EXPECT_EQ(session.window.read(0, 1000).text(), "\\u{202e}\\u{2028}\\u{e0041} héllo 日本 👩‍💻\n");
}

TEST(OutputWindow, ACodePointCutByAReadIsLeftForTheNext) {
  Session session;
  session.print("é\xe6\x97");
  OutputWindow::Text text = session.window.read(0, 1000);
  EXPECT_EQ(text.text(), "é");
  EXPECT_EQ(text.next(), 2U);
  session.print("\xa5\r");
  text = session.window.read(text.next(), 1000);
  EXPECT_EQ(text.text(), "日");
  session.print("\n\xe6");
  text = session.window.read(text.next(), 1000);
  EXPECT_EQ(text.text(), "\n");
  session.finish();
  EXPECT_EQ(session.window.read(text.next(), 1000).text(), "\xef\xbf\xbd");
}

TEST(OutputWindow, TheTailBeginsWithAWholeCodePoint) {
  Session session(kSmall);
  for (int i = 0; i < 100; ++i) session.print("日本");
  for (std::size_t size = 16; size < 48; ++size) {
    const std::string text = session.window.tail(size).text();
    EXPECT_EQ(text.find("\xef\xbf\xbd"), std::string::npos) << text;
    EXPECT_GE(text.size() + 3, size);
  }
}

TEST(OutputWindow, P43_E1_MemoryIsBoundedWhateverIsFed) {
  Session session;
  std::string block;
  while (block.size() < (1 << 16)) block += "y\n";
  std::uint64_t total = 0;
  for (int i = 0; i < 1000; ++i, total += block.size()) session.print(block);
  EXPECT_EQ(session.window.totalBytes(), total);
  EXPECT_EQ(session.window.droppedBytes(), total - (std::uint64_t{1} << 20U));
  EXPECT_EQ(session.window.lines(), total / 2);
  EXPECT_EQ(session.window.head(std::size_t{1} << 30U).text().size(), std::size_t{64} << 10U);
  EXPECT_EQ(session.window.tail(std::size_t{1} << 30U).text().size(), std::size_t{960} << 10U);
}

TEST(OutputWindow, AHeadThatTakesAllIsRefused) {
  EXPECT_THROW(OutputWindow({.totalBytes = 10, .headBytes = 10}), std::invalid_argument);
}

}  // namespace
}  // namespace factionos::redaction::testing
