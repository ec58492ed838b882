// Policy's word on what only reads: previews, the list of sessions and what shows it, one session's detail.
#include <csignal>

#include "live_broker.h"

namespace factionos::test {
namespace {

const std::string kTrue = R"("command":["true"])";

std::string deny(const std::string& operation, const std::string& more = {}) {
  return "[[rule]]\nfamily = \"terminal\"\noperation = \"" + operation + "\"\nprincipal = \"agent\"\n" +
         more + "decision = \"deny\"\n\n";
}

// Rules before the shipped ones; read again by the broker.
class Rules {
 public:
  explicit Rules(LiveBroker& broker)
      : broker_(broker), file_(broker.home() + "/policy.toml"), shipped_(readFile(file_)) {}

  void reload(const std::string& rules) {
    writeFile(file_, rules + shipped_);
    const auto reloaded = broker_.cli({"policy", "reload"});
    ASSERT_EQ(reloaded.status, 0) << reloaded.err;
  }
  void hangUp(const std::string& rules) {
    writeFile(file_, rules + shipped_);
    broker_.process().signal(SIGHUP);
  }

 private:
  LiveBroker& broker_;
  std::string file_;
  std::string shipped_;
};

// Snapshots reach the front a moment after the policy does.
void expectSoon(LiveBroker& broker, const std::string& target, const std::string& token, int status) {
  EXPECT_TRUE(eventually([&]() { return broker.get(target, token).status == status; })) << target;
  if (status == 403) {
    EXPECT_EQ(broker.get(target, token).code(), "policy_blocked") << target;
  }
}

TEST(Reading, ADenyForTheListHoldsForWhateverShowsItUntilThePolicySaysOtherwise) {
  LiveBroker broker;
  Rules rules(broker);
  const auto agent = broker.token("read,propose", "agent");
  const auto other = broker.token("read,propose", "other");
  for (const char* target : {"/v1/terminal/sessions", "/v1/command-center"})
    EXPECT_EQ(broker.get(target, agent).status, 200) << target;
  // One workspace's sessions are rows of the list as well.
  for (const std::string more : {"", "workspace = \"demo\"\n"}) {
    rules.reload(deny("list", more));
    for (const char* target : {"/v1/terminal/sessions", "/v1/command-center", "/v1/stream/sse"})
      expectSoon(broker, target, agent, 403);
    EXPECT_EQ(broker.get("/v1/terminal/sessions", other).status, 200);
    EXPECT_EQ(broker.get("/v1/diagnostics", agent).status, 200);
    rules.hangUp("");
    for (const char* target : {"/v1/terminal/sessions", "/v1/command-center"})
      expectSoon(broker, target, agent, 200);
  }
}

TEST(Reading, ADenyForTheDetailHoldsForTheOwnerToo) {
  LiveBroker broker;
  Rules rules(broker);
  const auto agent = broker.token("read,propose", "agent");
  const auto other = broker.token("read,propose", "other");
  const auto target = "/v1/terminal/sessions/" + broker.outcome(kTrue, agent, "k1").at("/session/id");
  rules.reload(deny("detail"));
  expectSoon(broker, target, agent, 403);
  EXPECT_EQ(broker.get(target, other).status, 200) << "not the owner, and not denied";
  rules.reload(deny("detail", "program = \"/usr/bin/false\"\n"));
  expectSoon(broker, target, agent, 200);
  rules.reload(deny("detail", "program = \"/usr/bin/true\"\n"));
  expectSoon(broker, target, agent, 403);
  rules.hangUp("");
  expectSoon(broker, target, agent, 200);
}

TEST(Reading, ADenyForPreviewsHolds) {
  LiveBroker broker;
  Rules rules(broker);
  const auto agent = broker.token("read,propose", "agent");
  const auto preview = [&]() {
    return broker.post("/v1/terminal/preview", R"({"workspace":"demo",)" + kTrue + "}", agent);
  };
  EXPECT_EQ(preview().status, 200);
  rules.reload(deny("preview"));
  EXPECT_EQ(preview().code(), "policy_blocked");
  EXPECT_EQ(broker.propose(kTrue, agent, "k1").status, 202) << "asking to run is another operation";
  rules.reload("");
  EXPECT_EQ(preview().status, 200);
}

}  // namespace
}  // namespace factionos::test
