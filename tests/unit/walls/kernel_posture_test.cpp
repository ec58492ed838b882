// Posture follows from what a kernel has and from the table of guarantees, and from nothing else.
#include "broker/walls/kernel_posture.h"

#include <algorithm>
#include <cerrno>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/walls/guarantees.h"

namespace factionos::walls {
namespace {

using sandbox::KernelSupport;
using sandbox::verify::Feature;
using sandbox::verify::Guarantee;
using sandbox::verify::Strength;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;
using Table = std::vector<Guarantee>;

KernelSupport whole() {
  KernelSupport support;
  support.landlockAbi = 7;
  support.seccompFilter = true;
  support.seccompNotify = true;
  return support;
}

KernelPosture with(const std::function<void(KernelSupport&)>& change) {
  KernelSupport support = whole();
  change(support);
  return postureOf(support);
}

Table changed(std::string_view profile, std::string_view id, const std::function<void(Guarantee&)>& change) {
  const auto all = guarantees();
  Table table(all.begin(), all.end());
  const auto row = std::ranges::find_if(
      table, [&](const Guarantee& each) { return each.profile == profile && each.id == id; });
  EXPECT_NE(row, table.end()) << profile << "/" << id;
  if (row != table.end()) change(*row);
  return table;
}

TEST(KernelPosture, AWholeKernelLacksNothing) {
  const KernelPosture posture = postureOf(whole());
  EXPECT_TRUE(posture.holds());
  EXPECT_THAT(posture.without, IsEmpty());
  EXPECT_EQ(posture.cleanup, Cleanup::kPidNamespace);
  EXPECT_EQ(posture.protectedPaths, ProtectedPaths::kWhole);
  EXPECT_EQ(posture.processes, ProcessView::kOwn);
}

TEST(KernelPosture, WithoutWhatARequiredGuaranteeNeedsNothingHolds) {
  const KernelPosture noLandlock = with([](KernelSupport& support) { support.landlockAbi = 0; });
  EXPECT_THAT(noLandlock.lacking, ElementsAre(Feature::kLandlock));
  const KernelPosture noSeccomp = with([](KernelSupport& support) { support.seccompFilter = false; });
  EXPECT_THAT(noSeccomp.lacking, ElementsAre(Feature::kSeccomp));
}

TEST(KernelPosture, WhatOptionalGuaranteesNeedIsNamedAndTheRestHolds) {
  const auto ofAbi = [](int abi) {
    return with([abi](KernelSupport& support) { support.landlockAbi = abi; });
  };
  EXPECT_TRUE(ofAbi(1).holds());
  EXPECT_THAT(ofAbi(6).without, IsEmpty());
  EXPECT_THAT(ofAbi(5).without, ElementsAre(Feature::kLandlockScopes));
  EXPECT_THAT(ofAbi(3).without, UnorderedElementsAre(Feature::kLandlockTcp, Feature::kLandlockScopes));
  EXPECT_THAT(ofAbi(2).without, UnorderedElementsAre(Feature::kLandlockTruncate, Feature::kLandlockTcp,
                                                     Feature::kLandlockScopes));
}

TEST(KernelPosture, EachKindOfNamespaceIsMissedByWhatItCarries) {
  const KernelPosture noUser =
      with([](KernelSupport& support) { support.namespaces = {EPERM, EPERM, EPERM, EPERM, EPERM, EPERM}; });
  EXPECT_TRUE(noUser.holds());
  EXPECT_EQ(noUser.cleanup, Cleanup::kSignalScope);
  EXPECT_EQ(noUser.processes, ProcessView::kShared);
  EXPECT_EQ(noUser.protectedPaths, ProtectedPaths::kWhole);

  const KernelPosture noPid = with([](KernelSupport& support) { support.namespaces.pid = EPERM; });
  EXPECT_EQ(noPid.cleanup, Cleanup::kSubreaper) << "nothing could be mounted below a scope";
  EXPECT_EQ(noPid.processes, ProcessView::kShared);
  EXPECT_EQ(noPid.protectedPaths, ProtectedPaths::kWhole);
  EXPECT_THAT(noPid.without, UnorderedElementsAre(Feature::kPidNamespace, Feature::kNamespaces));

  const KernelPosture noMount = with([](KernelSupport& support) { support.namespaces.mount = EPERM; });
  EXPECT_EQ(noMount.cleanup, Cleanup::kPidNamespace);
  EXPECT_EQ(noMount.processes, ProcessView::kShared);
  EXPECT_EQ(noMount.protectedPaths, ProtectedPaths::kNone) << "nobody can tell who calls";
  EXPECT_THAT(noMount.without,
              UnorderedElementsAre(Feature::kMountNamespace, Feature::kNamespaces, Feature::kSupervision));

  const KernelPosture noNetwork = with([](KernelSupport& support) { support.namespaces.network = EPERM; });
  EXPECT_THAT(noNetwork.without, ElementsAre(Feature::kNetworkNamespace));
  EXPECT_EQ(noNetwork.processes, ProcessView::kOwn);
}

TEST(KernelPosture, WithoutAListenerTheMountsKeepWhatExists) {
  const auto deaf = [](int mount) {
    return with([mount](KernelSupport& support) {
      support.seccompNotify = false;
      support.namespaces.mount = mount;
    });
  };
  EXPECT_THAT(deaf(0).without, ElementsAre(Feature::kSupervision));
  EXPECT_EQ(deaf(0).protectedPaths, ProtectedPaths::kExistingOnly);
  EXPECT_EQ(deaf(EPERM).protectedPaths, ProtectedPaths::kNone);
}

TEST(KernelPosture, BelowScopesAndNamespacesATreeIsEndedByWalkingIt) {
  const KernelPosture posture = with([](KernelSupport& support) {
    support.landlockAbi = 5;
    support.namespaces = {EPERM, EPERM, EPERM, EPERM, EPERM, EPERM};
  });
  EXPECT_EQ(posture.cleanup, Cleanup::kSubreaper);
}

TEST(KernelPosture, ARowThatIsChangedChangesIt) {
  KernelSupport support = whole();
  support.landlockAbi = 5;
  ASSERT_TRUE(postureOf(support).holds());
  const Table required =
      changed("front", "sockets.abstract-scope", [](Guarantee& row) { row.strength = Strength::kRequired; });
  EXPECT_THAT(postureOf(support, required).lacking, ElementsAre(Feature::kLandlockScopes));

  support = whole();
  support.namespaces.network = EPERM;
  const Table ended = changed("command", "processes.leftovers",
                              [](Guarantee& row) { row.needs = Feature::kNetworkNamespace; });
  EXPECT_EQ(postureOf(support).cleanup, Cleanup::kPidNamespace);
  EXPECT_EQ(postureOf(support, ended).cleanup, Cleanup::kSubreaper);

  const Table seen =
      changed("command", "processes.outside", [](Guarantee& row) { row.needs = Feature::kNetworkNamespace; });
  EXPECT_EQ(postureOf(support, seen).processes, ProcessView::kShared);

  support.seccompNotify = false;
  const Table kept =
      changed("command", "files.protected", [](Guarantee& row) { row.needs = Feature::kNetworkNamespace; });
  EXPECT_EQ(postureOf(support).protectedPaths, ProtectedPaths::kExistingOnly);
  EXPECT_EQ(postureOf(support, kept).protectedPaths, ProtectedPaths::kNone);

  support.seccompNotify = true;
  EXPECT_EQ(postureOf(support).protectedPaths, ProtectedPaths::kWhole);
  Table forgotten(guarantees().begin(), guarantees().end());
  std::erase_if(forgotten, [](const Guarantee& row) { return row.id == "files.protected-names"; });
  EXPECT_EQ(postureOf(support, forgotten).protectedPaths, ProtectedPaths::kExistingOnly);
}

TEST(KernelPosture, OfAnEmptyTableEverythingHoldsAndNothingIsPromised) {
  const KernelPosture posture = postureOf(KernelSupport{}, {});
  EXPECT_TRUE(posture.holds());
  EXPECT_EQ(posture.cleanup, Cleanup::kSubreaper);
  EXPECT_EQ(posture.processes, ProcessView::kShared);
}

TEST(KernelPosture, WhatACallerLacksIsNoKernels) {
  EXPECT_THAT(postureOf(whole()).without, Not(Contains(Feature::kGainablePrivileges)));
  EXPECT_TRUE(has(KernelSupport{}, Feature::kCoreFiles));
}

}  // namespace
}  // namespace factionos::walls
