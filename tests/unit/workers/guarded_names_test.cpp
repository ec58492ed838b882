// Which changes of names pass, and what is counted of those that do not.
#include "workers/session/guarded_names.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workers/session/denial_table.h"

namespace factionos::session {
namespace {

GuardedNames names(Mounted mounted = Mounted::kNo) {
  ProtectedPaths paths;
  paths.present = {{".git", Guard::kMountPoint}, {".git/config", Guard::kReadOnly}};
  paths.names = {{".git", Keep::kPlace},   {".git/config", Keep::kWhole}, {".git/hooks", Keep::kWhole},
                 {".envrc", Keep::kWhole}, {"tools", Keep::kPlace},       {"tools/hooks", Keep::kWhole}};
  return {"/ws", paths, mounted};
}

int errorOf(const GuardedNames& guarded, const char* directory, const char* name, Change change) {
  const auto refusal = guarded.judge(directory, name, change);
  return refusal ? refusal->error : 0;
}

TEST(GuardedNames, WhatIsKeptWholeAdmitsNothing) {
  const GuardedNames guarded = names();
  for (const Change change : {Change::kMake, Change::kMakeDirectory, Change::kBring, Change::kShift,
                              Change::kRemove, Change::kAlias}) {
    EXPECT_EQ(errorOf(guarded, "/ws", ".envrc", change), EACCES);
    EXPECT_EQ(errorOf(guarded, "/ws/.git/hooks", "pre-commit", change), EACCES);
    EXPECT_EQ(errorOf(guarded, "/ws/.git/hooks/deep/er", "x", change), EACCES);
    EXPECT_EQ(errorOf(guarded, "/ws", "other", change), 0);
    EXPECT_EQ(errorOf(guarded, "/ws/sub", ".envrc", change), 0);
    EXPECT_EQ(errorOf(guarded, "/", "ws", change), 0) << "outside is the kernel's";
    EXPECT_EQ(errorOf(guarded, "/ws2", ".envrc", change), 0);
  }
}

TEST(GuardedNames, OnTheWayAnEmptyDirectoryMayComeToBe) {
  const GuardedNames guarded = names();
  EXPECT_EQ(errorOf(guarded, "/ws", "tools", Change::kMakeDirectory), 0);
  for (const Change change : {Change::kMake, Change::kBring, Change::kRemove, Change::kAlias})
    EXPECT_EQ(errorOf(guarded, "/ws", "tools", change), EACCES);
  EXPECT_EQ(errorOf(guarded, "/ws/tools", "x", Change::kMake), 0);
}

TEST(GuardedNames, SettingsOfRepositoriesToComeAreKnownByTheirForm) {
  const GuardedNames guarded = names();
  EXPECT_EQ(errorOf(guarded, "/ws/.git/modules/a/b", "config", Change::kMake), EACCES);
  EXPECT_EQ(errorOf(guarded, "/ws/.git/worktrees/a/hooks", "x", Change::kMake), EACCES);
  EXPECT_EQ(errorOf(guarded, "/ws/.git/modules/a/refs/heads", "config", Change::kMake), 0) << "a branch";
  EXPECT_EQ(errorOf(guarded, "/ws/.git/modules", "a", Change::kBring), EACCES);
  EXPECT_EQ(errorOf(guarded, "/ws/.git", "modules", Change::kBring), EACCES);
  EXPECT_EQ(guarded.bringing("/ws/.git/modules", "a"), Change::kShift);
  EXPECT_EQ(guarded.bringing("/ws", "a"), Change::kBring);
  EXPECT_EQ(errorOf(guarded, "/ws/.git/modules", "b", Change::kShift), 0);
}

// Where a work tree may be called refs, a repository's refs are not to be moved.
TEST(GuardedNames, NoPartOfARepositoryBecomesARepositorysName) {
  const GuardedNames guarded = names();
  EXPECT_EQ(guarded.bringing("/ws/.git/worktrees", "a"), Change::kShift);
  EXPECT_EQ(errorOf(guarded, "/ws/.git", "modules", Change::kShift), EACCES);
  EXPECT_EQ(errorOf(guarded, "/ws/.git", "worktrees", Change::kShift), EACCES);
  EXPECT_EQ(errorOf(guarded, "/ws/.git/modules/a", "modules", Change::kShift), EACCES);
  EXPECT_EQ(errorOf(guarded, "/ws/.git/modules/a/modules/refs", "config", Change::kMake), EACCES);
  EXPECT_EQ(errorOf(guarded, "/ws/.git/modules/a/logs/refs", "config", Change::kMake), 0) << "a branch's log";
}

// Else settings could be written where a branch may be called so, and be moved to where git reads them.
TEST(GuardedNames, WhatCameToBeWhereNamesAreFreeIsBroughtAsAnythingElse) {
  const GuardedNames guarded = names();
  EXPECT_EQ(guarded.bringing("/ws/.git/modules/a/objects", "x"), Change::kBring);
  EXPECT_EQ(guarded.bringing("/ws/.git/worktrees/w", "logs"), Change::kBring);
  EXPECT_EQ(guarded.bringing("/ws/.git/modules/a", "index.lock"), Change::kShift);
  EXPECT_EQ(errorOf(guarded, "/ws/.git/modules", "b", Change::kBring), EACCES);
  EXPECT_EQ(errorOf(guarded, "/ws/.git/modules/a/objects/12", "34", Change::kBring), 0) << "an object";
  EXPECT_EQ(errorOf(guarded, "/ws/.git/worktrees/logs", "config.worktree", Change::kMake), EACCES)
      << "a work tree's name is no area of a repository";
}

TEST(GuardedNames, WhatAMountKeepsIsRefusedAsTheMountDoes) {
  const GuardedNames guarded = names(Mounted::kYes);
  EXPECT_EQ(errorOf(guarded, "/ws/.git", "config", Change::kMake), EROFS);
  EXPECT_EQ(errorOf(guarded, "/ws/.git", "config", Change::kRemove), EBUSY);
  EXPECT_EQ(errorOf(guarded, "/ws/.git", "config", Change::kAlias), EXDEV);
  EXPECT_EQ(errorOf(guarded, "/ws", ".git", Change::kBring), EBUSY);
  EXPECT_EQ(errorOf(guarded, "/ws/.git", "hooks", Change::kMakeDirectory), EACCES) << "it is not there yet";
}

TEST(DenialTable, CountsByKindAndTellsNothingElse) {
  DenialTable table;
  EXPECT_TRUE(table.read().empty());
  const Denial denial{DeniedOperation::kCreate, DenialSource::kSupervisor, DeniedPlace::kProtected, 1};
  table.add(denial);
  table.add(denial);
  table.add({DeniedOperation::kCall, DenialSource::kSeccomp, DeniedPlace::kNone, 165});
  const auto counts = table.read();
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_EQ(counts[0].count, 2U);
  EXPECT_LE(counts[0].firstMs, counts[0].lastMs);
  EXPECT_EQ(operationLabel(counts[0].denial), "create");
  EXPECT_EQ(placeLabel(counts[0].denial), "workspace:.git/hooks");
  EXPECT_EQ(sourceLabel(counts[0].denial), "supervisor");
}

TEST(DenialTable, HoldsNoMoreKindsThanItHasRoomForAndKeepsSomeForProtectedNames) {
  DenialTable table;
  for (std::uint16_t i = 0; i < 1000; ++i) {
    table.add({DeniedOperation::kCall, DenialSource::kSeccomp, DeniedPlace::kNone, i});
    table.add({DeniedOperation::kConnect, DenialSource::kSeccomp, DeniedPlace::kNetwork, i});
  }
  table.add({DeniedOperation::kCreate, DenialSource::kSupervisor, DeniedPlace::kProtected, 1});
  const auto counts = table.read();
  EXPECT_LE(counts.size(), kDenialRows + 1);
  std::uint64_t all = 0;
  std::uint64_t further = 0;
  std::size_t networks = 0;
  for (const auto& each : counts) {
    all += each.count;
    if (each.denial.place == DeniedPlace::kNetwork) ++networks;
    if (operationLabel(each.denial) == "further") further = each.count;
  }
  EXPECT_EQ(all, 2001U);
  EXPECT_GT(further, 900U);
  EXPECT_LE(networks, 6U) << "families without a name are one";
  EXPECT_EQ(placeLabel(counts.back().denial), "kernel");
  EXPECT_THAT(counts, testing::Contains(
                          testing::ResultOf([](const DenialCount& each) { return placeLabel(each.denial); },
                                            testing::StartsWith("workspace:"))));
}

}  // namespace
}  // namespace factionos::session
