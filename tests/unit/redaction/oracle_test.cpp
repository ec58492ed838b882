#include "tests/unit/redaction/oracle.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "broker/redaction/shapes.h"
#include "tests/unit/redaction/masking.h"

namespace factionos::redaction::testing {
namespace {

const std::vector<std::string> kSecrets = {"tok-AAAABBBBCCCC", "xabxab", "p@ss w\"o'rd/1",
                                           "first line\nsecond line", "abcabc99"};

#ifdef FACTIONOS_SANITIZED
constexpr unsigned kSlower = 5;
#else
constexpr unsigned kSlower = 1;
#endif

// Text with much in it that begins, ends, cuts, overlaps or imitates a secret.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::string text() {
    std::string out;
    const std::size_t parts = 1 + pick(12);
    for (std::size_t i = 0; i < parts; ++i) out += part();
    return out;
  }
  std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }

 private:
  std::string part() {
    switch (pick(10)) {
      case 0:
        return secret();
      case 1:
        return cut(secret());
      case 2:
        return token();
      case 3:
        return cut(token());
      case 4:
        return one({"\r\n", "\n", "\r", "\n\n", "\r\n  ", " \r", "\t", " ", "  ", "\b"});
      case 5:
        return sequence();
      case 6:
        return one(
            {"a", "tok-", "xab", "xabx", "abc", "p@s", "-----END", "ghp_", "sk-", "AKIA", ".", "@", "="});
      case 7:
        return std::string(pick(80), ".x a"[pick(4)]);
      case 8:
        return pem();
      default:
        return one({"see ", "token=", "https://user:", "password: ", "Authorization: Bearer ", "\xc3\xa9",
                    std::string(1, '\0'), "\xe2\x82\xac", "\xf0\x9f\x98", "\xef\xbb\xbf", "PWD=/",
                    "\nOLDPWD=", "/"});
    }
  }
  std::string one(const std::vector<std::string>& from) { return from[pick(from.size())]; }
  std::string secret() {
    const std::string& value = kSecrets[pick(kSecrets.size())];
    const auto forms = encodedForms(value);
    const auto& form = forms[pick(3) == 0 ? pick(forms.size()) : 0];
    return {form.begin(), form.end()};
  }
  std::string token() {
    static const std::vector<std::string> prefixes = {
        "ghp_", "github_pat_", "glpat-", "xoxb-1-",  "sk-",  "sk-proj-", "AKIA",    "npm_",    "eyJ",
        "SG.",  "hvs.",        "AC",     "sk_live_", "key-", "s.",       "token: ", "abcdef_", "0a1b2c"};
    const std::string_view alphabet = one({"", "h", "."}) == "h" ? kHexChars
                                      : pick(2) == 0             ? kAlnumChars
                                                                 : kUrlChars;
    std::string made =
        prefixes[pick(prefixes.size())] + body(pick(70), alphabet, static_cast<unsigned>(pick(50)));
    if (pick(4) == 0) made += "." + body(pick(40), kUrlChars, 2);
    return made + one({"", "", "-us7", "_mmk", "@h/"});
  }
  std::string pem() {
    const std::string end = one({"\n", "\r\n", "\\n", "\n  "});
    std::string made = one({"-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----"}) + end;
    for (std::size_t i = pick(4); i > 0; --i) made += body(64, kAlnumChars, static_cast<unsigned>(i)) + end;
    return made + one({"", "-----END PRIVATE KEY-----", "-----END RSA PRIVATE KEY", "-----"}) +
           one({"", end, "x"});
  }
  std::string sequence() {
    return one({"\x1b[0m", "\x1b[1;31m", "\x1b(B",
                "\x1b"
                "7",
                "\x1b]0;title\x07", "\x1b]0;" + cut(token()) + "\x07", "\x1b]52;c;" + secret() + "\x1b\\",
                "\x1bP" + cut(secret()), "\x1b", "\x1b[",
                "\x9b"
                "0m",
                "\x9d" + cut(secret()) + "\x9c",
                "\xc2\x9b"
                "1m",
                "\xc2\x90q" + token() + "\xc2\x9c", "\x9e", "\xc2\x9d-----BEGIN PRIVATE KEY-----"});
  }
  // Something may stand anywhere inside.
  std::string cut(std::string text) {
    if (text.empty()) return text;
    const std::size_t at = pick(text.size() + 1);
    switch (pick(4)) {
      case 0:
        return text.substr(0, at);
      case 1:
        return text.substr(at);
      case 2:
        return text.substr(0, at) + one({"\r\n", "\n", " \r", "\r\n  ", "\r", " "}) + text.substr(at);
      default:
        return text.substr(0, at) +
               one({"\x1b[0m", "\x1b(B", "\x1b]0;t\x07", "\x07", "\xe2\x80\x8b", "\xc2\xad",
                    "\x9b"
                    "31m",
                    "\xc2\x9b"
                    "31m",
                    "\xf3\xa0\x80\x81", "\xe2\x80", "\xff\x85"}) +
               text.substr(at);
    }
  }

  std::mt19937 random_;
};

