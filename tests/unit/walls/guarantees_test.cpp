#include "broker/walls/guarantees.h"

#include <cerrno>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "broker/walls/profiles.h"
#include "sandbox/verify/act.h"
#include "sandbox/verify/judge.h"

namespace factionos::walls {
namespace {

namespace verify = sandbox::verify;
using verify::Around;
using verify::Layer;
using verify::Seen;
using verify::Verdict;

TEST(Guarantees, EachIsNamedOnceAndTriedByActsThatAreThere) {
  std::set<std::string> names;
  for (const verify::Guarantee& guarantee : guarantees()) {
    const std::string name = std::string(guarantee.profile) + "/" + std::string(guarantee.id);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(guarantee.forbidden.empty()) << name;
    EXPECT_NE(verify::findAct(guarantee.allowed), nullptr) << name << guarantee.allowed;
    for (const std::string_view forbidden : guarantee.forbidden) {
      const verify::Act* const act = verify::findAct(forbidden);
      ASSERT_NE(act, nullptr) << name << " " << forbidden;
      // Only a filter can be told from the kernel by the answer alone.
      EXPECT_TRUE(act->happened != nullptr || guarantee.layer == Layer::kSeccomp) << name << " " << forbidden;
    }
  }
}

TEST(Guarantees, EveryProfileHasSomeAndEveryActIsUsed) {
  std::set<std::string_view> used;
  std::set<std::string_view> withSome;
  for (const verify::Guarantee& guarantee : guarantees()) {
    withSome.insert(guarantee.profile);
    used.insert(guarantee.allowed);
    used.insert(guarantee.forbidden.begin(), guarantee.forbidden.end());
  }
  for (const Profile& profile : profiles()) EXPECT_TRUE(withSome.contains(profile.name)) << profile.name;
  for (const auto acts : {verify::fileActs(), verify::processActs(), verify::socketActs(), verify::callActs(),
                          verify::resourceActs()}) {
    for (const verify::Act& act : acts) EXPECT_TRUE(used.contains(act.name)) << act.name;
  }
}

TEST(Guarantees, StandInTheOrderOfTheProfiles) {
  std::vector<std::string_view> names;
  for (const verify::Guarantee& guarantee : guarantees()) {
    if (names.empty() || names.back() != guarantee.profile) names.push_back(guarantee.profile);
  }
  std::vector<std::string_view> expected;
  for (const Profile& profile : profiles()) expected.push_back(profile.name);
  EXPECT_EQ(names, expected);
}

TEST(Guarantees, ThePageIsCurrent) {
#ifdef __x86_64__
  std::ostringstream page;
  page << std::ifstream(FACTIONOS_GUARANTEES).rdbuf();
  EXPECT_EQ(page.str(), guaranteesPage())
      << "renew it: build/dev/bin/factionos sandbox verify --list >docs/guarantees.md";
#endif
}

Seen returned(int error, bool happened = false) {
  Seen seen;
  seen.error = error;
  seen.happened = happened;
  return seen;
}

Verdict verdictOf(Layer layer, std::string_view act, const Seen& control, const Seen& alone,
                  const Seen& whole, Around around = Around::kOpen) {
  return verify::decide(layer, *verify::findAct(act), control, alone, whole, around).verdict;
}

TEST(Judging, AnActIsRefusedByALayerOnlyIfItIsRefusedInTheWayOfThatLayer) {
  const Seen worked = returned(0, true);
  EXPECT_EQ(verdictOf(Layer::kLandlock, "read-private", worked, returned(EACCES), returned(EACCES)),
            Verdict::kEnforced);
  EXPECT_EQ(verdictOf(Layer::kLandlock, "read-private", worked, returned(ENOENT), returned(ENOENT)),
            Verdict::kNotEnforced);
  EXPECT_EQ(verdictOf(Layer::kLandlock, "read-private", worked, worked, returned(ENOENT)),
            Verdict::kNotEnforced);
  EXPECT_EQ(verdictOf(Layer::kSeccomp, "read-private", worked, returned(EACCES), returned(EACCES)),
            Verdict::kNotEnforced)
      << "the kernel's own errno is no answer of a filter";
  EXPECT_EQ(verdictOf(Layer::kSeccomp, "read-private", worked, returned(verify::kSentinel), returned(EACCES)),
            Verdict::kEnforced);
  EXPECT_EQ(verdictOf(Layer::kNamespaces, "read-private", worked, returned(EACCES), returned(EACCES)),
            Verdict::kNotEnforced);
}

TEST(Judging, WhatDoesNotWorkWithoutTheSandboxProvesNothing) {
  EXPECT_EQ(verdictOf(Layer::kLandlock, "read-private", returned(EACCES), returned(EACCES), returned(EACCES)),
            Verdict::kInconclusive);
  EXPECT_EQ(verdictOf(Layer::kSeccomp, "bpf", returned(EPERM), returned(verify::kSentinel), returned(EPERM)),
            Verdict::kEnforced)
      << "a call has to come to the kernel, whatever that says";
  EXPECT_EQ(verdictOf(Layer::kSeccomp, "bpf", returned(EPERM), returned(EPERM), returned(EPERM)),
            Verdict::kNotEnforced);
}

TEST(Judging, AFilterAroundUsProvesNothingForALayerThatItAnswersBefore) {
  const Seen refused = returned(EPERM);
  const Seen byOurs = returned(verify::kSentinel);
  const auto verdict = [&](Layer layer, const Seen& alone, const Seen& whole, Around around) {
    return verdictOf(layer, "write-memory-by-call", refused, alone, whole, around);
  };
  EXPECT_EQ(verdict(Layer::kSeccomp, byOurs, byOurs, Around::kOpen), Verdict::kInconclusive);
  EXPECT_EQ(verdict(Layer::kSeccomp, byOurs, byOurs, Around::kFiltered), Verdict::kEnforced)
      << "only our own filter answers like this";
  EXPECT_EQ(verdict(Layer::kSeccomp, refused, refused, Around::kFiltered), Verdict::kInconclusive);
  EXPECT_EQ(verdict(Layer::kLandlock, refused, refused, Around::kFiltered), Verdict::kInconclusive);
}

TEST(Judging, AGuaranteeRestsOnWhatIsProvenAndNeverOnWhatNobodyHereCanDo) {
  const auto probe = [](Verdict verdict, bool refusedAround) {
    verify::Probe one;
    one.act = verify::findAct("write-memory-by-call");
    one.verdict = verdict;
    one.refusedAround = refusedAround;
    return one;
  };
  const auto verdictOfAll = [](std::vector<verify::Probe> probes) {
    verify::Finding finding;
    finding.probes = std::move(probes);
    verify::conclude(finding, *verify::findAct("run-own"), returned(0, true));
    return finding.verdict;
  };
  EXPECT_EQ(verdictOfAll({probe(Verdict::kEnforced, false), probe(Verdict::kInconclusive, true)}),
            Verdict::kEnforced);
  EXPECT_EQ(verdictOfAll({probe(Verdict::kInconclusive, true)}), Verdict::kInconclusive);
  EXPECT_EQ(verdictOfAll({probe(Verdict::kEnforced, false), probe(Verdict::kInconclusive, false)}),
            Verdict::kInconclusive);
}

TEST(Judging, WhatCameToPassInTheWholeProfileIsRedWhateverElse) {
  EXPECT_EQ(verdictOf(Layer::kSeccomp, "read-private", returned(EACCES), returned(verify::kSentinel),
                      returned(0, true)),
            Verdict::kNotEnforced);
}

}  // namespace
}  // namespace factionos::walls
