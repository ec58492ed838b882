#include "broker/redaction/known_secrets.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace factionos::redaction {
namespace {

using Added = KnownSecrets::Added;

std::set<std::string> formsOf(std::string_view value) {
  std::set<std::string> forms;
  for (const auto& form : encodedForms(value)) forms.emplace(form.begin(), form.end());
  return forms;
}

TEST(KnownSecrets, RefusesWhatWouldMaskOrdinaryText) {
  KnownSecrets secrets;
  EXPECT_EQ(secrets.add(""), Added::kTooShort);
  EXPECT_EQ(secrets.add("abcde"), Added::kTooShort);
  EXPECT_EQ(secrets.add("  ab  \n"), Added::kTooShort);
  EXPECT_EQ(secrets.add("--------"), Added::kTooWeak);
  EXPECT_EQ(secrets.add("\x1b[31m\x1b[32m\x1b[33m"), Added::kTooWeak);
  EXPECT_EQ(secrets.add(std::string(KnownSecrets::kMaxBytes, 'a') + "bc"), Added::kTooLong);
  EXPECT_EQ(secrets.add("abcdef"), Added::kOk);
}

TEST(KnownSecrets, StopsAtItsBound) {
  KnownSecrets secrets;
  std::string value(KnownSecrets::kMaxBytes, 'x');
  Added last = Added::kOk;
  for (int i = 0; i < 100 && last == Added::kOk; ++i) {
    const std::string start = "secret" + std::to_string(i);
    last = secrets.add(value.replace(0, start.size(), start));
  }
  EXPECT_EQ(last, Added::kTooMany);
}

TEST(KnownSecrets, B8_EncodesAsTheUsualToolsDo) {
  const auto forms = formsOf("a b/c\"d'e\\f$g&h");
  EXPECT_TRUE(forms.contains("YSBiL2MiZCdlXGYkZyZo"));
  EXPECT_TRUE(forms.contains("6120622f63226427655c6624672668"));
  EXPECT_TRUE(forms.contains("a%20b%2Fc%22d%27e%5Cf%24g%26h"));
  EXPECT_TRUE(forms.contains("a%20b%2Fc%22d'e%5Cf%24g%26h"));
  EXPECT_TRUE(forms.contains("a+b%2Fc%22d%27e%5Cf%24g%26h"));
  EXPECT_TRUE(forms.contains(R"(a b/c\"d'e\\f$g&h)"));
  EXPECT_TRUE(forms.contains(R"(a b\/c\"d'e\\f$g&h)"));
  EXPECT_TRUE(forms.contains(R"(a b/c\"d\u0027e\\f$g\u0026h)"));
  EXPECT_TRUE(forms.contains(R"(a b/c"d'\''e\f$g&h)"));
  EXPECT_TRUE(forms.contains(R"(a\ b/c\"d\'e\\f\$g\&h)"));
  EXPECT_TRUE(forms.contains("a b/c&quot;d&#39;e\\f$g&amp;h"));
}

TEST(KnownSecrets, Base64OfTheValueInsideOtherDataContainsItsForm) {
  const std::string value = "Secr3t-Value/9";
  const auto forms = formsOf(value);
  // "xSecr3t-Value/9y" and "xySecr3t-Value/9" as base64: the value at the two other alignments.
  for (const std::string_view outer : {"eFNlY3IzdC1WYWx1ZS85eQ==", "eHlTZWNyM3QtVmFsdWUvOQ=="}) {
    bool found = false;
    for (const std::string& form : forms) {
      found = found || (form.size() > 14 && outer.find(form) != std::string_view::npos);
    }
    EXPECT_TRUE(found) << outer;
  }
}

// Whether `text` may go on to begin with `pattern`.
bool compatible(std::string_view text, std::string_view pattern) {
  return text.starts_with(pattern) || pattern.starts_with(text);
}

TEST(LiteralAutomaton, AgreesWithNaiveSearch) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    LiteralAutomaton automaton;
    std::vector<std::string> patterns;
    const auto word = [&](std::size_t most) {
      std::string out(2 + random() % most, 'a');
      for (char& c : out) c = static_cast<char>('a' + random() % 2);
      return out;
    };
    for (int i = 0; i < 4; ++i) automaton.add(patterns.emplace_back(word(6)));
    automaton.build();
    const std::string text = word(60);
    LiteralAutomaton::State state = LiteralAutomaton::kRoot;
    for (std::size_t i = 0; i < text.size(); ++i) {
      state = automaton.next(state, text[i]);
      const std::string_view seen = std::string_view(text).substr(0, i + 1);
      std::size_t match = 0;
      std::size_t depth = 0;
      std::size_t open = 0;
      const std::string_view next = std::string_view(text).substr(i + 1);
      for (const std::string& pattern : patterns) {
        if (seen.ends_with(pattern)) match = std::max(match, pattern.size());
        for (std::size_t n = 1; n <= pattern.size(); ++n) {
          if (!seen.ends_with(pattern.substr(0, n))) continue;
          depth = std::max(depth, n);
          if (n < pattern.size() && compatible(next, pattern.substr(n))) open = std::max(open, n);
        }
      }
      ASSERT_EQ(automaton.matchLength(state), match);
      ASSERT_EQ(automaton.depth(state), depth);
      ASSERT_EQ(automaton.depth(automaton.settle(state, next)), open);
      const std::string_view rest = std::string_view(text).substr(i);
      const bool begins = std::any_of(patterns.begin(), patterns.end(), [rest](const std::string& pattern) {
        return compatible(rest, pattern);
      });
      ASSERT_EQ(automaton.mayBegin(rest), begins);
    }
  }
}

}  // namespace
}  // namespace factionos::redaction
