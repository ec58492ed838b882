#include "broker/identity/operator_key.h"

#include <set>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <sys/stat.h>
#include <termios.h>

#include "broker/identity/passphrase.h"
#include "broker/identity/proof.h"
#include "tests/unit/home/temp_home.h"

namespace factionos::identity {
namespace {

using home::testing::get;
using home::testing::HomeTest;
using home::testing::modeOf;
using home::testing::put;
using home::testing::TempDir;
using sandbox::Fd;
using ::testing::HasSubstr;
using ::testing::Not;

SecretBytes phrase(std::string_view text = "correct horse battery") {
  return SecretBytes::copyOf(text);
}

std::string sealed(const OperatorKey& key) {
  auto text = key.sealedText(phrase(), SealStrength::kInteractive);
  if (!text) ADD_FAILURE() << text.problem().text();
  return *text;
}

TEST(OperatorKey, OpensWithItsPassphraseAlone) {
  const OperatorKey key = OperatorKey::generate();
  const std::string text = sealed(key);
  auto opened = OperatorKey::open(text, phrase());
  ASSERT_TRUE(opened.ok()) << opened.problem().text();
  EXPECT_EQ(opened->publicKey(), key.publicKey());
  for (const std::string_view wrong : {"correct horse batterx", "correct horse batter", ""}) {
    auto refused = OperatorKey::open(text, SecretBytes::copyOf(wrong));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.problem().code, ProblemCode::kRefused);
    EXPECT_THAT(refused.problem().text(), HasSubstr("passphrase does not open"));
    EXPECT_THAT(refused.problem().text(), Not(HasSubstr("horse")));
  }
}

TEST(OperatorKey, ShortPassphraseSealsNothing) {
  const OperatorKey key = OperatorKey::generate();
  EXPECT_FALSE(key.sealedText(phrase("7 bytes"), SealStrength::kInteractive).ok());
  EXPECT_FALSE(key.sealedText(SecretBytes::copyOf(""), SealStrength::kInteractive).ok());
}

TEST(OperatorKey, SealedTextHoldsNothingOfTheSecret) {
  const OperatorKey key = OperatorKey::generate();
  const std::string plain(key.plainText().text());
  const std::string secret = plain.substr(plain.find("secret: ") + 8, 43);
  EXPECT_THAT(sealed(key), Not(HasSubstr(secret)));
  EXPECT_NE(sealed(key), sealed(key)) << "salt and nonce are fresh each time";
}

TEST(OperatorKey, ChangedFileDoesNotOpen) {
  const OperatorKey key = OperatorKey::generate();
  const OperatorKey other = OperatorKey::generate();
  const std::string text = sealed(key);
  const auto lineOf = [](const std::string& from, const std::string& name) {
    const std::size_t at = from.find(name);
    return from.substr(at, from.find('\n', at) - at);
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    return changed.replace(changed.find(from), from.size(), to);
  };
  const std::string otherText = sealed(other);
  for (const char* name : {"public: ", "nonce: ", "salt: ", "secret: "}) {
    EXPECT_FALSE(OperatorKey::open(with(lineOf(text, name), lineOf(otherText, name)), phrase()).ok()) << name;
  }
  EXPECT_FALSE(OperatorKey::open(with("opslimit: 2", "opslimit: 1"), phrase()).ok());
  // Not the sealed form, with the public half of another: the header's lie is seen.
  const std::string plain(key.plainText().text());
  std::string crossed = plain;
  crossed.replace(crossed.find("public: "), 51, lineOf(otherText, "public: "));
  EXPECT_EQ(OperatorKey::open(crossed, {}).problem().code, ProblemCode::kInvalid);
}

TEST(OperatorKey, WhatIsNoKeyIsToldApartFromAWrongPassphrase) {
  const std::string text = sealed(OperatorKey::generate());
  for (const std::string& bad : {std::string(), std::string("hello"), text.substr(0, text.size() - 1),
                                 text + "\n", "x" + text, text.substr(0, 60), std::string(5000, 'x')}) {
    auto opened = OperatorKey::open(bad, phrase());
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.problem().code, ProblemCode::kInvalid);
  }
  // Limits that would make the operator's machine swap, or take no work at all, are refused before any is
  // done.
  const auto swapped = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    return changed.replace(changed.find(from), from.size(), to);
  };
  EXPECT_EQ(
      OperatorKey::open(swapped("memlimit: 67108864", "memlimit: 67108864000"), phrase()).problem().code,
      ProblemCode::kInvalid);
  EXPECT_EQ(OperatorKey::open(swapped("opslimit: 2", "opslimit: 99999"), phrase()).problem().code,
            ProblemCode::kInvalid);
}

