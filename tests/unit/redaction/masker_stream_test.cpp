#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/redaction/masking.h"

namespace factionos::redaction::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSecret = "tok-AAAABBBBCCCC";
const std::string kMarker = "[masked:secret]";

std::string pem(std::string_view lineEnd, std::string_view indent = "", std::size_t lines = 24) {
  std::string text = std::string(indent) + "-----BEGIN RSA PRIVATE KEY-----" + std::string(lineEnd);
  for (unsigned i = 0; i < lines; ++i) {
    text += std::string(indent) + body(64, kAlnumChars, i + 1) + std::string(lineEnd);
  }
  return text + std::string(indent) + "-----END RSA PRIVATE KEY-----" + std::string(lineEnd);
}

TEST(MaskerStream, PassesOrdinaryOutputThrough) {
  const std::string text = "make: \x1b[32mok\x1b[0m\r\n\tΔ 100% [#####]\r\nsk-learn npm_config key=1 a@b.c\n";
  EXPECT_EQ(maskAll(text, {kSecret}), text);
}

TEST(MaskerStream, B1_OneByteAtATime) {
  Stream stream({kSecret});
  stream.feed("see ");
  for (const char c : kSecret) stream.feed({&c, 1}).wait(1ms);
  stream.feed(" end").finish();
  EXPECT_EQ(stream.text(), "see " + kMarker + " end");
}

TEST(MaskerStream, B2_EverySplitPoint) {
  const std::string token = "ghp_" + body(36, kAlnumChars);
  const std::string text =
      "a " + kSecret + " b " + token + " c password='" + body(16, kAlnumChars, 5) + "'\r\n";
  const std::string whole = maskAll(text, {kSecret});
  EXPECT_THAT(whole, HasSubstr("a " + kMarker + " b ghp_[masked:github_token] c "));
  for (std::size_t i = 1; i < text.size(); ++i) {
    const std::string_view view = text;
    EXPECT_EQ(maskChunks({view.substr(0, i), view.substr(i)}, {kSecret}), whole) << i;
  }
}

TEST(MaskerStream, B5_RepeatsLeaveNothing) {
  EXPECT_EQ(maskAll("abcabc99abcabc99", {"abcabc99"}), kMarker);
  EXPECT_EQ(maskAll("abcabcabc99!", {"abcabc99"}), "abc" + kMarker + "!");
  EXPECT_EQ(maskAll("xabxabxaab xabxab", {"xabxab"}), kMarker + "xaab " + kMarker);
}

TEST(MaskerStream, OverlappingValuesAreOneRun) {
  EXPECT_EQ(maskAll("xx one-two-three yy", {"one-two", "two-three"}), "xx " + kMarker + " yy");
  EXPECT_EQ(maskAll("secret12 secret1234 secret123.", {"secret12", "secret1234"}),
            kMarker + " " + kMarker + " " + kMarker + "3.");
}

TEST(MaskerStream, B6_MultiLineKeyWithCrlfAndIndent) {
  for (const std::string_view lineEnd : {"\n", "\r\n"}) {
    for (const std::string_view indent : {"", "    ", "\t"}) {
      const std::string text = maskAll("before\r\n" + pem(lineEnd, indent) + "after", {});
      for (unsigned i = 0; i < 24; ++i) EXPECT_LT(longestLeak(text, body(64, kAlnumChars, i + 1)), 6U);
      EXPECT_THAT(text, HasSubstr("-----BEGIN RSA PRIVATE KEY-----[masked:private_key]"));
      EXPECT_THAT(text, HasSubstr(std::string(lineEnd) + "after"));
    }
  }
}

TEST(MaskerStream, B6_KeyInsideJson) {
  const std::string text = maskAll(R"({"private_key": ")" + pem("\\n") + R"(", "id": 7})");
  EXPECT_LT(longestLeak(text, body(64, kAlnumChars, 3)), 6U);
  EXPECT_THAT(text, HasSubstr("\\n\", \"id\": 7}"));
}

TEST(MaskerStream, B7_KeyBodyIsMaskedWhileItStreams) {
  Stream stream;
  stream.feed("-----BEGIN PRIVATE KEY-----\r\n").wait(200ms);
  for (unsigned i = 0; i < 40; ++i) {
    stream.feed(body(64, kAlnumChars, i + 1) + "\r\n");
    EXPECT_FALSE(stream.masker().deadline()) << "nothing needs to be held";
    stream.wait(60ms);
  }
  stream.feed("-----END PRIVATE KEY-----\r\nafter\r\n").finish();
  EXPECT_EQ(stream.text(), "-----BEGIN PRIVATE KEY-----[masked:private_key]\r\nafter\r\n");
}

