// The family container through a real broker: gates, consent, approval, drift, raw fields, redaction.
#include <filesystem>

#include "container_agent.h"

namespace factionos::test {
namespace {

using Policy = ContainerAgent::Policy;

TEST(ContainerFamily, ReadinessTellsEachGateByLabelAlone) {
  ContainerAgent agent;
  const auto reply = agent.get("/v1/container/readiness");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.at("/readiness/docker"), "available");
  EXPECT_EQ(reply.at("/readiness/podman"), "unavailable");
  EXPECT_EQ(reply.at("/readiness/podmanReason"), "not_configured");
  EXPECT_EQ(reply.at("/readiness/apple"), "unavailable");
  EXPECT_EQ(reply.at("/readiness/appleReason"), "unsupported_platform");
  EXPECT_EQ(reply.at("/readiness/runtime"), "docker");
  EXPECT_EQ(reply.at("/readiness/rootless"), "true");
  EXPECT_EQ(reply.at("/readiness/isolation"), "available");
  EXPECT_EQ(reply.at("/readiness/docsPath"), "docs/container-runs.md");
  EXPECT_EQ(reply.at("/readiness/templates/0/id"), "echo");
  EXPECT_EQ(reply.at("/readiness/templates/0/status"), "available");
  EXPECT_EQ(agent.starts(), 0U);
  agent.engineFile("down");
  EXPECT_TRUE(eventually([&]() {
    return agent.get("/v1/container/readiness").at("/readiness/templates/0/missing") == "engine";
  }));
  const auto diagnostics = agent.get("/v1/diagnostics");
  EXPECT_EQ(diagnostics.at("/diagnostics/container/appleReason"), "unsupported_platform") << diagnostics.body;
}

TEST(ContainerFamily, APreviewShowsTheCardAndStartsNothing) {
  ContainerAgent agent(Policy::kShipped);
  const auto reply = agent.post("/v1/container/preview", ContainerAgent::run("echo"), "");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.at("/card/operationClass"), "container.run");
  EXPECT_EQ(reply.at("/card/target"), "demo/echo");
  EXPECT_EQ(reply.at("/card/risk"), "high");
  EXPECT_EQ(reply.at("/card/networkProfile"), "none");
  EXPECT_EQ(reply.at("/decision"), "ask");
  EXPECT_EQ(reply.at("/status"), "available");
  EXPECT_FALSE(reply.has("/missing"));
  EXPECT_EQ(agent.starts(), 0U);
}

struct Missing {
  const char* made;
  const char* more;
  const char* gate;
  const char* code;
};

TEST(ContainerFamily, AMissingGateMakesAPreviewOfIt) {
  ContainerAgent agent;
  for (const auto& [made, more, gate, code] :
       {Missing{"absent", "", "image", "image_unavailable"},
        Missing{"codex", "", "provider", "image_unavailable"},
        Missing{"browser", "", "browser", "image_unavailable"},
        Missing{"egress", R"(,"networkProfile":"egress")", "network", "engine_unavailable"}}) {
    const auto members = ContainerAgent::run(made) + more;
    const auto preview = agent.post("/v1/container/preview", members, "");
    EXPECT_EQ(preview.status, 200) << preview.body;
    EXPECT_EQ(preview.at("/status"), "non_executing") << made;
    EXPECT_EQ(preview.at("/missing"), gate) << made;
    EXPECT_EQ(agent.post("/v1/container/run", members).code(), code) << made;
  }
  EXPECT_EQ(agent.starts(), 0U);
  // The control: with its network the same template runs.
  agent.engineFile("egress");
  EXPECT_TRUE(eventually([&]() {
    return agent.post("/v1/container/run", ContainerAgent::run("egress") + R"(,"networkProfile":"egress")")
               .status == 201;
  }));
}