ProofMessage message() {
  ProofMessage proof;
  proof.actionId = "act_01";
  proof.revision = 3;
  proof.decision = ProofDecision::kApprove;
  proof.nonce.fill(7);
  return proof;
}

TEST(Proof, HoldsForItsOwnMessageAlone) {
  const OperatorKey key = OperatorKey::generate();
  const Signature proof = key.sign(message());
  EXPECT_TRUE(verifyProof(key.publicKey(), message(), proof));
  const std::vector<void (*)(ProofMessage&)> changes{
      [](ProofMessage& m) { m.actionId = "act_02"; },
      [](ProofMessage& m) { m.revision = 4; },
      [](ProofMessage& m) { m.decision = ProofDecision::kReject; },
      [](ProofMessage& m) { m.nonce[31] ^= 1; },
      [](ProofMessage& m) { m.reasonDigest = reasonDigest(""); },
  };
  for (const auto change : changes) {
    ProofMessage other = message();
    change(other);
    EXPECT_FALSE(verifyProof(key.publicKey(), other, proof));
  }
  EXPECT_FALSE(verifyProof(OperatorKey::generate().publicKey(), message(), proof));
  for (std::size_t i = 0; i < proof.size(); ++i) {
    Signature changed = proof;
    changed[i] ^= 1;
    EXPECT_FALSE(verifyProof(key.publicKey(), message(), changed)) << i;
  }
}

TEST(Proof, ReasonIsBound) {
  const OperatorKey key = OperatorKey::generate();
  ProofMessage withReason = message();
  withReason.reasonDigest = reasonDigest("looks wrong");
  const Signature proof = key.sign(withReason);
  EXPECT_TRUE(verifyProof(key.publicKey(), withReason, proof));
  EXPECT_FALSE(verifyProof(key.publicKey(), message(), proof));
  withReason.reasonDigest = reasonDigest("looks right");
  EXPECT_FALSE(verifyProof(key.publicKey(), withReason, proof));
}

TEST(Proof, NoTwoMessagesShareTheirBytes) {
  std::set<std::string> seen;
  for (const char* id : {"a", "ab", "b", ""}) {
    for (const std::uint64_t revision : {0ULL, 1ULL, 0x100ULL, ~0ULL}) {
      for (const auto decision : {ProofDecision::kApprove, ProofDecision::kReject, ProofDecision::kReveal}) {
        for (const bool reason : {false, true}) {
          ProofMessage m = message();
          m.actionId = id;
          m.revision = revision;
          m.decision = decision;
          if (reason) m.reasonDigest = Digest{};
          EXPECT_TRUE(seen.insert(m.canonicalBytes()).second);
        }
      }
    }
  }
}

TEST(Login, AnswerIsGoodForOneBrokerAndOneNonceAndIsNoProof) {
  const OperatorKey key = OperatorKey::generate();
  LoginChallenge challenge{"broker-1", message().nonce};
  const Signature answer = key.sign(challenge);
  EXPECT_TRUE(verifyLogin(key.publicKey(), challenge, answer));
  EXPECT_FALSE(verifyLogin(key.publicKey(), {"broker-2", challenge.nonce}, answer));
  challenge.nonce = randomNonce();
  EXPECT_FALSE(verifyLogin(key.publicKey(), challenge, answer));
  EXPECT_FALSE(verifyProof(key.publicKey(), message(), answer)) << "the domains are apart";
}

TEST(Proof, TextIsCanonical) {
  const Signature proof = OperatorKey::generate().sign(message());
  const std::string text = proofText(proof);
  EXPECT_EQ(text.size(), 86U);
  EXPECT_EQ(parseProof(text), proof);
  for (const std::string& bad : {std::string(), text + "=", text.substr(1), text + "A", " " + text}) {
    EXPECT_FALSE(parseProof(bad).has_value());
  }
  const Nonce nonce = randomNonce();
  EXPECT_EQ(parseNonce(nonceText(nonce)), nonce);
  EXPECT_NE(randomNonce(), randomNonce());
}