TEST(MaskerStream, B7_KeyWithoutEndStopsAtTheBound) {
  std::string text = "-----BEGIN PRIVATE KEY-----\n";
  for (unsigned i = 0; i < 2000; ++i) text += "line of text " + std::to_string(i) + "\n";
  const std::string out = maskAll(text);
  EXPECT_THAT(out, HasSubstr("line of text 1999\n"));
  EXPECT_NEAR(static_cast<double>(text.size() - out.size()), 32 * 1024, 4096);
}

TEST(MaskerStream, KeyHeaderInSourceCodeMasksNothingElse) {
  const std::string text = "if (s.startsWith(\"-----BEGIN PRIVATE KEY-----\")) {\n  parse(s);\n}\n";
  EXPECT_EQ(maskAll(text), text);
}

TEST(MaskerStream, B10_PromptIsNotHeld) {
  Stream stream({kSecret});
  stream.feed("Password: ");
  EXPECT_EQ(stream.text(), "Password: ");
  EXPECT_FALSE(stream.masker().deadline());
}

TEST(MaskerStream, B11_PublicPrefixIsShownAndTheBodyNot) {
  const std::string token = body(36, kAlnumChars);
  Stream stream;
  stream.feed("gh").wait(2000ms);
  EXPECT_EQ(stream.text(), "gh");
  stream.feed("p_" + token + "\n").finish();
  EXPECT_EQ(stream.text(), "ghp_[masked:github_token]\n");
}

TEST(MaskerStream, B11_PauseInsideKnownValueShowsTheSafePrefixOnly) {
  for (std::size_t cut = 1; cut < kSecret.size(); ++cut) {
    Stream stream({kSecret});
    stream.feed(kSecret.substr(0, cut));
    stream.wait(49ms);
    EXPECT_EQ(stream.text(), "");
    stream.wait(1ms);
    EXPECT_FALSE(stream.masker().deadline()) << "held longer than the hold time";
    stream.feed(kSecret.substr(cut) + " end").finish();
    EXPECT_LE(longestLeak(stream.text(), kSecret), Masker::kSafeKnownBytes) << stream.text();
    EXPECT_THAT(stream.text(), HasSubstr(kMarker + " end"));
  }
}

TEST(MaskerStream, B11_WhatContinuesADecidedValueIsMaskedEvenIfItStaysIncomplete) {
  Stream stream({kSecret});
  stream.feed("tok-AAAA").wait(50ms).feed("BBBB!!\n");
  EXPECT_EQ(stream.text(), "to" + kMarker + "!!\n");
}

TEST(MaskerStream, B11_HeldPrefixOfAnotherWordIsShownWhole) {
  Stream stream({kSecret});
  stream.feed("to");
  EXPECT_EQ(stream.text(), "");
  stream.wait(50ms);
  EXPECT_EQ(stream.text(), "to");
  stream.feed("day\n");
  EXPECT_EQ(stream.text(), "today\n");
}

TEST(MaskerStream, PauseBetweenAllBytesLeaksNoMoreThanTheSafePrefix) {
  const std::vector<std::string> bodies = {body(36, kAlnumChars, 3), body(48, kAlnumChars, 4)};
  Stream stream({kSecret});
  const std::string text = kSecret + " ghp_" + bodies[0] + " sk-proj-" + bodies[1] + "\r\n";
  for (const char c : text) stream.feed({&c, 1}).wait(60ms);
  stream.finish();
  EXPECT_LE(longestLeak(stream.text(), kSecret), 3U);  // "tok" of the label github_token
  for (const std::string& secret : bodies) EXPECT_LE(longestLeak(stream.text(), secret), 2U) << stream.text();
}

TEST(MaskerStream, P83_EveryCutWriteSizeAndColour) {
  const std::string token = body(36, kAlnumChars, 9);
  for (std::size_t cut = 0; cut <= kSecret.size(); ++cut) {
    const std::string coloured = "x \x1b[1;31m" + kSecret.substr(0, cut) + "\x1b[0m\x1b]0;title\x07\x1b(B" +
                                 kSecret.substr(cut) + " ghp_" + token.substr(0, cut) + "\x1b[38;5;9m" +
                                 token.substr(cut) + "\x1b[0m\r\n";
    const std::string whole = maskAll(coloured, {kSecret});
    EXPECT_LE(longestLeak(whole, kSecret), 3U) << whole;  // "tok" of the label github_token
    EXPECT_LT(longestLeak(whole, token), 3U) << whole;
    EXPECT_THAT(whole, HasSubstr("\x1b[0m\x1b]0;title\x07\x1b(B"));
    for (std::size_t size = 1; size < coloured.size(); size += 1 + size / 8) {
      std::vector<std::string_view> chunks;
      for (std::size_t at = 0; at < coloured.size(); at += size) {
        chunks.push_back(std::string_view(coloured).substr(at, size));
      }
      ASSERT_EQ(maskChunks(chunks, {kSecret}), whole) << cut << " " << size;
    }
  }
}

