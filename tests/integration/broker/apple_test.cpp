// Apple's containers in readiness: one word, whatever the program that the operator named does, and nothing
// else changes by it.
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "live_broker.h"

namespace factionos::test {
namespace {

const std::string kGood =
    R"(echo '[{"appName":"container","version":"1.2.2","buildType":"release","commit":"0a1b2c3"}]')";

class Program {
 public:
  Program() {
    std::string pattern = "/var/tmp/factionos-apple.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Program() { std::filesystem::remove_all(folder_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string path() const { return folder_ + "/container"; }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& lines, mode_t mode = 0755) const {
    writeFile(path(), "#!/bin/bash\n" + lines + "\n");
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
  }

 private:
  std::string folder_;
};

struct Case {
  const char* name;
  std::string lines;  // empty: no such file
  const char* reason;
  mode_t mode = 0755;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

class AppleReadiness : public testing::TestWithParam<Case> {};

TEST_P(AppleReadiness, IsUnavailableForAReason) {
  const Case& each = GetParam();
  const Program program;
  if (!each.lines.empty()) program.write(each.lines, each.mode);
  LiveBroker broker({.engines = "apple = \"" + program.path() + "\""});
  const auto token = broker.token();
  EXPECT_EQ(broker.get("/v1/diagnostics", token).at("/diagnostics/container/appleReason"), "not_probed");
  const auto reply = broker.get("/v1/container/readiness", token);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.at("/readiness/apple"), "unavailable");
  EXPECT_EQ(reply.at("/readiness/appleReason"), each.reason);
  EXPECT_EQ(reply.at("/readiness/dockerReason"), "not_configured");
  EXPECT_EQ(reply.at("/readiness/fallbackReason"), "engine");
  EXPECT_FALSE(reply.has("/readiness/runtime"));
  EXPECT_EQ(reply.body.find("1.2.2"), std::string::npos) << "nothing that it printed";
  EXPECT_TRUE(eventually([&]() {
    return broker.get("/v1/diagnostics", token).at("/diagnostics/container/appleReason") == each.reason;
  }));
  const auto cli = broker.cli({"container", "readiness"});
  EXPECT_EQ(cli.status, 0) << cli.err;
  EXPECT_NE(cli.out.find(each.reason), std::string::npos) << cli.out;
  EXPECT_TRUE(eventually([&]() { return broker.child("probe") == 0 && broker.child("sleep") == 0; }))
      << "neither worker nor program is left";
}

INSTANTIATE_TEST_SUITE_P(
    H17, AppleReadiness,
    testing::Values(Case{"good", kGood, "unsupported_platform"},
                    Case{"table", "printf 'COMPONENT VERSION\\ncontainer 1.2.2\\n'", "not_understood"},
                    Case{"garbage", "head -c 4096 /dev/urandom", "not_understood"},
                    Case{"partial", R"(printf '[{"appName":"container","version":"1.2.2')", "not_understood"},
                    Case{"tooMuch", "yes", "not_understood"}, Case{"hangs", "sleep 1000", "no_answer"},
                    Case{"hangsWithAGrandchild", "(setsid sleep 1000 &) ; " + kGood + "; sleep 1000",
                         "no_answer"},
                    Case{"fails", kGood + "; exit 3", "failed"}, Case{"missing", "", "program_missing"},
                    Case{"writable", kGood, "program_untrusted", 0777},
                    Case{"notExecutable", kGood, "program_untrusted", 0644}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(AppleReadiness, StartsNothingWhereNoProgramIsNamed) {
  const Program program;
  program.write("echo started >'" + program.file("started") + "'; " + kGood);
  LiveBroker broker({.environment = {"PATH=" + std::filesystem::path(program.path()).parent_path().string() +
                                     ":/usr/bin:/bin"}});
  const auto reply = broker.get("/v1/container/readiness", broker.token());
  EXPECT_EQ(reply.at("/readiness/appleReason"), "unsupported_platform") << reply.body;
  EXPECT_EQ(broker.child("probe"), 0);
}

// Asked together, once: a hanging program holds up nobody who asks for something else.
TEST(AppleReadiness, ManyWhoAskHearOfOneQuestion) {
  const Program program;
  program.write(kGood);
  LiveBroker broker({.engines = "apple = \"" + program.path() + "\""});
  const auto token = broker.token();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(broker.get("/v1/container/readiness", token).at("/readiness/appleReason"),
              "unsupported_platform");
  program.write("sleep 1000");
  EXPECT_TRUE(eventually([&]() {
    return broker.get("/v1/container/readiness", token).at("/readiness/appleReason") == "no_answer";
  })) << "what was found is not believed for long";
}

}  // namespace
}  // namespace factionos::test
