#include "broker/walls/profiles.h"

#include <cerrno>
#include <set>

#include <gtest/gtest.h>

#include "sandbox/seccomp.h"

namespace factionos::walls {
namespace {

constexpr sandbox::NamespaceSupport kAll{};
constexpr sandbox::NamespaceSupport kNone{EPERM, EPERM, EPERM, EPERM, EPERM, EPERM};

TEST(Profiles, EachHasANameOfItsOwnAndOneThatItLiesIn) {
  std::set<std::string_view> names;
  for (const Profile& profile : profiles()) {
    EXPECT_TRUE(profile.within.empty() || names.contains(profile.within)) << profile.name;
    EXPECT_TRUE(names.insert(profile.name).second) << profile.name;
    EXPECT_EQ(findProfile(profile.name), &profile);
  }
  EXPECT_EQ(findProfile("nobody"), nullptr);
}

TEST(Profiles, EachCompilesForADocumentWithNamespacesAndWithout) {
  for (const Profile& profile : profiles()) {
    for (const sandbox::NamespaceSupport& support : {kAll, kNone}) {
      const sandbox::Policy policy = profile.policy(documentScene(profile, support));
      EXPECT_FALSE(policy.name.empty());
      EXPECT_FALSE(sandbox::compile(policy.seccomp).instructions.empty()) << profile.name;
    }
  }
}

TEST(Profiles, ACommandIsGivenWhatItsNetworkAllows) {
  EXPECT_TRUE(namespacesOf(*findProfile("command"), kAll).network);
  EXPECT_FALSE(namespacesOf(*findProfile("command-full"), kAll).network);
  EXPECT_TRUE(namespacesOf(*findProfile("command-full"), kAll).mount);
  EXPECT_FALSE(namespacesOf(*findProfile("command"), kNone).user);
  EXPECT_FALSE(namespacesOf(*findProfile("command-plain"), kAll).mount);
}

}  // namespace
}  // namespace factionos::walls
