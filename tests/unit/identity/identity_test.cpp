#include <set>

#include <gmock/gmock.h>

#include "broker/identity/posture.h"
#include "broker/identity/principal.h"
#include "broker/identity/token.h"
#include "tests/unit/home/temp_home.h"

namespace factionos::identity {
namespace {

using home::testing::get;
using home::testing::HomeTest;
using home::testing::modeOf;
using home::testing::put;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Time kNow{std::chrono::milliseconds(1'900'000'000'000)};

TEST(Scopes, AreReadWhollyOrNotAtAll) {
  EXPECT_EQ(ScopeSet::parse("read")->text(), "read");
  EXPECT_EQ(ScopeSet::parse("propose,ingest,read")->text(), "ingest,read,propose");
  for (const char* bad :
       {"", ",", "read,", ",read", "read, propose", "read,read", "root", "Read", "*", "all"}) {
    EXPECT_FALSE(ScopeSet::parse(bad).has_value()) << bad;
  }
}

TEST(Scopes, NoneImpliesAnother) {
  for (const Scope one : kAllScopes) {
    for (const Scope other : kAllScopes) EXPECT_EQ(ScopeSet::of(one).has(other), one == other);
  }
}

TEST(UidTable, UserModeKnowsItsOwnerAlone) {
  const UidTable table = UidTable::fromConfig({}, 1000);
  ASSERT_TRUE(table.find(1000).has_value());
  EXPECT_EQ(table.find(1000)->scopes.text(), "read,propose");
  EXPECT_EQ(table.find(1000)->id(), "uid:owner");
  EXPECT_FALSE(table.find(1001).has_value()) << "F6";
  EXPECT_FALSE(table.find(0).has_value());
}

// F6 and P76: who is not listed is nobody, also the uid that commands run under.
TEST(UidTable, F6_SystemModeKnowsTheListedAlone) {
  home::Config config;
  config.mode = home::Mode::kSystem;
  config.principals.push_back({"alice", 1000, ScopeSet::of(Scope::kRead), 1});
  const UidTable table = UidTable::fromConfig(config, 990);
  EXPECT_EQ(table.find(1000)->scopes.text(), "read");
  EXPECT_FALSE(table.find(1001).has_value());
  EXPECT_FALSE(table.find(990).has_value());
  EXPECT_FALSE(table.find(0).has_value());
}

TEST(Operator, P76_DecidesAndNeverProposes) {
  const Principal principal = operatorPrincipal();
  EXPECT_EQ(principal.kind, PrincipalKind::kOperator);
  EXPECT_TRUE(principal.scopes.has(Scope::kApprove));
  EXPECT_FALSE(principal.scopes.has(Scope::kPropose));
  const Principal namedLikeIt{"operator", PrincipalKind::kToken, ScopeSet::of(Scope::kPropose)};
  EXPECT_NE(principal.id(), namedLikeIt.id());
}

TEST(Posture, SaysWhatSeparatesTheOperatorsDecision) {
  using home::Mode;
  EXPECT_STREQ(label(approvalSeparation(Mode::kUser, KeyState::kSealed)), "passphrase");
  EXPECT_STREQ(label(approvalSeparation(Mode::kUser, KeyState::kPlain)), "none");
  EXPECT_STREQ(label(approvalSeparation(Mode::kUser, KeyState::kMissing)), "none");
  EXPECT_STREQ(label(approvalSeparation(Mode::kSystem, KeyState::kMissing)), "separate_uid");
}

class Tokens : public ::testing::Test {
 protected:
  SecretBytes key = SecretBytes::random(32);
  TokenIndex index{SecretBytes::copyOf(key.text())};

