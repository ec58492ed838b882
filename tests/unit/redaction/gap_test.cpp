// What is shown around a gap: bytes that whoever hands the stream over has dropped before they were masked.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/redaction/shape_tracker.h"
#include "tests/unit/redaction/masking.h"

namespace factionos::redaction::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Plain lines, more than any reach of the values used here.
std::string plain(std::size_t lines = 60) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += "step " + std::to_string(i) + " of the build is done\n";
  return text + "the end of it all\n";
}

// `raw` without the bytes [from, to), as its reader sees it.
std::string withGap(std::string_view raw, std::size_t from, std::size_t to,
                    const std::vector<std::string>& secrets = {}) {
  Stream stream(secrets);
  stream.feed(raw.substr(0, from)).gap(to - from).feed(raw.substr(to)).finish();
  return stream.text();
}

TEST(MaskerGap, OrdinaryOutputGoesOnBehindIt) {
  const std::string text = plain() + plain();
  const std::string shown = withGap(text, 100, 300);
  EXPECT_THAT(shown, StartsWith(text.substr(0, 100) + "[dropped:200][withheld:after_gap bytes="));
  const std::string rest = shown.substr(shown.rfind(']') + 1);
  EXPECT_THAT(rest, StartsWith("step "));
  EXPECT_THAT(text, EndsWith("\n" + rest));
}

TEST(MaskerGap, AKnownValueInAnyFormIsNotShownInPart) {
  const std::string value = "q7: Zx\"9/kL&mN~wE4+rT#yU";
  for (const auto& form : encodedForms(value)) {
    const std::string secret(form.begin(), form.end());
    const std::string raw = "is " + secret + "\n" + plain();
    for (std::size_t from = 0; from < secret.size() + 3; ++from) {
      for (const std::size_t to : {from + 1, from + 9, secret.size() + 2}) {
        if (to <= from) continue;
        const std::string shown = withGap(raw, from, to, {value});
        ASSERT_LE(longestLeak(shown, secret), 3U) << from << ".." << to << ": " << shown.substr(0, 200);
        ASSERT_THAT(shown, EndsWith("the end of it all\n"));
      }
    }
  }
}

TEST(MaskerGap, AKeyIsNotShownInPart) {
  const std::vector<std::string> lines = {body(64, kAlnumChars, 1), body(64, kAlnumChars, 2),
                                          body(64, kAlnumChars, 3), body(17, kAlnumChars, 4)};
  for (const std::string_view end : {"\n", "\r\n", "\n    ", "\\n"}) {
    for (const std::string_view header : {"", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,8F2C\n\n"}) {
      std::string raw = "-----BEGIN RSA PRIVATE KEY-----" + std::string(end) + std::string(header);
      for (const auto& line : lines) raw += line + std::string(end);
      raw += "-----END RSA PRIVATE KEY-----\n";
      const std::size_t size = raw.size();
      raw += plain();
      for (std::size_t from = 0; from < size; from += 3) {
        const std::string shown = withGap(raw, from, from + 1);
        for (const auto& line : lines)
          ASSERT_LE(longestLeak(shown, line), 4U) << from << ": " << shown.substr(0, 300);
        ASSERT_THAT(shown, EndsWith("the end of it all\n"));
      }
    }
  }
}

TEST(MaskerGap, WhatIsKeptBackBeforeItIsNotShown) {
  Stream stream({"tok-AAAABBBBCCCC"});
  stream.feed("see tok-AAAABBBB").gap(3);
  EXPECT_EQ(stream.text(), "see [dropped:3]");
  EXPECT_EQ(stream.masker().afterGapBytes(), 12U);
}

TEST(MaskerGap, WhatBeginsBehindItIsSeenWhole) {
  Stream stream({"tok-AAAABBBBCCCC"});
  // Begins where nothing is shown yet, goes on where everything is.
  std::string key = "-----BEGIN PRIVATE KEY-----\n";
  for (unsigned i = 0; i < 300; ++i) key += body(64, kAlnumChars, i) + "\n";
  stream.gap(5).feed("a line\nof words\n" + key).finish();
  EXPECT_LE(longestLeak(stream.text(), body(64, kAlnumChars, 280)), 4U);
}

TEST(MaskerGap, ItEndsWhereNoLineTellsAnything) {
  Stream stream;
  stream.gap(5);
  for (std::size_t i = 0; i < ShapeTracker::kPemLimit; ++i) stream.feed(". ");
  EXPECT_THAT(stream.text(), EndsWith(". ."));
}

TEST(MaskerGap, EachIsMarkedAndAnEndBehindOneIsTold) {
  Stream stream;
  stream.feed("a ").gap(5).feed("bc").gap(7).feed("d").finish();
  EXPECT_EQ(stream.text(),
            "a [dropped:5][withheld:after_gap bytes=2][dropped:7][withheld:after_gap bytes=1]");
}

}  // namespace
}  // namespace factionos::redaction::testing