TEST(ContainerFamily, AnApprovedRunRunsOnceAndItsOutputIsInItsDetailAlone) {
  ContainerAgent agent(Policy::kShipped);
  const auto proposed = agent.post("/v1/container/run", ContainerAgent::run("echo"), "k1");
  ASSERT_EQ(proposed.status, 202) << proposed.body;
  EXPECT_EQ(agent.starts(), 0U) << "a proposal starts nothing";
  const auto id = proposed.at("/action/id");
  ASSERT_EQ(agent.broker().approve(id).status, 0);
  const auto started =
      agent.post("/v1/container/run", ContainerAgent::run("echo"), "k1", ContainerAgent::approval(id));
  ASSERT_EQ(started.status, 201) << started.body;
  const auto run = started.at("/run/id");
  EXPECT_EQ(run, "run_" + id.substr(4));
  const auto ended = agent.ended(run);
  EXPECT_EQ(ended.at("/run/state"), "succeeded") << ended.body;
  EXPECT_EQ(ended.at("/run/exit/code"), "0");
  EXPECT_EQ(ended.at("/run/cleanup"), "removed");
  EXPECT_EQ(ended.at("/run/runtime"), "docker");
  EXPECT_EQ(ended.at("/run/output/text"), "hello from inside\n");
  const auto again =
      agent.post("/v1/container/run", ContainerAgent::run("echo"), "k1", ContainerAgent::approval(id));
  EXPECT_EQ(again.headers.at("idempotency-replayed"), "true");
  EXPECT_EQ(again.body, started.body);
  EXPECT_EQ(agent.starts(), 1U);
  EXPECT_EQ(agent.containers(), 0U);
  EXPECT_EQ(agent.post("/v1/container/run", ContainerAgent::run("seven"), "k1").status, 422);
  // Everywhere else: labels and counts.
  for (const char* target : {"/v1/container/runs", "/v1/command-center", "/v1/audit", "/v1/actions"})
    EXPECT_EQ(agent.get(target).body.find("hello from"), std::string::npos) << target;
  EXPECT_EQ(agent.get("/v1/container/runs").at("/runs/0/totalBytes"), "18");
  const auto other = agent.broker().token("read,propose", "other");
  EXPECT_FALSE(agent.broker().get("/v1/container/runs/" + run, other).has("/run/output"));
}

TEST(ContainerFamily, OutputIsMaskedAndNothingOfItRests) {
  ContainerAgent agent;
  const auto ended = agent.outcome("secret");
  const auto text = ended.at("/run/output/text");
  EXPECT_NE(text.find("token "), std::string::npos) << ended.body;
  EXPECT_EQ(text.find("ghp_abcdef"), std::string::npos) << text;
  EXPECT_EQ(agent.outcome("complain").at("/run/output/text"), "this is wrong\n");
  agent.broker().stop();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(agent.broker().home())) {
    if (!entry.is_regular_file() || entry.path().filename() == "config.toml") continue;
    const auto content = readFile(entry.path());
    EXPECT_EQ(content.find("this is wrong"), std::string::npos) << entry.path();
    EXPECT_EQ(content.find(agent.broker().workspace()), std::string::npos) << entry.path();
  }
  EXPECT_EQ(agent.broker().log().find("this is wrong"), std::string::npos);
}

// Bytes that the worker dropped may be the middle of a secret.
TEST(ContainerFamily, NothingOfASecretIsShownAroundAGap) {
  ContainerAgent agent;
  const auto ended = agent.outcome("gap");
  const std::string text = ended.at("/run/output/text");
  EXPECT_TRUE(text.starts_with("before ghp_[dropped:8]")) << text;
  EXPECT_EQ(text.find("mnop"), std::string::npos) << text;
  EXPECT_EQ(ended.number("/run/output/totalBytes") - ended.number("/run/output/droppedBytes"), text.size());
  EXPECT_EQ(ended.number("/run/totalBytes"), ended.number("/run/output/totalBytes"));
  EXPECT_EQ(ended.number("/run/droppedBytes"), ended.number("/run/output/droppedBytes"));
}

TEST(ContainerFamily, P71AnotherImageThanTheApprovedOneDoesNotRun) {
  ContainerAgent agent(Policy::kShipped);
  const auto proposed = agent.post("/v1/container/run", ContainerAgent::run("echo"), "k1");
  const auto id = proposed.at("/action/id");
  ASSERT_EQ(agent.broker().approve(id).status, 0);
  agent.engineFile("image-id", "sha256:" + std::string(64, '1'));
  const auto late =
      agent.post("/v1/container/run", ContainerAgent::run("echo"), "k1", ContainerAgent::approval(id));
  EXPECT_EQ(late.code(), "approval_drift") << late.body;
  EXPECT_EQ(agent.starts(), 0U);
}