  MintedToken mint(const std::string& name, std::optional<Time> expires = std::nullopt) {
    auto token = mintToken(key, name, ScopeSet::of(Scope::kRead), kNow, expires);
    if (!token) ADD_FAILURE() << token.problem().text();
    return std::move(token).value();
  }
};

TEST_F(Tokens, AreFoundByTheirTextAlone) {
  const MintedToken token = mint("ci");
  ASSERT_TRUE(index.add(token.row).ok());
  const auto principal = index.find(token.text.text(), kNow);
  ASSERT_TRUE(principal.has_value());
  EXPECT_EQ(principal->id(), "token:ci");
  EXPECT_EQ(principal->scopes.text(), "read");
  const std::string text(token.text.text());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(index.find(changed, kNow).has_value()) << i;
  }
  for (const std::string& bad : {std::string(), text.substr(1), text + "A", text + "\n", " " + text,
                                 std::string("fos_"), std::string(47, '\0'), "FOS_" + text.substr(4)}) {
    EXPECT_FALSE(index.find(bad, kNow).has_value()) << bad;
  }
}

TEST_F(Tokens, AreOf256RandomBitsAndNeverAlike) {
  std::set<std::string> seen;
  for (int i = 0; i < 64; ++i) {
    const MintedToken token = mint("t" + std::to_string(i));
    EXPECT_EQ(token.text.size(), kTokenChars);
    EXPECT_TRUE(looksLikeToken(token.text.text()));
    EXPECT_TRUE(seen.insert(std::string(token.text.text())).second);
  }
}

TEST_F(Tokens, WhatIsStoredHoldsNothingOfTheText) {
  const MintedToken token = mint("ci");
  EXPECT_EQ(token.row.digest, tokenDigest(key, token.text.text()));
  const SecretBytes otherKey = SecretBytes::random(32);
  EXPECT_NE(token.row.digest, tokenDigest(otherKey, token.text.text())) << "the digest is keyed";
  EXPECT_NE(token.row.digest, keyedDigest(key, "other use", token.text.text())) << "and bound to its use";
}

TEST_F(Tokens, EndByRevocationAndByTime) {
  const MintedToken kept = mint("kept");
  const MintedToken shortLived = mint("short", kNow + std::chrono::seconds(1));
  ASSERT_TRUE(index.add(kept.row).ok());
  ASSERT_TRUE(index.add(shortLived.row).ok());
  EXPECT_TRUE(index.find(shortLived.text.text(), kNow).has_value());
  EXPECT_FALSE(index.find(shortLived.text.text(), kNow + std::chrono::seconds(1)).has_value());
  EXPECT_TRUE(index.revoke("kept"));
  EXPECT_FALSE(index.revoke("kept"));
  EXPECT_FALSE(index.find(kept.text.text(), kNow).has_value());
}

TEST_F(Tokens, NamesAreUnique) {
  ASSERT_TRUE(index.add(mint("ci").row).ok());
  EXPECT_EQ(index.add(mint("ci").row).problem().code, ProblemCode::kExists);
}

TEST_F(Tokens, NeedALabelAScopeAndALife) {
  EXPECT_FALSE(mintToken(key, "no label", ScopeSet::of(Scope::kRead), kNow).ok());
  EXPECT_FALSE(mintToken(key, "", ScopeSet::of(Scope::kRead), kNow).ok());
  EXPECT_FALSE(mintToken(key, "../ci", ScopeSet::of(Scope::kRead), kNow).ok());
  EXPECT_FALSE(mintToken(key, "ci", {}, kNow).ok());
  EXPECT_FALSE(mintToken(key, "ci", ScopeSet::of(Scope::kRead), kNow, kNow).ok());
}

class TokenFile : public HomeTest {
 protected:
  SecretBytes key = SecretBytes::random(32);
};

TEST_F(TokenFile, F5_IsMadeClosedAndNeverThroughALink) {
  auto token = mintToken(key, "ci", ScopeSet::of(Scope::kRead), kNow);
  ASSERT_TRUE(token.ok());
  ASSERT_TRUE(writeTokenFile(home, *token).ok());
  EXPECT_EQ(modeOf(path + "/tokens/ci"), 0600U);
  EXPECT_EQ(get(path + "/tokens/ci"), std::string(token->text.text()) + "\n");
  EXPECT_EQ(writeTokenFile(home, *token).problem().code, ProblemCode::kExists);

  ASSERT_EQ(::unlink((path + "/tokens/ci").c_str()), 0);
  put(dir / "victim", "precious");
  ASSERT_EQ(::symlink((dir / "victim").c_str(), (path + "/tokens/ci").c_str()), 0);
  const Status written = writeTokenFile(home, *token);
  EXPECT_FALSE(written.ok());
  EXPECT_THAT(written.problem().text(), Not(HasSubstr("fos_")));
  EXPECT_EQ(get(dir / "victim"), "precious");
}

TEST_F(TokenFile, KeysAreMadeOnceAndStayTheSame) {
  auto first = loadOrCreateKey(home, kTokenKeyName);
  auto second = loadOrCreateKey(home, kTokenKeyName);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(equalInConstantTime(first->span(), second->span()));
  EXPECT_EQ(modeOf(path + "/state/token.key"), 0600U);
  put(path + "/state/token.key", "short");
  EXPECT_EQ(loadOrCreateKey(home, kTokenKeyName).problem().code, ProblemCode::kInvalid);
  ASSERT_EQ(::chmod((path + "/state/token.key").c_str(), 0640), 0);
  EXPECT_EQ(loadOrCreateKey(home, kTokenKeyName).problem().code, ProblemCode::kUnsafe);
}

TEST(Base64Url, OneTextPerValue) {
  std::array<std::uint8_t, 2> out{};
  EXPECT_TRUE(fromBase64Url("AAA", out));
  for (const char* bad : {"", "AA", "AAAA", "AAA=", "AAB", "A A", "AA\n", "AA+", "AA/", "AA."}) {
    EXPECT_FALSE(fromBase64Url(bad, out)) << bad;
  }
}

TEST(SecretBytes, ForgetsItsTail) {
  SecretBytes secret = SecretBytes::copyOf("passphrase and more");
  const std::uint8_t* bytes = secret.data();
  secret.shrink(10);
  EXPECT_EQ(secret.text(), "passphrase");
  EXPECT_EQ(bytes[11], 0);
  SecretBytes moved = std::move(secret);
  EXPECT_EQ(moved.text(), "passphrase");
  EXPECT_TRUE(secret.empty());  // NOLINT(bugprone-use-after-move): that it is empty is the rule
}

}  // namespace
}  // namespace factionos::identity