// Each leaves no trace on some terminal.
const std::vector<std::string> kUnseen = {"\xe2\x80\x8b",      // U+200B
                                          "\xc2\xad",          // U+00AD
                                          "\xf3\xa0\x84\x80",  // U+E0100
                                          "\xe2\x80\xae",      // U+202E
                                          "\x9b"
                                          "31m",
                                          "\xc2\x9b"
                                          "31m",
                                          "\x9d"
                                          "0;t\x9c",
                                          "\xc2\x85"};

TEST(MaskerStream, WhatIsNotSeenBreaksNoSecretWhereverItStandsAndIsCut) {
  const std::string token = body(36, kAlnumChars, 9);
  const std::string secret = kSecret + " ghp_" + token;
  for (const std::string& unseen : kUnseen) {
    for (std::size_t at = 1; at < secret.size(); ++at) {
      const std::string raw = "x " + secret.substr(0, at) + unseen + secret.substr(at) + "\r\n";
      const std::string whole = maskAll(raw, {kSecret});
      ASSERT_LE(longestLeak(whole, kSecret), 3U) << whole;  // "tok" of the label github_token
      ASSERT_LT(longestLeak(whole, token), 3U) << whole;
      ASSERT_THAT(whole, HasSubstr(unseen)) << "passed on";
      for (std::size_t cut = at; cut <= at + unseen.size() + 4; ++cut) {
        const std::string_view view = raw;
        ASSERT_EQ(maskChunks({view.substr(0, cut), view.substr(cut)}, {kSecret}), whole) << cut;
      }
      std::vector<std::string_view> bytes;
      for (std::size_t i = 0; i < raw.size(); ++i) bytes.push_back(std::string_view(raw).substr(i, 1));
      ASSERT_EQ(maskChunks(bytes, {kSecret}), whole);
    }
  }
}

TEST(MaskerStream, APauseInsideWhatIsNotSeenShowsNoMoreThanTheSafePrefix) {
  for (const std::string& unseen : kUnseen) {
    Stream stream({kSecret});
    for (const char c : kSecret.substr(0, 5) + unseen + kSecret.substr(5) + " end")
      stream.feed({&c, 1}).wait(60ms);
    EXPECT_LE(longestLeak(stream.finish().text(), kSecret), Masker::kSafeKnownBytes) << stream.text();
    EXPECT_THAT(stream.text(), HasSubstr(" end"));
  }
}

TEST(MaskerStream, AKnownValueThatIsNoTextIsMasked) {
  const std::string value = "\x9dq\xe9" + body(10, kUrlChars, 3) + "\xe2\x80\x8b" + body(10, kUrlChars, 5);
  EXPECT_LE(longestLeak(maskAll("a " + value + " b\n", {value}), value), 4U);
  const std::string other = body(10, kUrlChars, 7) + "\x9b" + body(10, kUrlChars, 8);
  EXPECT_LE(longestLeak(maskAll("a " + other + " b\n", {other}), other), 3U);
}

TEST(MaskerStream, AKeyWhoseHeaderAnIntroducerTookIsMaskedOnTheLinesBelow) {
  for (const std::string_view start : {"\x9d", "\xc2\x90", "\x1b]", "\x1b["}) {
    const std::string text = maskAll(std::string(start) + pem("\n") + "after\n");
    for (unsigned i = 0; i < 24; ++i) EXPECT_LT(longestLeak(text, body(64, kAlnumChars, i + 1)), 6U);
    EXPECT_THAT(text, HasSubstr("\nafter\n"));
  }
}

TEST(MaskerStream, LineWrapsDoNotBreakAKnownValue) {
  for (std::size_t cut = 1; cut < kSecret.size(); ++cut) {
    for (const std::string_view gap : {"\n", "\r\n", "\r", "\r\n    ", "\n\t"}) {
      const std::string out =
          maskAll(kSecret.substr(0, cut) + std::string(gap) + kSecret.substr(cut) + " x", {kSecret});
      EXPECT_EQ(longestLeak(out, kSecret), 1U) << out;  // the letters of the marker itself
    }
  }
}