TEST(ContainerFamily, P91RawEngineFieldsAreBlockedByName) {
  ContainerAgent agent;
  for (const char* field :
       {"image",      "args",       "argv",    "cmd",        "command",     "env",         "mounts",
        "entrypoint", "volumes",    "binds",   "privileged", "hostConfig",  "networkMode", "pidMode",
        "ipcMode",    "usernsMode", "devices", "capAdd",     "securityOpt", "user",        "labels"}) {
    const auto raw = ",\"" + std::string(field) + "\":\"x\"";
    for (const auto& [route, members] :
         {std::pair{"/v1/container/run", ContainerAgent::run("echo") + raw},
          std::pair{"/v1/container/preview", ContainerAgent::run("echo") + raw},
          std::pair{"/v1/queue/tasks", ContainerAgent::task("echo", raw)},
          std::pair{"/v1/queue/tasks",
                    R"("workspace":"demo","executable":{"kind":"container","template":"echo")" + raw + "}"},
          std::pair{"/v1/campaigns",
                    R"("name":"c","tasks":[{"name":"a",)" + ContainerAgent::task("echo", raw) + "}]"}}) {
      const auto reply = agent.post(route, members);
      EXPECT_EQ(reply.status, 400) << route << field;
      EXPECT_EQ(reply.code(), "blocked_field") << route << field << reply.body;
      EXPECT_TRUE(reply.at("/field").ends_with(field)) << route << reply.body;
    }
  }
  EXPECT_EQ(agent.starts(), 0U);
  EXPECT_EQ(agent.get("/v1/queue/tasks").body.find("tsk_"), std::string::npos);
}

TEST(ContainerFamily, WhatACallerMayChooseIsBounded) {
  ContainerAgent agent;
  const auto run = [&](const std::string& made, const std::string& more) {
    return agent.post("/v1/container/run", ContainerAgent::run(made) + more);
  };
  EXPECT_EQ(run("nothing", "").status, 404);
  EXPECT_EQ(run("echo", R"(,"networkProfile":"full")").at("/field"), "networkProfile");
  EXPECT_EQ(run("echo", R"(,"networkProfile":"loopback")").code(), "invalid_request");
  EXPECT_EQ(run("echo", R"(,"networkProfile":"egress")").code(), "policy_blocked");
  EXPECT_EQ(run("short", R"(,"timeoutMs":2000)").at("/field"), "timeoutMs");
  EXPECT_EQ(agent.post("/v1/container/run", R"("workspace":"other","template":"echo")").status, 404);
  EXPECT_EQ(
      agent.post("/v1/terminal/run", R"("workspace":"demo","command":["true"],"network":"egress")").code(),
      "invalid_request");
  for (const char* operation : {"build", "pull", "exec"})
    EXPECT_EQ(agent.post("/v1/container/" + std::string(operation), "").status, 501);
  EXPECT_EQ(agent.starts(), 0U);
}

TEST(ContainerFamily, MountsAreWhatTheTemplateSays) {
  ContainerAgent agent;
  agent.outcome("echo");
  agent.outcome("read-only");
  EXPECT_EQ(readFile(agent.folder() + "/mounts"),
            "1 2 " + agent.broker().workspace() + "\n1 1 " + agent.broker().workspace() + "\n");
}

TEST(ContainerFamily, H10AWorkspaceThatBecameALinkIsNotMounted) {
  ContainerAgent agent;
  const auto workspace = agent.broker().workspace();
  std::filesystem::rename(workspace, workspace + ".real");
  std::filesystem::create_directory_symlink(agent.broker().home(), workspace);
  const auto reply = agent.post("/v1/container/run", ContainerAgent::run("echo"));
  EXPECT_EQ(reply.code(), "scope_violation") << reply.body;
  EXPECT_EQ(agent.starts(), 0U);
  std::filesystem::remove(workspace);
  std::filesystem::rename(workspace + ".real", workspace);
  EXPECT_EQ(agent.outcome("echo").at("/run/state"), "succeeded");
}

