// Each layer is broken in turn between the product's profiles and the verdict. verify has to turn red, name
// the guarantees that the layer carried, and leave the others as they were.
#include <algorithm>
#include <csignal>
#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include "broker/walls/guarantees.h"
#include "sandbox/verify/world.h"
#include "tests/absent.h"
#include "tests/denial/verify/examined.h"
#include "tests/unit/sandbox/sandboxed_child.h"
#include "workers/session/supervised_entry.h"

namespace factionos::test {
namespace {

namespace verify = sandbox::verify;
using Names = std::set<std::string>;
using sandbox::Policy;
using verify::Layer;

Names carriedBy(Layer layer, const std::string& profile) {
  Names names;
  for (const verify::Guarantee& guarantee : walls::guarantees()) {
    if (guarantee.layer == layer && guarantee.profile == profile)
      names.insert(profile + "/" + std::string(guarantee.id));
  }
  return names;
}

Names red(const Examined& examined) {
  const auto names = examined.thatAre("not_enforced");
  return {names.begin(), names.end()};
}

// A role's name asks for all of its profiles; here each is looked at by itself.
Names redOf(const Examined& examined, const std::string& profile) {
  Names names = red(examined);
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(profile + "/"); });
  return names;
}

// What this machine can't show unbroken either.
Names without(Names names, const Examined& examined) {
  std::erase_if(names, [&](const std::string& name) { return !examined.of(name).counts; });
  return names;
}

void expectRed(const Examined& examined, const Names& expected) {
  EXPECT_FALSE(examined.passed);
  EXPECT_EQ(red(examined), without(expected, examined));
}

void withoutFilter(Policy& policy) {
  policy.seccomp = {};
  policy.seccomp.scope = sandbox::SeccompScope::kNone;
  policy.traps = sandbox::Traps::kNone;
}

void withoutLandlock(Policy& policy) {
  policy.files = {};
  policy.files.scope = sandbox::FileScope::kUnrestricted;
  policy.tcp = {};
  policy.scopes = {sandbox::Need::kOff, sandbox::Need::kOff};
}

TEST(VerifyBreaks, UnbrokenEverythingThatCountsIsEnforced) {
  SKIP_IF_SANITIZED();
  const Examined examined = examine("", [](verify::Subject&) {});
  EXPECT_TRUE(examined.passed);
  EXPECT_EQ(red(examined), Names{});
  EXPECT_GT(examined.thatAre("enforced").size(), 200U);
}

// The supervisor hears by it.
TEST(VerifyBreaks, WithoutItsFilterEveryGuaranteeOfTheFilterIsRedAndNoOther) {
  for (const std::string profile : {"broker", "pty", "session", "keeper", "command-plain"}) {
    const Examined examined = examine(profile, changed(withoutFilter));
    EXPECT_FALSE(examined.passed);
    Names expected = carriedBy(Layer::kSeccomp, profile);
    expected.merge(carriedBy(Layer::kSupervisor, profile));
    EXPECT_EQ(redOf(examined, profile), without(expected, examined));
  }
}

TEST(VerifyBreaks, WithoutLandlockEveryGuaranteeOfLandlockIsRedAndNoOther) {
  SKIP_IF_SANITIZED();
  for (const std::string profile : {"broker", "front", "session-running", "command-plain"}) {
    Names expected = carriedBy(Layer::kLandlock, profile);
    expected.erase("command-plain/processes.leftovers");  // by a scope that is entered before the profile
    expectRed(examine(profile, changed(withoutLandlock)), expected);
  }
}

TEST(VerifyBreaks, WithoutNamespacesEveryGuaranteeOfTheirsIsRed) {
  const Examined examined = examine("command", [](verify::Subject& subject) {
    if (subject.name != "command") return;
    subject.namespaces = {};
    changed([](Policy& policy) { policy.mounts.clear(); })(subject);
  });
  if (!examined.of("command/files.outside").counts) ABSENT("no namespaces");
  EXPECT_FALSE(examined.passed);
  const Names found = red(examined);
  for (const std::string& name : carriedBy(Layer::kNamespaces, "command"))
    EXPECT_TRUE(found.contains(name)) << name;
}

