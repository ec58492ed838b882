// The family file through a real broker: policy, approvals, drift, replay, locks, crash, redaction.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "file_agent.h"

namespace factionos::test {
namespace {

TEST(FileFamily, AnAgentReadsEditsAndUndoesWithApprovals) {
  LiveBroker broker;
  Agent agent(broker);
  const auto file = broker.workspace() + "/notes.txt";
  const std::string write = R"("path":"notes.txt","content":"one\ntwo\n")";
  const auto proposed = agent.change("write", write, "k1");
  ASSERT_EQ(proposed.status, 202) << proposed.body;
  EXPECT_EQ(proposed.at("/action/card/operationClass"), "file.write");
  EXPECT_EQ(proposed.at("/action/card/target"), "demo/notes.txt");
  EXPECT_EQ(proposed.at("/action/card/changes/0/name"), "insertions");
  EXPECT_EQ(proposed.at("/action/card/changes/0/count"), "2");
  EXPECT_EQ(proposed.at("/action/card/rollback"), "manual");
  EXPECT_FALSE(std::filesystem::exists(file)) << "a proposal changes nothing";
  const auto id = proposed.at("/action/id");
  ASSERT_EQ(broker.approve(id).status, 0);
  const auto written = agent.change("write", write, "k1", Agent::approval(id));
  ASSERT_EQ(written.status, 200) << written.body;
  EXPECT_EQ(written.at("/action/state"), "succeeded");
  EXPECT_EQ(contentOf(file), "one\ntwo\n");

  const auto stat = agent.ask("stat", R"("path":"notes.txt")");
  EXPECT_EQ(stat.at("/file/kind"), "file") << stat.body;
  EXPECT_EQ(stat.at("/file/digest"), written.at("/file/digest"));
  const auto read = agent.ask("read", R"("path":"notes.txt","offset":4,"length":3)");
  EXPECT_EQ(read.at("/content/text"), "two") << read.body;
  EXPECT_EQ(read.at("/content/exact"), "true");

  const std::string edit = R"("path":"notes.txt","oldText":"two","newText":"TWO","expectedDigest":")" +
                           stat.at("/file/digest") + "\"";
  const auto diff = agent.ask("diff", R"("path":"notes.txt","oldText":"two","newText":"TWO","detail":true)");
  EXPECT_EQ(diff.at("/changes/insertions"), "1") << diff.body;
  EXPECT_NE(diff.at("/changes/text").find("+TWO"), std::string::npos);
  const auto edited = agent.carryOut("edit", edit, "k2");
  ASSERT_EQ(edited.status, 200) << edited.body;
  EXPECT_EQ(contentOf(file), "one\nTWO\n");

  const auto deleted = agent.carryOut("delete", R"("path":"notes.txt")", "k3");
  ASSERT_EQ(deleted.status, 200) << deleted.body;
  EXPECT_EQ(deleted.at("/file/kind"), "absent");
  EXPECT_FALSE(std::filesystem::exists(file));

  const auto kept = agent.ask("list", R"("kept":true)");
  EXPECT_EQ(kept.at("/entries/0/operation"), "delete") << kept.body;
  EXPECT_EQ(kept.at("/entries/2/absent"), "true");
  EXPECT_EQ(agent.carryOut("restore", R"("path":"notes.txt")", "k4").status, 200);
  EXPECT_EQ(contentOf(file), "one\nTWO\n");
  const auto first =
      agent.carryOut("restore", R"("path":"notes.txt","entry":")" + edited.at("/action/id") + "\"", "k5");
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(contentOf(file), "one\ntwo\n");
}

TEST(FileFamily, P79TheSameKeyIsTheSameAnswerAndAnotherRequestIsRefused) {
  LiveBroker broker;
  Agent agent(broker);
  const std::string write = R"("path":"f","content":"one")";
  const auto done = agent.carryOut("write", write, "k1");
  ASSERT_EQ(done.status, 200) << done.body;
  std::ofstream(broker.workspace() + "/f") << "changed since";
  const auto again = agent.change("write", write, "k1");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, done.body);
  EXPECT_EQ(again.headers.at("idempotency-replayed"), "true");
  EXPECT_EQ(contentOf(broker.workspace() + "/f"), "changed since") << "ran again";
  EXPECT_EQ(agent.change("write", R"("path":"f","content":"two")", "k1").status, 422);
  EXPECT_EQ(agent.change("write", write, "").code(), "idempotency_key_required");
}