class OperatorFiles : public HomeTest {};

TEST_F(OperatorFiles, KeyIsKeptSealedAndClosed) {
  EXPECT_EQ(*operatorKeyState(home), KeyState::kMissing);
  EXPECT_THAT(openOperatorKey(home, phrase()).problem().text(), HasSubstr("factionos init"));
  const OperatorKey key = OperatorKey::generate();
  ASSERT_TRUE(storeOperatorKey(home, key, phrase(), SealStrength::kInteractive).ok());
  EXPECT_EQ(*operatorKeyState(home), KeyState::kSealed);
  EXPECT_EQ(modeOf(path + "/operator.key"), 0600U);
  EXPECT_EQ(*loadOperatorPublicKey(home), key.publicKey());
  EXPECT_EQ(openOperatorKey(home, phrase())->publicKey(), key.publicKey());
  const std::string before = get(path + "/operator.key");
  EXPECT_EQ(
      storeOperatorKey(home, OperatorKey::generate(), phrase(), SealStrength::kInteractive).problem().code,
      ProblemCode::kExists);
  EXPECT_EQ(get(path + "/operator.key"), before) << "a key is never replaced";
  EXPECT_EQ(*loadOperatorPublicKey(home), key.publicKey());
}

TEST_F(OperatorFiles, PlainKeyShowsItself) {
  const OperatorKey key = OperatorKey::generate();
  ASSERT_TRUE(storePlainOperatorKey(home, key).ok());
  EXPECT_EQ(*operatorKeyState(home), KeyState::kPlain);
  EXPECT_EQ(openOperatorKey(home, {})->publicKey(), key.publicKey());
  EXPECT_THAT(get(path + "/operator.key"), HasSubstr("sealing: none"));
}

TEST_F(OperatorFiles, OpenKeyFileIsRefused) {
  ASSERT_TRUE(storePlainOperatorKey(home, OperatorKey::generate()).ok());
  ASSERT_EQ(::chmod((path + "/operator.key").c_str(), 0640), 0);
  EXPECT_EQ(openOperatorKey(home, {}).problem().code, ProblemCode::kUnsafe);
  EXPECT_EQ(operatorKeyState(home).problem().code, ProblemCode::kUnsafe);
  EXPECT_EQ(readKeyFile(path + "/operator.key").problem().code, ProblemCode::kUnsafe);
  ASSERT_EQ(::chmod((path + "/operator.key").c_str(), 0600), 0);
  auto text = readKeyFile(path + "/operator.key");
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(OperatorKey::open(text->text(), {}).ok());
}

TEST(PassphraseFile, FirstLineOfAClosedFile) {
  TempDir dir;
  put(dir / "p", "secret words\nsecond line\n");
  EXPECT_EQ(readPassphraseFile(dir / "p")->text(), "secret words");
  put(dir / "crlf", "secret words\r\n");
  EXPECT_EQ(readPassphraseFile(dir / "crlf")->text(), "secret words");
  put(dir / "bare", "secret words");
  EXPECT_EQ(readPassphraseFile(dir / "bare")->text(), "secret words");
  put(dir / "empty", "\nx");
  EXPECT_FALSE(readPassphraseFile(dir / "empty").ok());
  put(dir / "open", "secret words\n", 0644);
  EXPECT_EQ(readPassphraseFile(dir / "open").problem().code, ProblemCode::kUnsafe);
  put(dir / "long", std::string(3000, 'x'));
  EXPECT_EQ(readPassphraseFile(dir / "long").problem().code, ProblemCode::kInvalid);
  EXPECT_EQ(readPassphraseFile(dir / "none").problem().code, ProblemCode::kNotFound);
  EXPECT_EQ(readPassphraseFile(dir.path()).problem().code, ProblemCode::kUnsafe);
  EXPECT_EQ(readPassphraseFile("/dev/null").problem().code, ProblemCode::kUnsafe);
}

