// A secret that is read in pieces: wherever the cuts lie, the pieces together show what the whole shows.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "broker/redaction/masked_text.h"
#include "tests/unit/redaction/masking.h"

namespace factionos::redaction::testing {
namespace {

const std::string kKnown = "correct horse battery staple";

std::string pieceOf(std::string_view raw, std::size_t from, std::size_t size) {
  return maskText(patterns(), secretsOf({kKnown}), raw, 1 << 20, {.from = from, .size = size}).text();
}

// Markers of one secret that was cut count as one.
std::string joined(std::string text) {
  for (std::size_t at = 0; (at = text.find("][masked:", at)) != std::string::npos;) {
    const std::size_t label = text.rfind("[masked:", at);
    const std::string marker = text.substr(label, at + 1 - label);
    text.compare(at + 1, marker.size(), marker) == 0 ? void(text.erase(at + 1, marker.size())) : void(++at);
  }
  return text;
}

std::string withoutMarkers(std::string text) {
  for (std::size_t at = 0; (at = text.find("[masked:", at)) != std::string::npos;)
    text.erase(at, text.find(']', at) + 1 - at);
  return text;
}

struct Sample {
  const char* name;
  std::string raw;
  std::string secret;
  bool broken = false;  // by what is shown inside of it, so that the markers of two halves are no neighbours
};

std::vector<Sample> samples() {
  const std::string github = body(36, kAlnumChars);
  const std::string amazon = body(16, kUpperChars);
  const std::string key = body(64, kAlnumChars, 3);
  const std::string more = body(64, kAlnumChars, 4);
  return {
      {"github", "token=ghp_" + github + "\nrest\n", github},
      {"amazon", "id AKIA" + amazon + " rest", amazon},
      {"known value", "say " + kKnown + "!\n", kKnown},
      {"known value in base64", "b64 Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZQ== end",
       "ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0"},
      {"private key",
       "x\n-----BEGIN PRIVATE KEY-----\n" + key + "\n" + more + "\n-----END PRIVATE KEY-----\ny\n", more},
      {"password", "db = postgres://user:" + body(12, kAlnumChars, 5) + "@host/x\n",
       body(12, kAlnumChars, 5)},
      {"credential", "password = \"" + body(20, kUrlChars, 6) + "\"\n", body(20, kUrlChars, 6)},
      {"coloured", "t=ghp_" + github.substr(0, 12) + "\x1b[31m" + github.substr(12) + "\x1b[0m.", github,
       true},
      {"none", "plain text, nothing to hide: \xc3\xa9 and \x1b[1m bold", "#####"},
  };
}

TEST(Piece, TwoHalvesShowWhatTheWholeShowsWhereverItIsCut) {
  for (const Sample& each : samples()) {
    const std::string whole = pieceOf(each.raw, 0, std::string::npos);
    EXPECT_LE(longestLeak(whole, each.secret), 2U) << each.name;
    for (std::size_t cut = 0; cut <= each.raw.size(); ++cut) {
      // Within a code point each half shows its own as broken.
      if (cut < each.raw.size() && (static_cast<unsigned char>(each.raw[cut]) & 0xc0U) == 0x80U) continue;
      const std::string halves = pieceOf(each.raw, 0, cut) + pieceOf(each.raw, cut, std::string::npos);
      EXPECT_EQ(withoutMarkers(halves), withoutMarkers(whole)) << each.name << " at " << cut;
      if (each.broken) continue;
      EXPECT_EQ(joined(halves), whole) << each.name << " at " << cut;
    }
  }
}

TEST(Piece, NoWidthAndNoOffsetShowsMoreThanTheWhole) {
  for (const Sample& each : samples()) {
    for (const std::size_t width : {1U, 4U, 7U}) {
      std::string all;
      for (std::size_t from = 0; from < each.raw.size(); from += width) all += pieceOf(each.raw, from, width);
      EXPECT_LE(longestLeak(all, each.secret), 2U) << each.name << " by " << width;
    }
  }
}

TEST(Piece, NothingToHideIsGivenByteForByte) {
  const std::string raw = body(300, kAlnumChars, 9) + "\n" + std::string(3000, '.') + "\n";
  for (std::size_t from = 0; from < raw.size(); from += 113)
    EXPECT_EQ(pieceOf(raw, from, 113), raw.substr(from, 113));
}

TEST(Piece, TheContextIsAsFarAsASecretReaches) {
  // The end of the longest known value in its longest encoding, and of the longest key.
  EXPECT_GE(kContextBefore, KnownSecrets::kMaxBytes * 6);
  EXPECT_GE(kContextAfter, MaskerLimits{}.holdBytes);
  std::string key = "-----BEGIN RSA PRIVATE KEY-----\n";
  while (key.size() < 30'000) key += body(64, kAlnumChars, static_cast<unsigned>(key.size())) + "\n";
  const std::string last = pieceOf(key, key.size() - 40, 20);
  EXPECT_EQ(last, "[masked:private_key]");
}

}  // namespace
}  // namespace factionos::redaction::testing