TEST(FileFamily, P71WhatChangedSinceItWasApprovedIsNotReplaced) {
  LiveBroker broker;
  Agent agent(broker);
  const auto file = broker.workspace() + "/f";
  std::ofstream(file) << "seen";
  const auto digest = agent.ask("stat", R"("path":"f")").at("/file/digest");
  const std::string write = R"("path":"f","content":"mine","expectedDigest":")" + digest + "\"";
  const auto proposed = agent.change("write", write, "k1");
  ASSERT_EQ(proposed.status, 202) << proposed.body;
  ASSERT_EQ(broker.approve(proposed.at("/action/id")).status, 0);
  std::ofstream(file) << "theirs";
  const auto drifted = agent.change("write", write, "k1", Agent::approval(proposed.at("/action/id")));
  EXPECT_EQ(drifted.status, 409) << drifted.body;
  EXPECT_EQ(drifted.code(), "approval_drift");
  EXPECT_EQ(contentOf(file), "theirs");
  // G17 of a file: a stale expectation is told before anybody is asked.
  EXPECT_EQ(agent.change("write", write, "k2").code(), "approval_drift");
  EXPECT_EQ(agent.change("write", R"("path":"f","content":"mine")", "k3").at("/field"), "expectedDigest");
}

TEST(FileFamily, P71AnEditWithoutADigestIsBoundToWhatWasPreviewed) {
  LiveBroker broker;
  Agent agent(broker);
  const auto file = broker.workspace() + "/f";
  std::ofstream(file) << "one two";
  const std::string edit = R"("path":"f","oldText":"two","newText":"2")";
  const auto proposed = agent.change("edit", edit, "k1");
  ASSERT_EQ(broker.approve(proposed.at("/action/id")).status, 0);
  std::ofstream(file) << "three two";
  EXPECT_EQ(agent.change("edit", edit, "k1", Agent::approval(proposed.at("/action/id"))).code(),
            "approval_drift");
  EXPECT_EQ(contentOf(file), "three two");
}

TEST(FileFamily, P74APolicyThatChangedVoidsTheApproval) {
  LiveBroker broker;
  Agent agent(broker);
  const std::string write = R"("path":"f","content":"x")";
  const auto proposed = agent.change("write", write, "k1");
  ASSERT_EQ(broker.approve(proposed.at("/action/id")).status, 0);
  std::ofstream(broker.home() + "/policy.toml", std::ios::app) << "\n[[rule]]\nfamily = \"git\"\noperation = "
                                                                  "\"push\"\ndecision = \"deny\"\n";
  ASSERT_EQ(broker.cli({"policy", "reload"}).status, 0);
  const auto late = agent.change("write", write, "k1", Agent::approval(proposed.at("/action/id")));
  EXPECT_EQ(late.code(), "approval_drift") << late.body;
  EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/f"));
}

TEST(FileFamily, AGrantSparesTheQuestionForItsOwnOperationAlone) {
  LiveBroker broker;
  Agent agent(broker, "agent");
  const auto granted = broker.cli({"grant", "add", "--family", "file", "--operation", "write", "--workspace",
                                   "demo", "--principal", "agent", "--for", "30m"});
  ASSERT_EQ(granted.status, 0) << granted.err << granted.out;
  EXPECT_EQ(agent.change("write", R"("path":"f","content":"x")", "k1").status, 200);
  EXPECT_EQ(contentOf(broker.workspace() + "/f"), "x");
  EXPECT_EQ(agent.change("delete", R"("path":"f")", "k2").status, 202);
}

TEST(FileFamily, P67NoPathLeadsOut) {
  LiveBroker broker;
  Agent agent(broker);
  std::filesystem::create_directory_symlink(broker.home(), broker.workspace() + "/out");
  std::filesystem::create_symlink("/etc/passwd", broker.workspace() + "/passwd");
  for (const char* path : {"../x", "/etc/passwd", "a/../../x", "./x", "a//b"}) {
    const auto reply = agent.ask("read", R"("path":")" + std::string(path) + "\"");
    EXPECT_EQ(reply.code(), "invalid_request") << path << reply.body;
    EXPECT_EQ(
        agent.change("write", R"("path":")" + std::string(path) + R"(","content":"x")", uniqueKey()).code(),
        "invalid_request");
  }
  for (const char* path : {"out/config.toml", "passwd", "out/state/state.db"}) {
    EXPECT_EQ(agent.ask("read", R"("path":")" + std::string(path) + "\"").code(), "scope_violation") << path;
    EXPECT_EQ(
        agent.change("write", R"("path":")" + std::string(path) + R"(","content":"x")", uniqueKey()).code(),
        "scope_violation")
        << path;
  }
  EXPECT_EQ(broker.post("/v1/file/read", R"({"workspace":"other","path":"x"})", agent.token()).status, 404);
}