TEST(VerifyBreaks, WithoutLimitsEachOfThemIsRedAndNoOther) {
  SKIP_IF_SANITIZED();
  for (const std::string profile : {"front", "command-plain"}) {
    Names expected = carriedBy(Layer::kLimits, profile);
    expected.erase(profile + "/limits.core");  // which enter() sets for everybody
    expectRed(examine(profile, changed([](Policy& policy) { policy.limits.clear(); })), expected);
  }
}

TEST(VerifyBreaks, ADescriptorThatIsKeptIsFound) {
  SKIP_IF_SANITIZED();
  expectRed(examine("pty", changed([](Policy& policy) { policy.keep.push_back(verify::kLeakDescriptor); })),
            {"pty/descriptors.inherited"});
}

TEST(VerifyBreaks, AnEnvironmentThatIsHandedOnIsFound) {
  expectRed(examine("command-plain",
                    [](verify::Subject& subject) {
                      subject.environment = [](std::span<const char* const> present) {
                        return std::vector<std::string>(present.begin(), present.end());
                      };
                    }),
            {"command-plain/environment.inherited"});
}

TEST(VerifyBreaks, AProcessThatMayBeReadIsFound) {
  expectRed(examine("launcher",
                    [](verify::Subject& subject) {
                      subject.enter = [](const Policy& policy, const sandbox::NamespacePosture& namespaces) {
                        const sandbox::Posture posture = sandbox::enterInside(policy, namespaces);
                        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
                        return posture;
                      };
                    }),
            {"launcher/processes.read"});
}

TEST(VerifyBreaks, WhoEntersNothingKeepsNoGuarantee) {
  const Examined examined = examine("command", [](verify::Subject& subject) {
    if (subject.name != "command") return;
    subject.enter = [](const Policy&, const sandbox::NamespacePosture&) { return sandbox::Posture{}; };
  });
  EXPECT_FALSE(examined.passed);
  for (const char* const id :
       {"identity.no-new-privileges", "descriptors.inherited", "calls.kernel", "identity.capabilities"}) {
    const std::string name = std::string("command/") + id;
    if (examined.of(name).counts) {
      EXPECT_EQ(examined.of(name).verdict, "not_enforced") << name;
    }
  }
}

TEST(VerifyBreaks, ATreeThatNobodyEndsIsFound) {
  const Examined examined =
      examine("command-plain", [](verify::Subject& subject) { subject.tree = verify::Tree::kNobody; });
  expectRed(examined, {"command-plain/processes.leftovers"});
}

TEST(VerifyBreaks, ARuleOfTheFilterThatIsMissingIsFound) {
  expectRed(examine("command-plain", changed([](Policy& policy) {
                      std::erase_if(policy.seccomp.rules, [](const sandbox::SeccompRule& rule) {
                        return rule.family.name == "terminalInjection";
                      });
                    })),
            {"command-plain/calls.terminal"});
}

// Compared on 64 bits, as it must not be: only the request with a bit above passes.
TEST(VerifyBreaks, AnArgumentThatIsMaskedWronglyIsFound) {
  const Examined examined = examine("command-plain", changed([](Policy& policy) {
                                      for (sandbox::SeccompRule& rule : policy.seccomp.rules) {
                                        if (rule.family.name != "terminalInjection") continue;
                                        for (sandbox::Call& call : rule.family.calls)
                                          call.tests[0].mask = ~0ULL;
                                      }
                                    }));
  expectRed(examined, {"command-plain/calls.terminal"});
  EXPECT_NE(examined.of("command-plain/calls.terminal").cause.find("terminal-type-high-bits"),
            std::string::npos);
}

