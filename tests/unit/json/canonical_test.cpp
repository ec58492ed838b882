#include "protocol/json/canonical.h"

#include <array>
#include <string_view>

#include <gtest/gtest.h>

#include <capnp/message.h>
#include <kj/exception.h>

#include "protocol/schemas/api.capnp.h"
#include "tests/unit/json/fixture.h"

namespace factionos::json {
namespace {

constexpr std::array<std::string_view, 1> kWithoutApproval = {"approval"};

kj::Array<kj::byte> bytesOf(std::string_view body, std::span<const std::string_view> excluded) {
  Read<schema::TerminalRun> read(body);
  EXPECT_FALSE(read.error);
  return canonicalBytes(read.value, excluded);
}

TEST(Canonical, TheOrderOfMembersAndTheApprovalLeaveNoTrace) {
  auto first = bytesOf(R"({"workspace":"demo","command":["make","all"],"cols":90})", kWithoutApproval);
  auto second = bytesOf(
      R"({"approval":{"actionId":"act_0123456789012345678901234567","expectedRevision":3},"cols":90,"command":["make","all"],)"
      R"("workspace":"d\u0065mo"})",
      kWithoutApproval);
  EXPECT_EQ(first, second);
}

TEST(Canonical, ADefaultThatIsSentEqualsOneThatIsNot) {
  EXPECT_EQ(bytesOf(R"({"workspace":"demo","cols":80})", {}), bytesOf(R"({"workspace":"demo"})", {}));
}

TEST(Canonical, EveryOtherDifferenceShows) {
  auto base = bytesOf(R"({"workspace":"demo","command":["a","b"]})", kWithoutApproval);
  for (std::string_view other :
       {R"({"workspace":"demo2","command":["a","b"]})", R"({"workspace":"demo","command":["ab"]})",
        R"({"workspace":"demo","command":["a","b",""]})", R"({"workspace":"demo","command":["b","a"]})",
        R"({"workspace":"demo","shell":"a b"})", R"({"workspace":"demo","command":["a","b"],"rows":25})",
        R"({"workspace":"demo","command":["a","b"],"network":"full"})"}) {
    EXPECT_NE(base, bytesOf(other, kWithoutApproval)) << other;
  }
  EXPECT_NE(base,
            bytesOf(R"({"workspace":"demo","command":["a","b"],)"
                    R"("approval":{"actionId":"act_0123456789012345678901234567","expectedRevision":3}})",
                    {}));
}

TEST(Canonical, AnUnknownNameIsAMistakeOfOurs) {
  Read<schema::TerminalRun> read(R"({"workspace":"demo"})");
  constexpr std::array<std::string_view, 1> kUnknown = {"aproval"};
  EXPECT_THROW(static_cast<void>(canonicalBytes(read.value, kUnknown)), kj::Exception);
}

}  // namespace
}  // namespace factionos::json