TEST(FileFamily, P89WhatWidensRightsIsNotWritten) {
  LiveBroker broker;
  Agent agent(broker);
  for (const char* path : {".git/hooks/pre-commit", ".git/config", ".claude/settings.json", "sub/.mcp.json",
                           ".factionos/kept/x", ".vscode/tasks.json"}) {
    const auto reply = agent.change(
        "write", R"("path":")" + std::string(path) + R"(","content":"x","makeParents":true)", uniqueKey());
    EXPECT_EQ(reply.status, 403) << path << reply.body;
    EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/" + path));
  }
  // Nor by the name that a link gives it.
  std::filesystem::create_directory(broker.workspace() + "/conf");
  std::filesystem::create_symlink("conf", broker.workspace() + "/.claude");
  EXPECT_EQ(agent.change("write", R"("path":"conf/settings.json","content":"x")", uniqueKey()).status, 403);
  EXPECT_EQ(agent.change("write", R"("path":"f","content":"x","sandbox":false)", "k").code(),
            "blocked_field");
}

TEST(FileFamily, WhoPolicyDeniesLearnsNothingAndLeavesARecord) {
  LiveBroker broker({.policy = "[[rule]]\nfamily = \"file\"\noperation = \"*\"\ndecision = \"deny\"\n"});
  Agent agent(broker);
  std::ofstream(broker.workspace() + "/there") << "x";
  for (const char* path : {"there", "missing"}) {
    EXPECT_EQ(agent.ask("stat", R"("path":")" + std::string(path) + "\"").code(), "policy_blocked");
    EXPECT_EQ(agent.ask("read", R"("path":")" + std::string(path) + "\"").code(), "policy_blocked");
    EXPECT_EQ(agent.change("delete", R"("path":")" + std::string(path) + "\"", uniqueKey()).code(),
              "policy_blocked");
  }
  const auto audit = broker.get("/v1/audit?limit=1000", agent.token()).body;
  EXPECT_NE(audit.find("\"result\":\"denied\""), std::string::npos);
}

TEST(FileFamily, AReadIsOnRecordWithCountsAlone) {
  LiveBroker broker;
  Agent agent(broker);
  std::ofstream(broker.workspace() + "/f") << "content-canary-4711";
  ASSERT_EQ(agent.ask("read", R"("path":"f")").status, 200);
  const auto audit = broker.get("/v1/audit?limit=1000", agent.token());
  EXPECT_NE(audit.body.find("\"operation\":\"read\""), std::string::npos) << audit.body;
  EXPECT_NE(audit.body.find("\"bytesOut\":19"), std::string::npos) << audit.body;
  EXPECT_EQ(audit.body.find("canary"), std::string::npos);
}

TEST(FileFamily, SecretsAreMaskedInContentsDiffsAndNames) {
  LiveBroker broker;
  Agent agent(broker);
  const std::string secret = "ghp_" + std::string(18, 'a') + std::string(18, '7');
  std::ofstream(broker.workspace() + "/f") << "key=" << secret << "\nrest\n";
  for (const char* encoding : {"text", "base64"}) {
    const auto read = agent.ask("read", R"("path":"f","encoding":")" + std::string(encoding) + "\"");
    ASSERT_EQ(read.status, 200) << read.body;
    EXPECT_EQ(read.body.find(secret.substr(6)), std::string::npos) << encoding;
    EXPECT_EQ(read.at("/content/exact"), "false");
  }
  EXPECT_NE(agent.ask("read", R"("path":"f")").at("/content/text").find("rest"), std::string::npos);
  const auto diff = agent.ask("diff", R"("path":"f","oldText":"rest","newText":"REST","detail":true)");
  EXPECT_NE(diff.at("/changes/text").find("+REST"), std::string::npos) << diff.body;
  EXPECT_EQ(diff.body.find(secret.substr(6)), std::string::npos);
}

TEST(FileFamily, G7NamesAndContentsThatAreNoTextGoRound) {
  LiveBroker broker;
  Agent agent(broker);
  const std::string name = "bad\xff\n\x1b[2J";
  std::ofstream(broker.workspace() + "/" + name, std::ios::binary) << std::string("\0\1\xff", 3);
  const auto list = agent.ask("list", R"("limit":10)");
  ASSERT_EQ(list.status, 200) << list.body;
  EXPECT_EQ(list.body.find('\x1b'), std::string::npos);
  const auto base64 = list.at("/entries/0/nameBase64");
  ASSERT_FALSE(base64.empty()) << list.body;
  const auto read = agent.ask("read", R"("pathBase64":")" + base64 + R"(","encoding":"base64")");
  EXPECT_EQ(read.at("/content/base64"), "AAH/") << read.body;
  EXPECT_EQ(read.at("/content/exact"), "true");
  const auto written = agent.carryOut("write", R"("pathBase64":"bmV3/w==","contentBase64":"AAH/")", "k1");
  EXPECT_EQ(written.status, 200) << written.body;
  EXPECT_EQ(contentOf(broker.workspace() + "/new\xff"), std::string("\0\1\xff", 3));
}