TEST(VerifyBreaks, ARuleOfLandlockThatGrantsTooMuchIsFound) {
  const Examined examined = examine("command-plain", [](verify::Subject& subject) {
    subject.policies = [policies = subject.policies](const verify::World& world,
                                                     const sandbox::NamespacePosture& given) {
      std::vector<Policy> result = policies(world, given);
      result[0].files.rules.push_back(
          sandbox::allowPath(world.home, sandbox::access::kReadFile, "a mistake"));
      return result;
    };
  });
  expectRed(examined, {"command-plain/files.state"});
}

TEST(VerifyBreaks, AProtectedPathThatIsNotMountedIsFound) {
  const Examined examined = examine("command", [](verify::Subject& subject) {
    if (subject.name != "command") return;
    changed([](Policy& policy) {
      std::erase_if(policy.mounts, [](const sandbox::MountStep& step) {
        return step.target.find("/workspace/.") != std::string::npos;
      });
    })(subject);
  });
  if (!examined.of("command/files.protected").counts) ABSENT("no namespaces");
  expectRed(examined, {"command/files.protected"});
}

TEST(VerifyBreaks, ACommandThatNobodySupervisesIsFound) {
  for (const std::string profile : {"command", "command-plain"}) {
    const Examined examined =
        examine(profile, [](verify::Subject& subject) { subject.enterSupervised = nullptr; });
    EXPECT_FALSE(examined.passed);
    EXPECT_EQ(redOf(examined, profile), without(carriedBy(Layer::kSupervisor, profile), examined));
    EXPECT_TRUE(examined.of(profile + "/files.protected-names").counts) << "this kernel has no listener";
  }
}

// Supervised by the gofer as it is, but for what it is told to keep.
verify::Subject& supervisedWith(verify::Subject& subject,
                                const std::function<void(session::ProtectedPaths&)>& change) {
  subject.enterSupervised = [change](const verify::World& world, const Policy& policy,
                                     const sandbox::NamespacePosture& given) {
    session::CommandScope scope;
    scope.workspace = world.workspace;
    session::ProtectedPaths paths = session::findProtected(verify::kScopeDescriptor);
    change(paths);
    session::enterSupervised(policy, scope, paths, given);
  };
  return subject;
}

TEST(VerifyBreaks, AProtectedNameThatTheSupervisorDoesNotKeepIsFoundAndNamed) {
  const auto forgets = [](const char* name) {
    return [name](verify::Subject& subject) {
      supervisedWith(subject, [name](session::ProtectedPaths& paths) {
        std::erase_if(paths.names, [name](const session::KeptName& each) { return each.path == name; });
      });
    };
  };
  const Examined absent = examine("command", forgets(".codex"));
  EXPECT_EQ(redOf(absent, "command"), without({"command/files.protected-names"}, absent));
  EXPECT_NE(absent.of("command/files.protected-names").cause.find("make-agent-directory"), std::string::npos);
  const Examined present = examine("command-plain", forgets(".git/config"));
  EXPECT_EQ(redOf(present, "command-plain"),
            without({"command-plain/files.protected", "command-plain/files.protected-names"}, present));
  EXPECT_NE(present.of("command-plain/files.protected").cause.find("write-git-config"), std::string::npos);
}

// Everything is refused, and so nothing is proven.
TEST(VerifyBreaks, AProfileThatCanDoNothingIsNotGreen) {
  const Examined examined = examine("pty", changed([](Policy& policy) {
                                      std::erase_if(policy.keep, [](int number) { return number == 3; });
                                    }));
  EXPECT_FALSE(examined.passed);
  EXPECT_EQ(examined.of("pty/calls.kernel").verdict, "inconclusive");
}

TEST(VerifyBreaks, AProfileThatCantBeEnteredIsRed) {
  const Examined examined =
      examine("pty", changed([](Policy& policy) { policy.files.mustEnforce = sandbox::Access{1ULL << 60}; }));
  EXPECT_FALSE(examined.passed);
  EXPECT_EQ(examined.of("pty/files.any").verdict, "not_enforced");
  EXPECT_NE(examined.of("pty/files.any").cause.find("landlock_right_missing"), std::string::npos);
}

}  // namespace
}  // namespace factionos::test
