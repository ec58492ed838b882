#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <errno.h>
#include <gtest/gtest.h>

#include "broker/audit/audit_log.h"
#include "broker/audit/verify.h"
#include "tests/unit/audit/temp_home.h"

namespace factionos::audit {

inline Record recordOf(std::uint32_t revision = 1) {
  return Record{.actionId = "act_01HZX3V7QK8M2N4P6R8T0V2W4Y",
                .revision = revision,
                .family = Code::of("git"),
                .operation = Code::of("commit"),
                .requester = Label::of("agent-one"),
                .approver = Label::of("operator"),
                .decision = Code::of("approve"),
                .idempotency = Code::of("fresh"),
                .result = Code::of("executing"),
                .target = Label::of("src/main.cpp")};
}

// The real calls, counted, and failing where a test says so.
class FaultyFiles : public FileOps {
 public:
  ssize_t write(int fd, std::span<const std::uint8_t> data, off_t offset) override {
    ++writes;
    if (failWrites) {
      // What a full disk does: some of it fits.
      const auto part = data.first(std::min(data.size(), bytesLeft));
      if (part.empty()) return errno = ENOSPC, -1;
      bytesLeft -= part.size();
      return FileOps::write(fd, part, offset);
    }
    return FileOps::write(fd, data, offset);
  }
  int sync(int fd) override {
    ++syncs;
    if (failSyncIn > 0 && --failSyncIn == 0) return errno = EIO, -1;
    return FileOps::sync(fd);
  }
  int truncate(int fd, off_t size) override {
    ++truncates;
    return FileOps::truncate(fd, size);
  }

  int writes = 0;
  int syncs = 0;
  int truncates = 0;
  bool failWrites = false;
  std::size_t bytesLeft = 0;  // that failing writes still take
  int failSyncIn = 0;         // 1: the next sync fails, once
};

class AuditTest : public ::testing::Test {
 protected:
  void SetUp() override { firstKey = AuditLog::create(paths, options); }

  std::unique_ptr<AuditLog> open() { return AuditLog::open(paths, options); }

  void append(AuditLog& log, int batches) {
    for (int i = 0; i < batches; ++i) log.append(std::vector{recordOf(static_cast<std::uint32_t>(i + 1))});
  }

  Verdict check() { return verify(paths, Expectation{.firstPublicKey = firstKey}); }

  std::vector<std::string> lines() const {
    std::vector<std::string> found;
    const std::string all = testing::readFile(paths.log());
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = all.find('\n', at);
      found.push_back(all.substr(at, end - at + 1));
      at = end + 1;
    }
    return found;
  }

  void rewrite(const std::vector<std::string>& kept) const {
    std::string all;
    for (const std::string& line : kept) all += line;
    testing::overwriteFile(paths.log(), all);
  }

  testing::TempHome home;
  AuditPaths paths{home.path()};
  AuditOptions options;
  FaultyFiles files;
  std::string firstKey;
};

inline void expectBroken(const Verdict& verdict, Breach breach, std::uint64_t sequence) {
  EXPECT_EQ(nameOf(verdict.breach), nameOf(breach));
  EXPECT_EQ(verdict.sequence, sequence);
}

}  // namespace factionos::audit