TEST(FileFamily, P73TwoRacingWritersOneRunsAndTheOtherIsToldSo) {
  LiveBroker broker({.policy = kAllowed});
  Agent agent(broker);
  std::ofstream(broker.workspace() + "/f") << std::string(4'000'000, 'x') << "\nend\n";
  std::atomic<int> done{0}, conflicts{0}, other{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i]() {
      const auto reply = broker.post(
          "/v1/file/edit",
          R"({"workspace":"demo","path":"f","oldText":"end","newText":"END)" + std::to_string(i) + "\"}",
          agent.token(), "racer-" + std::to_string(i));
      if (reply.status == 200) {
        ++done;
      } else if (reply.status == 409 || reply.code() == "invalid_request") {
        ++conflicts;  // busy, or the text is gone by now
      } else {
        ++other;
        ADD_FAILURE() << reply.status << reply.body;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(conflicts, 7);
}

TEST(FileFamily, P80AWorkerThatIsKilledIsReplacedAndNothingRunsTwice) {
  LiveBroker broker;
  Agent agent(broker);
  ASSERT_EQ(agent.carryOut("write", R"("path":"f","content":"one")", "k1").status, 200);
  const auto worker = broker.child("file");
  ASSERT_GT(worker, 0);
  kill(worker, SIGKILL);
  // Who asks in the same moment is told that it was lost.
  EXPECT_TRUE(eventually([&]() { return agent.ask("read", R"("path":"f")").at("/content/text") == "one"; }));
  EXPECT_NE(broker.child("file"), worker);
  EXPECT_EQ(broker.log().find("worker_misbehaved"), std::string::npos);
}

TEST(FileFamily, NothingOfItRestsInTheHome) {
  LiveBroker broker;
  Agent agent(broker);
  const std::string canary = "content-canary-90210";
  std::filesystem::create_directory(broker.workspace() + "/directory-canary");
  ASSERT_EQ(
      agent.carryOut("write", R"("path":"directory-canary/f","content":")" + canary + "\"", "k1").status,
      200);
  ASSERT_EQ(
      agent.carryOut("edit", R"("path":"directory-canary/f","oldText":"canary","newText":"new-canary")", "k2")
          .status,
      200);
  broker.stop();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(broker.home())) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(contentOf(entry.path()).find("canary"), std::string::npos) << entry.path();
  }
  EXPECT_EQ(broker.log().find("canary"), std::string::npos);
}

TEST(FileFamily, DiagnosticsTellThatItIsThereAndWhatIsNot) {
  LiveBroker broker;
  Agent agent(broker);
  const auto diagnostics = broker.get("/v1/diagnostics", agent.token());
  EXPECT_EQ(diagnostics.at("/diagnostics/families/0/family"), "file") << diagnostics.body;
  EXPECT_EQ(diagnostics.at("/diagnostics/families/0/status"), "available");
  const auto open = agent.change("open", R"("path":"f")", "k");
  EXPECT_EQ(open.status, 501);
  EXPECT_EQ(agent.change("move", R"("path":"f")", "k").status, 501);
}

TEST(FileFamily, TheCliDoesAllOfIt) {
  LiveBroker broker({.policy = kAllowed});
  EXPECT_EQ(broker.cli({"file", "write", "demo", "f"}, "one\n").status, 0);
  EXPECT_EQ(contentOf(broker.workspace() + "/f"), "one\n");
  EXPECT_EQ(broker.cli({"file", "write", "demo", "f"}, "one\ntwo\n").status, 0) << "replaces what is there";
  EXPECT_EQ(broker.cli({"file", "read", "demo", "f"}).out, "one\ntwo\n");
  EXPECT_EQ(broker.cli({"file", "edit", "demo", "f", "--old", "two", "--new", "2"}).status, 0);
  const auto diff = broker.cli({"file", "diff", "demo", "f", "--old", "2", "--new", "3", "--detail"});
  EXPECT_NE(diff.out.find("+3"), std::string::npos) << diff.out << diff.err;
  EXPECT_NE(broker.cli({"file", "list", "demo"}).out.find("f"), std::string::npos);
  EXPECT_NE(broker.cli({"--json", "file", "stat", "demo", "f"}).out.find("\"digest\""), std::string::npos);
  EXPECT_EQ(broker.cli({"file", "delete", "demo", "f"}).status, 0);
  EXPECT_NE(broker.cli({"file", "list", "demo", "--kept"}).out.find("delete"), std::string::npos);
  EXPECT_EQ(broker.cli({"file", "restore", "demo", "f"}).status, 0);
  EXPECT_EQ(contentOf(broker.workspace() + "/f"), "one\n2\n");
  EXPECT_EQ(broker.cli({"file", "read", "demo", "../x"}).status, 1);
  EXPECT_EQ(broker.cli({"file", "edit", "demo", "f"}).status, 1);
}

}  // namespace
}  // namespace factionos::test
