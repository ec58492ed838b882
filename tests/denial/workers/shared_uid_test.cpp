// What the kernel judges by the uid alone: where nothing hides the others of this uid, it is refused, or
// told.
#include <algorithm>

#include "box.h"

namespace factionos::test {
namespace {

class SharedUid : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, SharedUid, testing::Values(Story::kNamespaces, Story::kForbidden),
                         storyName);

bool tells(const Result& result, const std::string& label) {
  return std::ranges::find(result.posture, label) != result.posture.end();
}

TEST_P(SharedUid, NobodyElseIsSlowedDown) {
  Box box(GetParam());
  const std::string own = std::to_string(getpid());
  for (const char* act : {"pin", "schedule", "schedule-parameters", "schedule-attributes", "renice",
                          "renice-group", "ionice"}) {
    // The group of a test may hold processes of the user that started it.
    const std::string control = Box::control({act, own});
    if (act != std::string("renice-group")) {
      EXPECT_EQ(control, "ok") << act;
    }
    EXPECT_EQ(box.inside({act, own}), box.namespaces() ? "ESRCH" : "EPERM") << act;
    EXPECT_EQ(box.inside({act, "0"}), "ok") << act;
  }
}

TEST_P(SharedUid, AttributesByPathAreRefusedWhereNothingHidesTheFile) {
  Box box(GetParam());
  const std::string file = box.world().outside + "/file";
  box.world().write(file, "x");
  EXPECT_EQ(box.inside({"setxattr", file}), box.namespaces() ? "ENOENT" : "EOPNOTSUPP");
  EXPECT_EQ(box.inside({"removexattr", file}), box.namespaces() ? "ENOENT" : "EOPNOTSUPP");
  EXPECT_NE(Box::control({"setxattr", file}), "EPERM");
  if (!box.namespaces()) {
    EXPECT_EQ(box.inside({"fanotify"}), "EPERM");
  }
}

// Landlock looks at neither modes nor times nor watches; so it is told.
TEST_P(SharedUid, MetadataOfOthersIsGuardedByTheMountNamespaceOrToldToBeUnguarded) {
  Box box(GetParam());
  const std::string file = box.world().outside + "/file";
  box.world().write(file, "x");
  EXPECT_EQ(box.inside({"chmod", file, "0604"}), box.namespaces() ? "ENOENT" : "ok");
  EXPECT_EQ(tells(box.broker.run(argv({"true"}, GetParam())), "metadata:unguarded"), !box.namespaces());
}

// A socket file in the workspace is the workspace's: whoever listens there is reached where the family is
// allowed.
TEST_P(SharedUid, ListenersInTheWorkspaceAreReachedWhereThePostureSaysSo) {
  Box box(GetParam());
  const Listener listener(box.world().workspace + "/own.sock");
  EXPECT_EQ(box.inside({"connect-path", "own.sock"}), box.namespaces() ? "ok" : "EACCES");
  EXPECT_EQ(listener.heard(), box.namespaces());
  EXPECT_EQ(tells(box.broker.run(argv({"true"}, GetParam())), "unix_sockets:workspace"), box.namespaces());
}

// Where the family is refused no socket file comes to be either: also inside of a container whose engine lets
// anybody have the family (tests/denial/engine/run).
TEST_P(SharedUid, ListenersAreMadeInTheWorkspaceWhereThePostureSaysSo) {
  Box box(GetParam());
  EXPECT_EQ(Box::control({"bind", box.world().outside + "/control.sock"}), "ok");
  EXPECT_TRUE(World::exists(box.world().outside + "/control.sock"));
  for (const auto network : {schema::NetworkProfile::NONE, schema::NetworkProfile::FULL}) {
    EXPECT_EQ(box.inside({"bind", "made.sock"}, network), box.namespaces() ? "ok" : "EACCES");
    EXPECT_EQ(World::exists(box.world().workspace + "/made.sock"), box.namespaces());
    std::filesystem::remove(box.world().workspace + "/made.sock");
    EXPECT_NE(box.inside({"bind", box.world().outside + "/made.sock"}, network), "ok");
    EXPECT_FALSE(World::exists(box.world().outside + "/made.sock"));
  }
}

}  // namespace
}  // namespace factionos::test