TEST(MaskerStream, LineWrapsDoNotBreakATokenOfAFullLine) {
  const std::string token = "ghp_" + body(36, kAlnumChars, 2);
  for (unsigned columns : {20U, 40U, 80U}) {
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      if (cut >= columns) continue;
      // The line editor's wrap and a program's.
      for (const std::string_view gap : {" \r", "\r\n", "\n"}) {
        Stream stream;
        stream.masker().setColumns(columns);
        stream.feed(std::string(columns - cut, '.') + token.substr(0, cut) + std::string(gap) +
                    token.substr(cut) + " next\r\n");
        const std::string& text = stream.finish().text();
        EXPECT_LT(longestLeak(text, token.substr(4)), 3U) << cut << text;
        EXPECT_THAT(text, HasSubstr(" next\r\n"));
      }
    }
  }
}

TEST(MaskerStream, NextLineAfterAShortTokenLineIsShown) {
  const std::string token = "ghp_" + body(36, kAlnumChars, 2);
  EXPECT_EQ(maskAll(token + "\nREADME.md\n"), "ghp_[masked:github_token]\nREADME.md\n");
}

TEST(MaskerStream, B8_EncodingsOfAKnownValue) {
  const std::string value = "p@ss/w\"o'r d\\$x";
  const auto forms = encodedForms(value);
  for (const auto& form : forms) {
    const std::string text(form.begin(), form.end());
    EXPECT_EQ(maskAll("<<" + text + ">>", {value}), "<<" + kMarker + ">>") << text;
  }
  // Base64 of the value inside other data, at each alignment.
  EXPECT_LT(maskAll("dXNlcjpwQHNzL3dcIm8nciBkXCR4", {"p@ss/w"}).find("[masked"), 12U);
}

TEST(MaskerStream, SecretsInsideEscapeSequencesAreMasked) {
  const std::string token = "ghp_" + body(36, kAlnumChars, 2);
  EXPECT_EQ(maskAll("\x1b]0;" + kSecret + "\x07ok", {kSecret}), "\x1b]0;" + kMarker + "\x07ok");
  EXPECT_EQ(maskAll("\x1bP" + token + "\x1b\\ok"), "\x1bPghp_[masked:github_token]\x1b\\ok");
  // An introducer that nothing ends does not switch masking off.
  const std::string out = maskAll("\x1b]" + token + "\n" + kSecret + "\n", {kSecret});
  EXPECT_LT(longestLeak(out, token.substr(4)), 3U);
  EXPECT_THAT(out, HasSubstr(kMarker));
}

TEST(MaskerStream, ABrokenSequenceThatSwallowsTheFirstByteHidesNothing) {
  const std::string token = "ghp_" + body(36, kAlnumChars, 2);
  for (const std::string_view start : {"\x1b[", "\x1b", "\x1b(", "\x1b[1;3", "\x1b]0;", "\x1bP"}) {
    for (const std::string& secret : {kSecret, token}) {
      const std::string out = maskAll(std::string(start) + secret + " x\n", {kSecret});
      EXPECT_LE(longestLeak(out, secret), 4U) << out;
    }
  }
}

TEST(MaskerStream, B15_EndOfAVeryLongLine) {
  Stream stream({kSecret});
  const std::string block(1 << 16, 'x');
  Collector discard;
  for (int i = 0; i < 800; ++i) stream.masker().feed(std::as_bytes(std::span(block)), {}, discard);
  const std::string token = body(36, kAlnumChars, 2);
  stream.feed(" " + kSecret + " ghp_" + token).finish();
  EXPECT_EQ(stream.text(), " " + kMarker + " ghp_[masked:github_token]");
}

TEST(MaskerStream, ARunThatNeverEndsNeedsNoMemory) {
  Stream stream;
  stream.feed("ghp_");
  for (int i = 0; i < 1000; ++i) stream.feed(std::string(4096, 'a'));
  EXPECT_FALSE(stream.masker().deadline());
  stream.feed(" end").finish();
  EXPECT_EQ(stream.text(), "ghp_[masked:github_token] end");
}

TEST(MaskerStream, FullHoldQueueDecidesForTheSecret) {
  const std::string value = body(6000, kAlnumChars, 3);
  Stream stream({value});
  const std::string out = stream.feed("a " + value + " b").finish().text();
  EXPECT_LE(longestLeak(out, value), 8U);
  EXPECT_THAT(out, HasSubstr("] b"));
  // Also if what fills it is no text.
  Stream other({kSecret});
  other.feed(kSecret.substr(0, 8) + "\x1b]0;" + std::string(8192, '.') + "\x07" + kSecret.substr(8) + " b")
      .finish();
  EXPECT_LE(longestLeak(other.text(), kSecret), Masker::kSafeKnownBytes);
}

TEST(MaskerStream, OutputThatEndsInsideAValueShowsTheSafePrefix) {
  const std::string out = maskAll("x tok-AAAA", {kSecret});
  EXPECT_EQ(out, "x to" + kMarker);
}

}  // namespace
}  // namespace factionos::redaction::testing
