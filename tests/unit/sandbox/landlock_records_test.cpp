// What counts as a record of Landlock's, word for word as the kernel writes them (6.18).
#include "sandbox/landlock_records.h"

#include <gtest/gtest.h>

namespace factionos::sandbox {
namespace {

const std::string kStamp = "audit(1796085851.261:58986): ";

LandlockRecord access(const std::string& rest) {
  return parseLandlockRecord(kLandlockAccessRecord, kStamp + rest);
}
LandlockRecord domain(const std::string& rest) {
  return parseLandlockRecord(kLandlockDomainRecord, kStamp + rest);
}
bool isNothing(const LandlockRecord& record) {
  return std::holds_alternative<std::monostate>(record);
}
Blocked blocked(const std::string& blockers) {
  const auto record = access("domain=1 blockers=" + blockers);
  return std::get<LandlockDenial>(record).blocked;
}

TEST(LandlockRecords, ADenialOfAFile) {
  const auto record = access(
      "domain=1c35ea194 blockers=fs.read_file path=\"/sys/devices/system/cpu/online\" dev=\"sysfs\" "
      "ino=3564");
  const auto& denial = std::get<LandlockDenial>(record);
  EXPECT_EQ(denial.domain, 0x1c35ea194U);
  EXPECT_EQ(denial.blocked, Blocked::kRead);
  EXPECT_EQ(denial.path, "/sys/devices/system/cpu/online");
}

TEST(LandlockRecords, APathThatCouldPassForFieldsIsHexAndIsOnlyAPath) {
  // "/a" domain=2
  const auto record = access("domain=1 blockers=fs.execute path=2F612220646F6D61696E3D32 dev=\"vda\" ino=2");
  const auto& denial = std::get<LandlockDenial>(record);
  EXPECT_EQ(denial.domain, 1U);
  EXPECT_EQ(denial.blocked, Blocked::kExecute);
  EXPECT_EQ(denial.path, "/a\" domain=2");
  EXPECT_EQ(std::get<LandlockDenial>(access("domain=1 blockers=fs.execute path=2F0061")).path, "");
  EXPECT_EQ(std::get<LandlockDenial>(access("domain=1 blockers=fs.execute path=2F6")).path, "");
  EXPECT_EQ(std::get<LandlockDenial>(access("domain=1 blockers=fs.execute path=<no_memory>")).path, "");
}

TEST(LandlockRecords, APortIsOfItsOwnDirection) {
  const auto record = access("domain=1 blockers=net.connect_tcp daddr=127.0.0.1 dest=4519");
  EXPECT_EQ(std::get<LandlockDenial>(record).blocked, Blocked::kConnectTcp);
  EXPECT_EQ(std::get<LandlockDenial>(record).port, 4519);
  EXPECT_EQ(std::get<LandlockDenial>(access("domain=1 blockers=net.connect_tcp src=7 dest=70000")).port, 0);
  EXPECT_EQ(std::get<LandlockDenial>(access("domain=1 blockers=net.bind_tcp src=7 dest=9")).port, 7);
}

TEST(LandlockRecords, OfSeveralRightsTheStrongestCounts) {
  EXPECT_EQ(blocked("fs.read_file,fs.write_file"), Blocked::kWrite);
  EXPECT_EQ(blocked("fs.make_reg,fs.refer"), Blocked::kCreate);
  EXPECT_EQ(blocked("fs.execute,fs.read_file"), Blocked::kExecute);
  EXPECT_EQ(blocked("scope.abstract_unix_socket"), Blocked::kAbstractSocket);
  EXPECT_EQ(blocked("scope.signal"), Blocked::kOther);
  EXPECT_EQ(blocked("ptrace"), Blocked::kOther);
  EXPECT_EQ(blocked("fs.of_a_later_kernel"), Blocked::kOther);
}

TEST(LandlockRecords, ADomainIsToldWithItsMakerAndAtItsEnd) {
  const auto made = domain(
      "domain=1c35ea194 status=allocated mode=enforcing pid=22018 uid=999 exe=\"/usr/bin/git\" comm=\"git\"");
  EXPECT_EQ(std::get<LandlockDomain>(made).domain, 0x1c35ea194U);
  EXPECT_EQ(std::get<LandlockDomain>(made).maker, 22018);
  EXPECT_EQ(std::get<LandlockDomain>(made).user, 999U);
  const auto ended = domain("domain=1c35ea194 status=deallocated denials=2");
  EXPECT_EQ(std::get<LandlockDomain>(ended).maker, 0);
}

// The control of each lies in the tests above.
TEST(LandlockRecords, WhatIsNotExactlyARecordIsNothing) {
  const std::string whole = "domain=1 blockers=fs.read_file path=\"/\"";
  EXPECT_FALSE(isNothing(access(whole)));
  for (const int type : {0, 1300, 1320, 1327, 1400, 1422, 1425})
    EXPECT_TRUE(isNothing(parseLandlockRecord(static_cast<std::uint16_t>(type), kStamp + whole))) << type;
  EXPECT_TRUE(isNothing(parseLandlockRecord(kLandlockAccessRecord, whole)));
  for (const char* stamp : {"audit(1.2:3) ", "audit(1.2:x): ", "audit(1:2.3): ", "audit(.:): ", "audit(1.2:3",
                            " audit(1.2:3): ", "audit(-1.2:3): "})
    EXPECT_TRUE(isNothing(parseLandlockRecord(kLandlockAccessRecord, stamp + whole))) << stamp;
  for (const char* rest :
       {"", "domain=", "domain=0 blockers=fs.read_file", "domain=-1 blockers=fs.read_file",
        "domain=0x1 blockers=fs.read_file", "domain=12345678901234567 blockers=fs.read_file", "domain=1",
        "domain=1 path=\"/\" blockers=fs.read_file", " domain=1 blockers=a", "blockers=fs.read_file domain=1",
        "domains=1 blockers=fs.read_file"})
    EXPECT_TRUE(isNothing(access(rest))) << rest;
  for (const char* rest :
       {"domain=1 status=allocated pid=5", "domain=1 status=allocated mode=enforcing pid=0",
        "domain=1 status=allocated mode=enforcing pid=-5", "domain=1 status=allocated mode=enforcing pid=5x",
        "domain=1 status=allocated mode=enforcing uid=9 pid=5", "domain=1 status=freed denials=2",
        "domain=1 status=allocated mode=enforcing pid=5",
        "domain=1 status=allocated mode=enforcing pid=5 uid=x",
        "domain=1 pid=5 status=allocated mode=enforcing",
        "domain=1 status=allocated mode=enforcing pid=9999999999"})
    EXPECT_TRUE(isNothing(domain(rest))) << rest;
  EXPECT_TRUE(isNothing(access(whole + std::string(kMostRecordBytes, 'x'))));
}

TEST(LandlockRecords, APathIsBounded) {
  const auto record = access("domain=1 blockers=fs.read_file path=\"/" + std::string(5000, 'a') + "\"");
  EXPECT_EQ(std::get<LandlockDenial>(record).path.size(), kMostRecordPath);
}

}  // namespace
}  // namespace factionos::sandbox
