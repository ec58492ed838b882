#include <string>

#include <gtest/gtest.h>

#include "broker/home/config.h"

namespace factionos::home {
namespace {

constexpr const char* kLeast = "[[template]]\nid = \"t\"\ncommand = [\"/bin/true\"]\n";

std::string problemOf(const std::string& text) {
  auto config = parseConfig(text);
  return config ? "parsed although it must not" : config.problem().text();
}

TEST(AgentTemplate, LeftOutMeansHardenedAndSmall) {
  const auto config = parseConfig(kLeast);
  ASSERT_TRUE(config.ok()) << config.problem().text();
  const auto* made = config->findTemplate("t");
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->image, "factionos-isolated:latest");
  EXPECT_EQ(made->worktree, AgentTemplate::Worktree::kReadWrite);
  EXPECT_TRUE(made->auth.empty());
  EXPECT_FALSE(made->mayReachOut);
  EXPECT_FALSE(made->browser);
  EXPECT_EQ(made->memoryMiB, 512U);
  EXPECT_EQ(made->processes, 256U);
  EXPECT_EQ(config->findTemplate("other"), nullptr);
}

TEST(AgentTemplate, ReadsEverything) {
  const auto config = parseConfig(R"([[template]]
id = "claude"
image = "local/agents/isolated:1.2"
command = ["/usr/bin/claude", "-p", "--"]
provider = "claude"
worktree = "read-only"
auth = "/srv/claude-auth"
browser = true
egress = true
memory_mib = 2048
cpu_percent = 250
processes = 64
tmp_mib = 128
timeout_seconds = 5
max_timeout_seconds = 50
)");
  ASSERT_TRUE(config.ok()) << config.problem().text();
  const auto& made = config->templates.front();
  EXPECT_EQ(made.image, "local/agents/isolated:1.2");
  EXPECT_EQ(made.command, (std::vector<std::string>{"/usr/bin/claude", "-p", "--"}));
  EXPECT_EQ(made.worktree, AgentTemplate::Worktree::kReadOnly);
  EXPECT_EQ(made.auth, "/srv/claude-auth");
  EXPECT_TRUE(made.browser && made.mayReachOut);
  EXPECT_EQ(made.cpuPercent, 250U);
  EXPECT_EQ(made.temporaryMiB, 128U);
  EXPECT_EQ(made.timeout.count(), 5);
  EXPECT_EQ(made.maxTimeout.count(), 50);
}

struct Mistake {
  const char* line;
  const char* field;
};

TEST(AgentTemplate, MistakesNameTheirField) {
  for (const auto& [line, field] : {
           Mistake{"image = \"registry.example:5000/x\"", "template.image"},
           Mistake{"image = \"UPPER\"", "template.image"},
           Mistake{"image = \"x@sha256:0\"", "template.image"},
           Mistake{"image = \"a..b\"", "template.image"},
           Mistake{"image = \"-x\"", "template.image"},
           Mistake{"provider = \"a b\"", "template.provider"},
           Mistake{"worktree = \"write\"", "template.worktree"},
           Mistake{"auth = \"relative\"", "template.auth"},
           Mistake{"auth = \"/a/../b\"", "template.auth"},
           Mistake{"auth = \"/\"", "template.auth"},
           Mistake{"egress = \"yes\"", "template.egress"},
           Mistake{"memory_mib = 0", "template.memory_mib"},
           Mistake{"processes = 40000", "template.processes"},
           Mistake{"timeout_seconds = 9000", "template.timeout_seconds"},
           Mistake{"privileged = true", "template"},
           Mistake{"mounts = [\"/:/host\"]", "template"},
           Mistake{"env = []", "template"},
       }) {
    const auto problem = problemOf(std::string(kLeast) + line + "\n");
    EXPECT_NE(problem.find(std::string(field) + ": "), std::string::npos) << line << "\n" << problem;
  }
}

TEST(AgentTemplate, ACommandIsAnArgvWithAFullPath) {
  for (const char* command :
       {"[]", "[\"true\"]", "[\"./true\"]", "[\"/bin/../true\"]", "\"/bin/true\"", "[1]"}) {
    const auto problem = problemOf("[[template]]\nid = \"t\"\ncommand = " + std::string(command) + "\n");
    EXPECT_NE(problem.find("template.command: "), std::string::npos) << command << "\n" << problem;
  }
  EXPECT_NE(problemOf("[[template]]\nid = \"t\"\n").find("template.command: "), std::string::npos);
}

TEST(AgentTemplate, IdsAreUnique) {
  EXPECT_NE(problemOf(std::string(kLeast) + kLeast).find("template.id: is used twice"), std::string::npos);
}

}  // namespace
}  // namespace factionos::home