TEST(ContainerFamily, PolicyKnowsTheTemplate) {
  ContainerAgent agent(Policy::kShipped);
  writeFile(agent.broker().home() + "/policy.toml",
            "[[rule]]\nfamily = \"container\"\noperation = \"run\"\nprofile = \"echo\"\ndecision = \"deny\"\n"
            "[[rule]]\nfamily = \"*\"\noperation = \"*\"\ndecision = \"ask\"\n");
  ASSERT_EQ(agent.broker().cli({"policy", "reload"}).status, 0);
  EXPECT_EQ(agent.post("/v1/container/run", ContainerAgent::run("echo")).code(), "policy_blocked");
  EXPECT_EQ(agent.post("/v1/container/run", ContainerAgent::run("seven")).status, 202);
}

TEST(ContainerFamily, WithoutAnEngineItSaysWhatIsMissing) {
  LiveBroker broker({.config = "[[template]]\nid = \"echo\"\ncommand = [\"/bin/true\"]\n"});
  const auto token = broker.token();
  const auto run = broker.post("/v1/container/run", R"({"workspace":"demo","template":"echo"})", token, "k");
  EXPECT_EQ(run.status, 503) << run.body;
  EXPECT_EQ(run.code(), "engine_unavailable");
  EXPECT_NE(run.at("/detail").find("[engines]"), std::string::npos);
  const auto readiness = broker.get("/v1/container/readiness", token);
  EXPECT_EQ(readiness.at("/readiness/dockerReason"), "not_configured") << readiness.body;
  EXPECT_EQ(readiness.at("/readiness/fallbackReason"), "engine");
  const auto diagnostics = broker.get("/v1/diagnostics", token);
  EXPECT_EQ(diagnostics.at("/diagnostics/families/3/reason"), "no_engine_configured");
  const auto cli = broker.cli({"container", "readiness"});
  EXPECT_EQ(cli.status, 0) << cli.err;
  EXPECT_NE(cli.out.find("not_configured"), std::string::npos) << cli.out;
}

TEST(ContainerFamily, TheCliDoesAllOfIt) {
  ContainerAgent agent;
  auto& broker = agent.broker();
  const auto readiness = broker.cli({"container", "readiness"}).out;
  EXPECT_NE(readiness.find("template echo"), std::string::npos) << readiness;
  EXPECT_EQ(readiness.find('\t'), std::string::npos) << "columns";
  EXPECT_NE(broker.cli({"container", "preview", "demo", "echo"}).out.find("container.run"),
            std::string::npos);
  const auto run = broker.cli({"container", "run", "demo", "echo", "--wait"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "hello from inside\n");
  EXPECT_EQ(broker.cli({"container", "run", "demo", "seven", "--wait"}).status, 1);
  const auto runs = broker.cli({"container", "runs"});
  EXPECT_NE(runs.out.find("exit_status"), std::string::npos) << runs.out;
  const auto id = runs.out.substr(runs.out.find("run_"), 30);
  EXPECT_EQ(broker.cli({"container", "show", id}).status, 0);
  EXPECT_EQ(broker.cli({"container", "kill", id}).status, 0) << "one that has ended stays as it is";
  EXPECT_NE(broker.cli({"container", "cleanup"}).out.find("0 removed"), std::string::npos);
  const auto added = broker.cli({"container", "task", "add", "demo", "echo", "--name", "first"});
  ASSERT_EQ(added.status, 0) << added.err;
  const auto task = added.out.substr(0, 30);
  EXPECT_NE(broker.cli({"container", "task", "list"}).out.find("demo/first"), std::string::npos);
  EXPECT_EQ(broker.cli({"container", "task", "dispatch", task, "--wait"}).out, "hello from inside\n");
  EXPECT_NE(broker.cli({"container", "task", "show", task}).out.find("succeeded"), std::string::npos);
  EXPECT_EQ(broker.cli({"container", "task", "retry", task}).status, 3);
  for (const char* from : {"/", "/dev/zero"})
    EXPECT_EQ(broker.cli({"container", "campaign", "add", "c", "--from", from}).status, 2) << from;
}

}  // namespace
}  // namespace factionos::test
