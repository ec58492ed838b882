// The kernel's records as counts: what they become, and that nothing counts twice.
#include "workers/session/audited_denials.h"

#include <gtest/gtest.h>

#include "workers/common/audited_denial.h"

namespace factionos::session {
namespace {

using sandbox::Blocked;

const Surroundings kAround{"/home/u/ws", "/home/u/.factionos", "/home/u"};
constexpr std::uint16_t kApiPort = 4519;

worker::AuditedDenial record(Blocked blocked, const std::string& path = {}, std::uint16_t port = 0) {
  return {.domain = 1, .maker = 2, .blocked = blocked, .port = port, .path = path};
}

// "operation target source" of the one row.
std::string told(const worker::AuditedDenial& denial) {
  AuditedDenials denials;
  denials.add(denial, kAround, kApiPort);
  const auto rows = denials.with({});
  if (rows.size() != 1 || rows.front().count != 1) return "not one";
  const Denial& kind = rows.front().denial;
  return operationLabel(kind) + " " + placeLabel(kind) + " " + sourceLabel(kind);
}

TEST(AuditedDenials, APathBecomesAPlaceAndNothingElse) {
  EXPECT_EQ(told(record(Blocked::kRead, "/home/u/.ssh/id")), "read home landlock-audit");
  EXPECT_EQ(told(record(Blocked::kRead, "/home/u/.factionos/state")), "read own-state landlock-audit");
  EXPECT_EQ(told(record(Blocked::kExecute, "/srv/x")), "exec outside landlock-audit");
  EXPECT_EQ(told(record(Blocked::kWrite, "/usr/bin/x")), "write system landlock-audit");
  EXPECT_EQ(told(record(Blocked::kCreate, "/home/u/ws/x")), "create workspace landlock-audit");
  EXPECT_EQ(told(record(Blocked::kDevice, "/dev/x")), "syscall:ioctl devices landlock-audit");
  EXPECT_EQ(told(record(Blocked::kConnectTcp, {}, kApiPort)), "connect api-port landlock-audit");
  EXPECT_EQ(told(record(Blocked::kConnectTcp, {}, 1)), "connect network:ipv4 landlock-audit");
  EXPECT_EQ(told(record(Blocked::kAbstractSocket)), "connect network:unix landlock-audit");
  EXPECT_EQ(told(record(Blocked::kOther)), "further kernel landlock-audit");
  EXPECT_EQ(told({}), "further kernel landlock-audit");  // lost records
}

TEST(AuditedDenials, WhatTheGoferHasNamedIsItsRowWithTheLargerCount) {
  AuditedDenials denials;
  for (int i = 0; i < 3; ++i) denials.add(record(Blocked::kRead, "/srv/x"), kAround, kApiPort);
  const Denial read{DeniedOperation::kRead, DenialSource::kLandlock, DeniedPlace::kOutside, 0};
  const auto both = denials.with({{read, 2, 10, 20}});
  ASSERT_EQ(both.size(), 1U);
  EXPECT_EQ(sourceLabel(both.front().denial), "landlock");
  EXPECT_EQ(both.front().count, 3U);
  EXPECT_EQ(both.front().firstMs, 10);
  EXPECT_GT(both.front().lastMs, 20);
  EXPECT_EQ(denials.with({{read, 5, 10, 20}}).front().count, 5U);
  // Another operation, place or wall is another denial.
  Denial other = read;
  other.operation = DeniedOperation::kWrite;
  EXPECT_EQ(denials.with({{other, 2, 10, 20}}).size(), 2U);
  other = read;
  other.source = DenialSource::kNamespace;
  EXPECT_EQ(denials.with({{other, 2, 10, 20}}).size(), 2U);
}

TEST(AuditedDenials, TheGofersTableTakesNoRowOfThisSource) {
  DenialTable table;
  table.add({DeniedOperation::kRead, DenialSource::kLandlockAudit, DeniedPlace::kHome, 0});
  EXPECT_TRUE(table.read().empty());
  table.add({DeniedOperation::kRead, DenialSource::kLandlock, DeniedPlace::kHome, 0});
  EXPECT_EQ(table.read().size(), 1U);
}

TEST(AuditedDenials, ADatagramIsTakenWholeOrNotAtAll) {
  const auto bytes = worker::encode(record(Blocked::kAbstractSocket, "/x", 7));
  const auto back = worker::decodeAudited(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->blocked, Blocked::kAbstractSocket);
  EXPECT_EQ(back->path, "/x");
  EXPECT_EQ(back->port, 7);
  EXPECT_EQ(back->maker, 2);
  EXPECT_FALSE(worker::decodeAudited({bytes.data(), worker::kAuditedHeadBytes - 1}));
  auto wrong = bytes;
  wrong[14] = std::byte{9};  // one past the last enumerator
  EXPECT_FALSE(worker::decodeAudited(wrong));
  EXPECT_FALSE(worker::decodeAudited(std::vector<std::byte>(worker::kMostAuditedBytes + 1)));
}

}  // namespace
}  // namespace factionos::session