TEST(PassphraseFile, PipeOfTheShellIsTaken) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(::write(ends[1], "secret words\n", 13), 13);
  ::close(ends[1]);
  EXPECT_EQ(readPassphraseFile("/dev/fd/" + std::to_string(ends[0]))->text(), "secret words");
  ::close(ends[0]);
}

// A terminal whose other side the test holds.
class Asking : public ::testing::Test {
 protected:
  sandbox::Fd master, terminal;

  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr), 0);
    master = sandbox::Fd(ends[0]);
    terminal = sandbox::Fd(ends[1]);
  }

  // Types each entry when its prompt has been shown, and returns all that the terminal showed.
  std::string type(const std::vector<std::string>& entries) {
    std::string shown;
    for (const std::string& entry : entries) {
      while (!shown.ends_with(": ")) {
        pollfd ready{master.get(), POLLIN, 0};
        if (::poll(&ready, 1, 10000) != 1) return shown + " (no prompt)";
        char buffer[256];
        const ssize_t got = ::read(master.get(), buffer, sizeof buffer);
        if (got <= 0) return shown + " (closed)";
        shown.append(buffer, static_cast<std::size_t>(got));
      }
      if (::write(master.get(), entry.data(), entry.size()) < 0) return shown + " (can't type)";
      shown += "|";
    }
    return shown;
  }

  Result<SecretBytes> ask(Confirm confirm, const std::vector<std::string>& entries,
                          std::string* shown = nullptr) {
    std::string text;
    std::thread typist([&] { text = type(entries); });
    auto answer = askPassphraseOn(terminal.get(), "Passphrase", confirm);
    typist.join();
    pollfd ready{master.get(), POLLIN, 0};
    char buffer[256];
    while (::poll(&ready, 1, 0) == 1) {
      const ssize_t got = ::read(master.get(), buffer, sizeof buffer);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    if (shown != nullptr) *shown = text;
    return answer;
  }
};

TEST_F(Asking, NothingTypedIsShownAndTheTerminalIsLeftAsItWas) {
  struct termios before {};
  ASSERT_EQ(::tcgetattr(terminal.get(), &before), 0);
  std::string shown;
  auto answer = ask(Confirm::kNo, {"secret words\r"}, &shown);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->text(), "secret words");
  EXPECT_THAT(shown, Not(HasSubstr("s"
                                   "ecret")));
  struct termios after {};
  ASSERT_EQ(::tcgetattr(terminal.get(), &after), 0);
  EXPECT_EQ(before.c_lflag, after.c_lflag);
  EXPECT_NE(after.c_lflag & static_cast<tcflag_t>(ECHO), 0U) << "the control: it echoes otherwise";
}

TEST_F(Asking, LineCanBeMended) {
  EXPECT_EQ(ask(Confirm::kNo, {"oops\x15secret wordx\x7fs\n"})->text(), "secret words");
}

TEST_F(Asking, SecondEntryMustAgree) {
  EXPECT_EQ(ask(Confirm::kTwice, {"secret words\n", "secret words\n"})->text(), "secret words");
  EXPECT_EQ(ask(Confirm::kTwice, {"secret words\n", "secret wordz\n"}).problem().code, ProblemCode::kRefused);
}

TEST_F(Asking, OperatorMayCancel) {
  struct termios before {};
  ASSERT_EQ(::tcgetattr(terminal.get(), &before), 0);
  EXPECT_EQ(ask(Confirm::kNo, {"sec\x03"}).problem().code, ProblemCode::kRefused);
  EXPECT_EQ(ask(Confirm::kNo, {"\x04"}).problem().code, ProblemCode::kRefused);
  struct termios after {};
  ASSERT_EQ(::tcgetattr(terminal.get(), &after), 0);
  EXPECT_EQ(before.c_lflag, after.c_lflag);
}

// P76: what is no terminal can't answer.
TEST(AskingWithoutATerminal, P76_PipeIsRefused) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(::write(ends[1], "secret words\n", 13), 13);
  EXPECT_EQ(askPassphraseOn(ends[0], "Passphrase", Confirm::kNo).problem().code, ProblemCode::kRefused);
  EXPECT_EQ(askPassphraseOn(-1, "Passphrase", Confirm::kNo).problem().code, ProblemCode::kRefused);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace factionos::identity
