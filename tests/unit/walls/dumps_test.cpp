// docs/profiles holds what `factionos sandbox show` prints of every profile, and nothing else.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "broker/walls/description.h"

namespace factionos::walls {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRenew = "renew them: build/dev/bin/factionos sandbox show --into docs/profiles";

std::string contentOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string dumpOf(const Profile& profile) {
  return asText(describe(profile, documentScene(profile, {})));
}

#if defined(FACTIONOS_SANITIZED) || !defined(__x86_64__)
#define SKIP_UNLESS_DOCUMENTED() GTEST_SKIP() << "the dumps are of x86-64, without a sanitizer's calls"
#else
#define SKIP_UNLESS_DOCUMENTED() static_cast<void>(0)
#endif

TEST(Dumps, EachIsCurrent) {
  SKIP_UNLESS_DOCUMENTED();
  for (const Profile& profile : profiles()) {
    const fs::path path = fs::path(FACTIONOS_PROFILES) / (std::string(profile.name) + ".txt");
    EXPECT_EQ(contentOf(path), dumpOf(profile)) << path.filename() << " is not current; " << kRenew;
  }
}

TEST(Dumps, NoneIsOfAProfileThatIsGone) {
  for (const auto& entry : fs::directory_iterator(FACTIONOS_PROFILES)) {
    EXPECT_EQ(entry.path().extension(), ".txt");
    EXPECT_NE(findProfile(entry.path().stem().string()), nullptr) << entry.path().filename();
  }
}

// Whatever a policy says is in its dump: each rule's reason, each call of each family.
TEST(Dumps, NothingOfAPolicyIsLeftOut) {
  for (const Profile& profile : profiles()) {
    const Scene scene = documentScene(profile, {});
    const sandbox::Policy policy = profile.policy(scene);
    const std::string text = dumpOf(profile);
    const auto holds = [&text](std::string_view part) { return text.find(part) != std::string::npos; };
    for (const sandbox::FileRule& rule : policy.files.rules) EXPECT_TRUE(holds(rule.reason)) << rule.reason;
    for (const sandbox::Limit& limit : policy.limits) EXPECT_TRUE(holds(limit.reason)) << limit.reason;
    for (const sandbox::SeccompRule& rule : policy.seccomp.rules) {
      EXPECT_TRUE(holds(rule.reason)) << rule.reason;
      for (const sandbox::Call& call : rule.family.calls) {
        const std::string name = sandbox::callName(call.number);
        EXPECT_TRUE(call.number < 0 || name == "unknown" || holds(name)) << name;
      }
    }
  }
}

TEST(Dumps, TestsOfOneArgumentStandTogether) {
  using sandbox::is32;
  using sandbox::masked;
  const auto texts = [](std::vector<sandbox::Call> calls) { return callTexts({"f", std::move(calls)}); };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts({{SYS_read, {}}, {SYS_write, {}}}), (Texts{"read", "write"}));
  EXPECT_EQ(texts({{SYS_ioctl, {is32(1, 3)}}, {SYS_ioctl, {is32(1, 4)}}, {SYS_ioctl, {is32(1, 9)}}}),
            (Texts{"ioctl a1=3..4|9"}));
  EXPECT_EQ(texts({{SYS_ioctl, {masked(1, 0x10, 0x10)}}, {SYS_ioctl, {masked(1, 0x4, 0x4)}}}),
            (Texts{"ioctl a1 has any of 20"}));
  EXPECT_EQ(texts({{SYS_ioctl, {masked(1, 3, 0)}}}), (Texts{"ioctl a1&3=0"}));
  EXPECT_EQ(
      texts({{SYS_socket, {is32(0, 2), masked(1, 0xf, 1)}}, {SYS_socket, {is32(0, 2), masked(1, 0xf, 5)}}}),
      (Texts{"socket a0=2 a1&15=1|5"}));
  std::vector<sandbox::Call> above;
  for (const auto& block : sandbox::rangeBlocks(0, 46, 0xffffffff, 32))
    above.push_back({SYS_socket, {block}});
  EXPECT_EQ(texts(above), (Texts{"socket a0=46..0xffffffff"}));
  EXPECT_EQ(texts({{600, {}}, {601, {}}}), (Texts{"number 600..601"}));
  EXPECT_EQ(texts({{SYS_ioctl, {sandbox::is64(1, 7)}}}), (Texts{"ioctl a1:64=7"}));
}

}  // namespace
}  // namespace factionos::walls