// Readable in a failure.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += {'\\', 'x', kDigits[static_cast<unsigned char>(c) >> 4U],
              kDigits[static_cast<unsigned char>(c) & 15U]};
    } else {
      out += c;
    }
  }
  return out;
}

TEST(MaskerOracle, StreamingEqualsTheWholeBufferUnderRandomChunking) {
  for (unsigned seed = 1; seed <= 1500 / kSlower; ++seed) {
    Generator generator(seed);
    const std::string raw = generator.text();
    const unsigned columns = std::vector<unsigned>{0, 20, 80}[generator.pick(3)];
    const std::string expected = oracleMask(raw, kSecrets, columns);
    for (int round = 0; round < 3; ++round) {
      Stream stream(kSecrets);
      stream.masker().setColumns(columns);
      const std::size_t most = std::vector<std::size_t>{1, 7, 4096}[static_cast<std::size_t>(round)];
      for (std::size_t at = 0; at < raw.size();) {
        const std::size_t size = 1 + generator.pick(most);
        stream.feed(std::string_view(raw).substr(at, size));
        at += size;
      }
      ASSERT_EQ(shown(withoutLabels(stream.finish().text())), shown(expected))
          << "seed " << seed << ": " << shown(raw);
    }
  }
}

TEST(MaskerOracle, StreamingEqualsTheWholeBufferAtEveryCut) {
  for (unsigned seed = 5000; seed < 5012; ++seed) {
    const std::string raw = Generator(seed).text().substr(0, 400);
    const std::string expected = oracleMask(raw, kSecrets, 0);
    for (std::size_t cut = 0; cut <= raw.size(); ++cut) {
      Stream stream(kSecrets);
      stream.feed(std::string_view(raw).substr(0, cut)).feed(std::string_view(raw).substr(cut));
      ASSERT_EQ(shown(withoutLabels(stream.finish().text())), shown(expected))
          << "seed " << seed << " cut " << cut;
    }
  }
}

TEST(MaskerOracle, PausesAnywhereShowNoMoreThanTheSafePrefixOfAKnownValue) {
  std::vector<std::string> secrets = kSecrets;
  secrets.emplace_back("{~}-ZZZZYYYYXXXX");  // begins as nothing of the generator's ends
  for (unsigned seed = 1; seed <= 400 / kSlower; ++seed) {
    Generator generator(seed);
    const std::string raw = generator.text() + secrets.back() + generator.text();
    Stream stream(secrets);
    for (std::size_t at = 0; at < raw.size();) {
      const std::size_t size = 1 + generator.pick(9);
      stream.feed(std::string_view(raw).substr(at, size)).wait(std::chrono::milliseconds(generator.pick(70)));
      at += size;
    }
    ASSERT_LE(longestLeak(stream.finish().text(), secrets.back()), Masker::kSafeKnownBytes)
        << "seed " << seed << ": " << shown(raw) << "\n"
        << shown(stream.text());
  }
}

TEST(MaskerOracle, GapsAnywhereShowNothingOfAKnownValueAndEnd) {
  std::vector<std::string> secrets = kSecrets;
  secrets.emplace_back("{~}-ZZZZYYYYXXXX");
  std::string after;
  while (after.size() < std::size_t{40} * 1024) after += "\nplain words to the end";
  for (unsigned seed = 1; seed <= 200 / kSlower; ++seed) {
    Generator generator(seed);
    const std::string before = generator.text();
    const std::string raw = before + secrets.back() + generator.text() + after;
    const std::size_t from = before.size() + generator.pick(secrets.back().size());
    Stream stream(secrets);
    stream.feed(raw.substr(0, from)).gap(1).feed(raw.substr(from + 1)).finish();
    ASSERT_LE(longestLeak(stream.text(), secrets.back()), Masker::kSafeKnownBytes)
        << "seed " << seed << ": " << shown(raw.substr(0, 400));
    ASSERT_TRUE(stream.text().ends_with("to the end")) << "seed " << seed;
  }
}

}  // namespace
}  // namespace factionos::redaction::testing
