#include "container_agent.h"

#include <atomic>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace factionos::test {
namespace {

namespace fs = std::filesystem;

std::string templateOf(const std::string& id, const std::string& tag, const std::string& words,
                       const std::string& more = {}) {
  return "[[template]]\nid = \"" + id + "\"\nimage = \"stand-in:" + tag + "\"\ncommand = [\"/script\", " +
         words + "]\n" + more + "\n";
}

std::string configOf(const std::string& tag) {
  std::string text = templateOf("echo", tag, R"("echo", "hello from inside")", "provider = \"claude\"");
  text += templateOf("complain", tag, R"("complain", "this is wrong")");
  text += templateOf("secret", tag, R"("echo", "token ghp_abcdefghijklmnopqrstuvwxyz0123456789")");
  text += templateOf("seven", tag, R"("exit", "7")");
  text += templateOf("sleep", tag, R"("sleep", "60000")");
  text += templateOf("nap", tag, R"("sleep", "300")");
  text += templateOf("short", tag, R"("sleep", "60000")", "timeout_seconds = 1\nmax_timeout_seconds = 1");
  text += templateOf("flood", tag, R"("flood", "8388608")");
  for (const char* word : {"processes", "memory", "lost", "left", "die", "bad-outcome", "bad-stream",
                           "bad-chunk", "bad-call", "bad-interface", "garbled", "gap"})
    text += templateOf(word, tag, "\"" + std::string(word) + "\"");
  text += templateOf("no-image", tag, R"("not-started", "image_missing")");
  text += templateOf("not-as-meant", tag, R"("not-started", "not_as_meant")");
  text += templateOf("codex", tag, R"("echo", "x")", "provider = \"codex\"");
  text += templateOf("browser", tag, R"("echo", "x")", "browser = true");
  text += templateOf("egress", tag, R"("echo", "x")", "egress = true");
  text += templateOf("read-only", tag, R"("echo", "x")", "worktree = \"read-only\"");
  text +=
      "[[template]]\nid = \"absent\"\nimage = \"missing:" + tag + "\"\ncommand = [\"/script\", \"echo\"]\n";
  return text;
}

std::string policyOf(ContainerAgent::Policy policy) {
  if (policy == ContainerAgent::Policy::kShipped) return {};
  return "[[rule]]\nfamily = \"container\"\noperation = \"*\"\ndecision = \"allow\"\nuntil = "
         "2099-01-01T00:00:00Z\n[[rule]]\nfamily = \"*\"\noperation = \"read-only\"\ndecision = \"allow\"\n";
}

std::string uniqueTag() {
  static std::atomic<int> counter{0};
  return "t" + std::to_string(getpid()) + "-" + std::to_string(++counter);
}

}  // namespace

ContainerAgent::ContainerAgent(Policy policy, const std::string& moreConfig) {
  const auto tag = uniqueTag();
  folder_ = "/tmp/factionos-stand-in-" + std::to_string(getuid()) + "/" + tag;
  fs::create_directories(folder_);
  broker_ = std::make_unique<LiveBroker>(Setup{.engine = "/run/stand-in.sock",
                                               .config = configOf(tag) + moreConfig,
                                               .policy = policyOf(policy),
                                               .broker = FACTIONOS_STAND_IN});
  token_ = broker_->token("read,propose");
}

ContainerAgent::~ContainerAgent() {
  broker_ = nullptr;
  fs::remove_all(folder_);
}

std::size_t ContainerAgent::containers() const {
  std::size_t count = 0;
  for (const auto& each : fs::directory_iterator(folder_))
    count += each.path().filename().string().starts_with("act_") ? 1U : 0U;
  return count;
}

std::size_t ContainerAgent::starts() const {
  std::ifstream in(folder_ + "/effects");
  std::size_t count = 0;
  for (std::string line; std::getline(in, line);) ++count;
  return count;
}

void ContainerAgent::engineFile(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ + "/" + name) << text;
}

void ContainerAgent::removeEngineFile(const std::string& name) const {
  fs::remove(folder_ + "/" + name);
}

std::string ContainerAgent::approval(const std::string& id, std::uint64_t revision, bool first) {
  return (first ? R"("approval":{"actionId":")" : R"(,"approval":{"actionId":")") + id +
         R"(","expectedRevision":)" + std::to_string(revision) + "}";
}

Reply ContainerAgent::ended(const std::string& runId) {
  Reply reply;
  EXPECT_TRUE(eventually([&]() {
    reply = get("/v1/container/runs/" + runId + "?waitMs=2000");
    const auto state = reply.at("/run/state");
    return state != "executing" && state != "unknown" && !state.empty();
  })) << reply.body;
  return reply;
}

Reply ContainerAgent::outcome(const std::string& made) {
  const auto started = post("/v1/container/run", run(made));
  EXPECT_EQ(started.status, 201) << started.body;
  return ended(started.at("/run/id"));
}

std::string ContainerAgent::queued(const std::string& made, const std::string& more) {
  const auto reply = post("/v1/queue/tasks", task(made, more));
  EXPECT_EQ(reply.status, 201) << reply.body;
  return reply.at("/task/id");
}

Reply ContainerAgent::taskUntil(const std::string& id, const std::string& state) {
  Reply reply;
  EXPECT_TRUE(eventually([&]() {
    reply = get("/v1/queue/tasks/" + id);
    return reply.at("/task/state") == state;
  })) << state
      << reply.body;
  return reply;
}

}  // namespace factionos::test
