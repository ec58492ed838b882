// The family git through a real broker: policy, approvals, drift, replay, locks, rollback, redaction.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "git_agent.h"

namespace factionos::test {
namespace {

constexpr const char* kAllowAll =
    "[[rule]]\nfamily = \"git\"\noperation = \"*\"\ndecision = \"allow\"\nuntil = 2099-01-01T00:00:00Z\n";

TEST(GitFamily, ReadsAreAnsweredUnderPolicy) {
  LiveBroker broker;
  GitAgent agent(broker);
  agent.makeRepository();
  const auto status = agent.ask("status");
  ASSERT_EQ(status.status, 200) << status.body;
  EXPECT_EQ(status.at("/status/head/branch"), "main");
  EXPECT_EQ(status.at("/status/head/commit"), agent.git("rev-parse HEAD"));
  EXPECT_EQ(status.at("/status/entries/0/path/text"), "a.txt");
  EXPECT_EQ(status.at("/status/entries/0/worktree"), "modified");
  EXPECT_EQ(status.at("/status/entries/1/untracked"), "true");
  EXPECT_EQ(status.number("/status/unstaged"), 1U);
  EXPECT_EQ(status.number("/status/untracked"), 1U);
  const auto diff = agent.ask("diff");
  EXPECT_EQ(diff.number("/diff/insertions"), 1U) << diff.body;
  EXPECT_FALSE(diff.has("/diff/text")) << "a summary has no content";
  const auto lines = agent.ask("diff", R"("file":"a.txt")");
  EXPECT_NE(lines.at("/diff/text").find("+two"), std::string::npos) << lines.body;
  EXPECT_EQ(agent.ask("log").at("/log/commits/0/subject"), "first");
  EXPECT_EQ(agent.ask("show", R"("commit":"HEAD")").at("/show/diff/files/0/edit"), "added");
  EXPECT_EQ(agent.ask("branches").at("/branches/branches/0/name"), "main");
  EXPECT_EQ(agent.ask("worktree-list").at("/worktrees/0/main"), "true");
  EXPECT_EQ(broker.post("/v1/git/status", R"({"workspace":"other"})", agent.token()).status, 404);
}

// A read has no effect, so it is asked again: of three workers in all.
TEST(GitFamily, ALostReaderIsReplacedInTheMidstOfAReadTwice) {
  LiveBroker broker;
  GitAgent agent(broker);
  agent.makeRepository();
  ASSERT_EQ(agent.ask("status").status, 200);
  // The first is stopped, so that it surely has the request when it dies.
  const auto askedWhile = [&](int deaths) {
    Reply reply = agent.ask("status");
    pid_t worker = broker.child("git");
    EXPECT_GT(worker, 0);
    if (worker <= 0) return reply;
    ::kill(worker, SIGSTOP);
    std::atomic<bool> done = false;
    std::thread client([&]() {
      reply = agent.ask("log");
      done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ::kill(worker, SIGKILL);
    for (int death = 1; death < deaths; ++death) {
      EXPECT_TRUE(eventually([&]() {
        if (done) return true;
        const pid_t next = broker.child("git");
        if (next == 0 || next == worker) return false;
        worker = next;
        return ::kill(next, SIGKILL) == 0;
      }));
    }
    client.join();
    return reply;
  };
  EXPECT_EQ(askedWhile(1).status, 200);
  EXPECT_EQ(askedWhile(2).status, 200);
  // Who is quick has answered before it dies.
  Reply tooOften;
  for (int time = 0; time < 20 && tooOften.status != 503; ++time) tooOften = askedWhile(3);
  EXPECT_EQ(tooOften.status, 503) << tooOften.body;
  EXPECT_EQ(agent.ask("status").status, 200) << "the next is served";
}

TEST(GitFamily, AProposalSaysInCountsWhatWouldChangeAndChangesNothing) {
  LiveBroker broker;
  GitAgent agent(broker);
  agent.makeRepository();
  const auto staged = agent.change("stage", R"("all":true)", "k1");
  ASSERT_EQ(staged.status, 202) << staged.body;
  EXPECT_EQ(staged.at("/action/card/operationClass"), "git.stage");
  EXPECT_EQ(staged.at("/action/card/target"), "demo/index");
  EXPECT_EQ(staged.at("/action/card/changes/0/name"), "files");
  EXPECT_EQ(staged.at("/action/card/changes/0/count"), "2");
  EXPECT_EQ(staged.at("/action/card/rollback"), "manual");
  EXPECT_EQ(agent.git("diff --cached --name-only"), "") << "a proposal changes nothing";
  EXPECT_EQ(agent.git("for-each-ref refs/factionos"), "");
  agent.git("add a.txt");
  const auto commit = agent.change("commit", R"("message":"canary words")", "k2");
  ASSERT_EQ(commit.status, 202) << commit.body;
  EXPECT_EQ(commit.at("/action/card/target"), "demo/branch:main");
  EXPECT_EQ(commit.body.find("canary"), std::string::npos) << "a message is on no card";
  const auto shown = broker.cli({"reveal", commit.at("/action/id")});
  EXPECT_NE(shown.out.find("canary words"), std::string::npos)
      << "the operator alone may see it" << shown.err;
}

TEST(GitFamily, P79TheSameKeyIsTheSameAnswerAndAnotherRequestIsRefused) {
  LiveBroker broker;
  GitAgent agent(broker);
  agent.makeRepository();
  agent.git("add a.txt");
  const auto done = agent.carryOut("commit", R"("message":"second")", "k1");
  ASSERT_EQ(done.status, 200) << done.body;
  const auto again = agent.change("commit", R"("message":"second")", "k1");
  EXPECT_EQ(again.body, done.body);
  EXPECT_EQ(again.headers.at("idempotency-replayed"), "true");
  EXPECT_EQ(agent.git("log --format=%s"), "second\nfirst") << "ran again";
  EXPECT_EQ(agent.change("commit", R"("message":"third")", "k1").status, 422);
  EXPECT_EQ(agent.change("commit", R"("message":"third")", "").code(), "idempotency_key_required");
}

TEST(GitFamily, G17AHeadThatMovedIsDriftAndNothingIsWritten) {
  LiveBroker broker;
  GitAgent agent(broker);
  agent.makeRepository();
  agent.git("add a.txt");
  const std::string commit = R"("message":"mine")";
  const auto proposed = agent.change("commit", commit, "k1");
  ASSERT_EQ(proposed.status, 202) << proposed.body;
  ASSERT_EQ(broker.approve(proposed.at("/action/id")).status, 0);
  agent.git("commit -q -m theirs");
  agent.shell("echo three > a.txt && git add a.txt");
  const auto late = agent.change("commit", commit, "k1", GitAgent::approval(proposed.at("/action/id")));
  EXPECT_EQ(late.status, 409) << late.body;
  EXPECT_EQ(late.code(), "approval_drift");
  EXPECT_EQ(agent.git("log --format=%s"), "theirs\nfirst");
  EXPECT_EQ(agent.git("for-each-ref refs/factionos"), "");
}

TEST(GitFamily, G17AFileThatChangedSinceIsDriftToo) {
  LiveBroker broker;
  GitAgent agent(broker);
  agent.makeRepository();
  const std::string stage = R"("files":["a.txt"])";
  const auto proposed = agent.change("stage", stage, "k1");
  ASSERT_EQ(broker.approve(proposed.at("/action/id")).status, 0);
  agent.shell("echo something else > a.txt");
  EXPECT_EQ(agent.change("stage", stage, "k1", GitAgent::approval(proposed.at("/action/id"))).code(),
            "approval_drift");
  EXPECT_EQ(agent.git("diff --cached --name-only"), "");
}

TEST(GitFamily, EveryChangeIsUndoneByRollback) {
  LiveBroker broker({.policy = kAllowAll});
  GitAgent agent(broker);
  agent.makeRepository();
  agent.git("branch topic");
  const auto undo = [&](const Reply& done) {
    EXPECT_EQ(done.status, 200) << done.body;
    const auto undone =
        agent.change("rollback", R"("actionId":")" + done.at("/action/id") + "\"", uniqueKey());
    EXPECT_EQ(undone.status, 200) << undone.body;
  };
  undo(agent.change("stage", R"("all":true)", "k1"));
  EXPECT_EQ(agent.git("diff --cached --name-only"), "");
  agent.git("add a.txt");
  const auto before = agent.git("rev-parse HEAD");
  undo(agent.change("commit", R"("message":"second")", "k2"));
  EXPECT_EQ(agent.git("rev-parse HEAD"), before);
  undo(agent.change("branch-create", R"("branch":"new")", "k3"));
  EXPECT_EQ(agent.git("branch --list new"), "");
  undo(agent.change("worktree-add", R"("name":"side","directory":"side")", "k4"));
  EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/side"));
  agent.git("reset -q --hard");
  undo(agent.change("checkout", R"("branch":"topic")", "k5"));
  EXPECT_EQ(agent.git("symbolic-ref HEAD"), "refs/heads/main");
}

// A snapshot lies where a command can write: what is undone is what the broker remembers of its own actions.
TEST(GitFamily, ASnapshotThatACommandMadeIsNoAction) {
  LiveBroker broker({.policy = kAllowAll});
  GitAgent agent(broker);
  agent.makeRepository();
  const auto forge = [&](const std::string& action) {
    agent.shell(
        "H=$(echo x | git hash-object -w --stdin); C=$(printf 'factionos change 1 branch-create\\nfile "
        "planted "
        "33261:%s -\\n' $H | git hash-object -w --stdin); T=$(printf '100644 blob %s\\tchange\\n' $C | git "
        "mktree); git update-ref refs/factionos/" +
        action + "/change $T");
  };
  const auto rollback = [&](const std::string& action) {
    return agent.change("rollback", R"("actionId":")" + action + "\"", uniqueKey());
  };
  const std::string unknown = "act_01M8PC000000000000000FAKE0";
  forge(unknown);
  EXPECT_EQ(rollback(unknown).code(), "not_found");
  const auto made = agent.change("branch-create", R"("branch":"topic")", "k1");
  ASSERT_EQ(made.status, 200) << made.body;
  forge(made.at("/action/id"));
  EXPECT_EQ(rollback(made.at("/action/id")).status, 200);
  EXPECT_EQ(agent.git("branch --list topic"), "");
  EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/planted"));
}

TEST(GitFamily, P74APolicyThatChangedVoidsTheApproval) {
  LiveBroker broker;
  GitAgent agent(broker);
  agent.makeRepository();
  const std::string stage = R"("all":true)";
  const auto proposed = agent.change("stage", stage, "k1");
  ASSERT_EQ(broker.approve(proposed.at("/action/id")).status, 0);
  std::ofstream(broker.home() + "/policy.toml", std::ios::app)
      << "\n[[rule]]\nfamily = \"file\"\noperation = \"delete\"\ndecision = \"deny\"\n";
  ASSERT_EQ(broker.cli({"policy", "reload"}).status, 0);
  const auto late = agent.change("stage", stage, "k1", GitAgent::approval(proposed.at("/action/id")));
  EXPECT_EQ(late.code(), "approval_drift") << late.body;
  EXPECT_EQ(agent.git("diff --cached --name-only"), "");
}

TEST(GitFamily, AGrantSparesTheQuestionForItsOwnOperationAlone) {
  LiveBroker broker;
  GitAgent agent(broker, "agent");
  agent.makeRepository();
  const auto granted = broker.cli({"grant", "add", "--family", "git", "--operation", "stage", "--workspace",
                                   "demo", "--principal", "agent", "--for", "30m"});
  ASSERT_EQ(granted.status, 0) << granted.err << granted.out;
  EXPECT_EQ(agent.change("stage", R"("all":true)", "k1").status, 200);
  EXPECT_EQ(agent.git("diff --cached --name-only"), "a.txt\nb.txt");
  EXPECT_EQ(agent.change("commit", R"("message":"x")", "k2").status, 202);
}

TEST(GitFamily, WhoPolicyDeniesLearnsNothingAndLeavesARecord) {
  LiveBroker broker({.policy = "[[rule]]\nfamily = \"git\"\noperation = \"*\"\ndecision = \"deny\"\n"});
  GitAgent agent(broker);
  EXPECT_EQ(agent.ask("status").code(), "policy_blocked") << "whether there is a repository or not";
  EXPECT_EQ(agent.change("stage", R"("all":true)", "k1").code(), "policy_blocked");
  agent.makeRepository();
  EXPECT_EQ(agent.ask("status").code(), "policy_blocked");
  EXPECT_EQ(agent.change("stage", R"("all":true)", "k1").code(), "policy_blocked");
  EXPECT_EQ(broker.child("git"), 0) << "nobody was asked";
  const auto audit = broker.get("/v1/audit?limit=1000", agent.token()).body;
  EXPECT_NE(audit.find("\"result\":\"denied\""), std::string::npos);
}

// G2, G5, P66, P67: nothing of a path, a ref or a value is in an answer.
TEST(GitFamily, RefusalsNameTheRuleAndNothingElse) {
  LiveBroker broker;
  GitAgent agent(broker);
  EXPECT_EQ(agent.ask("status").status, 404) << "no repository";
  agent.makeRepository();
  for (const char* branch : {"-f", "--output=/tmp/x", "a..b", "a b", "refs/../x"}) {
    const auto reply = agent.change("branch-create", R"("branch":)" + json(branch), uniqueKey());
    EXPECT_EQ(reply.code(), "invalid_request") << branch << reply.body;
    EXPECT_EQ(reply.body.find(branch), std::string::npos);
  }
  for (const char* file : {"../x", "/etc/passwd", "./a.txt", ".git/config"})
    EXPECT_EQ(agent.change("stage", R"("files":[)" + json(file) + "]", uniqueKey()).code(), "scope_violation")
        << file;
  std::filesystem::create_directory_symlink(broker.home(), broker.workspace() + "/out");
  EXPECT_EQ(agent.change("stage", R"("files":["out/config.toml"])", uniqueKey()).code(), "scope_violation");
  agent.git("config core.worktree /etc");
  const auto outside = agent.ask("status");
  EXPECT_EQ(outside.code(), "repository_refused") << outside.body;
  EXPECT_EQ(outside.body.find("/etc"), std::string::npos);
  agent.git("config --unset core.worktree");
  EXPECT_EQ(agent.ask("status").status, 200) << "mended, it is worked in again";
}

TEST(GitFamily, WhatIsNeverDoneAnswers501) {
  LiveBroker broker({.policy = kAllowAll});
  GitAgent agent(broker);
  agent.makeRepository();
  for (const char* operation : {"rebase", "merge", "remote", "config"})
    EXPECT_EQ(agent.change(operation, "\"x\":1", uniqueKey()).status, 501) << operation;
  agent.git("add a.txt");
  const auto sign = agent.change("commit", R"("message":"m","sign":true)", "k1");
  EXPECT_EQ(sign.code(), "unavailable") << sign.body;
  EXPECT_NE(sign.at("/detail").find("gpg"), std::string::npos) << "the reason is told";
  EXPECT_EQ(agent.git("log --format=%s"), "first");
}

TEST(GitFamily, PushIsBlockedUntilPolicyAllowsIt) {
  for (const bool allowed : {false, true}) {
    LiveBroker broker(allowed ? test::Setup{.policy = kAllowAll} : test::Setup{});
    GitAgent agent(broker);
    agent.makeRepository();
    agent.shell("git init -q --bare remote.git && git remote add origin \"$PWD/remote.git\"");
    const auto pushed = agent.change("push", R"("branch":"main")", "k1");
    if (allowed) {
      ASSERT_EQ(pushed.status, 200) << pushed.body;
      EXPECT_EQ(agent.git("--git-dir remote.git rev-parse main"), agent.git("rev-parse main"));
      const auto undo = agent.change("rollback", R"("actionId":")" + pushed.at("/action/id") + "\"", "k2");
      EXPECT_EQ(undo.code(), "change_refused") << undo.body;
    } else {
      EXPECT_EQ(pushed.code(), "policy_blocked") << pushed.body;
      EXPECT_EQ(agent.git("--git-dir remote.git for-each-ref"), "");
    }
  }
}

// P73, G8: two of ours, and one of ours beside somebody's lock.
TEST(GitFamily, OneChangeAtATimeInARepository) {
  LiveBroker broker({.policy = kAllowAll});
  GitAgent agent(broker);
  agent.makeRepository();
  agent.shell("for i in $(seq 200); do echo $i > f$i; done");
  std::atomic<int> done{0}, busy{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i]() {
      const auto reply = agent.change("stage", R"("files":["f)" + std::to_string(i + 1) + "\"]",
                                      "racer-" + std::to_string(i));
      if (reply.status == 200) ++done;
      if (reply.code() == "resource_busy") ++busy;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GE(done, 1);
  EXPECT_EQ(done + busy, 8) << "nothing else came of it";
  EXPECT_EQ(std::to_string(done), agent.shell("git diff --cached --name-only | wc -l"));
  agent.shell("touch -d '90 seconds ago' .git/index.lock");
  const auto locked = agent.change("stage", R"("all":true)", "k3");
  EXPECT_EQ(locked.code(), "resource_busy") << locked.body;
  EXPECT_NE(locked.at("/detail").find("9"), std::string::npos) << "its age is told: " << locked.body;
  EXPECT_TRUE(std::filesystem::exists(broker.workspace() + "/.git/index.lock")) << "and it is left alone";
}

// G8.
TEST(GitFamily, G8StatusesAreNeverInTheWayOfTheUsersOwnGit) {
  LiveBroker broker;
  GitAgent agent(broker);
  agent.makeRepository();
  std::mutex mutex;
  std::string unexpected;
  std::vector<std::thread> threads;
  for (int i = 0; i < 10; ++i) {
    threads.emplace_back([&]() {
      for (int each = 0; each < 50; ++each) {
        const auto reply = agent.ask("status");
        if (reply.status == 200 || reply.code() == "rate_limited") continue;
        const std::lock_guard lock(mutex);
        unexpected = reply.body;
      }
    });
  }
  const auto commits = agent.shell(
      "for i in $(seq 50); do echo $i > a.txt && git commit -q -a -m c$i || exit 1; done; git log "
      "--format=%s | wc -l");
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(commits, "51");
  EXPECT_EQ(unexpected, "");
  EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/.git/index.lock"));
}

// G15.
TEST(GitFamily, G15AnInheritedEnvironmentIsIgnored) {
  LiveBroker broker(
      {.environment = {"GIT_DIR=/nonexistent", "GIT_INDEX_FILE=/nonexistent/index", "GIT_WORK_TREE=/etc",
                       "GIT_OBJECT_DIRECTORY=/nonexistent", "GIT_CONFIG_COUNT=1",
                       "GIT_CONFIG_KEY_0=core.worktree", "GIT_CONFIG_VALUE_0=/etc"}});
  GitAgent agent(broker);
  agent.makeRepository();
  const auto status = agent.ask("status");
  EXPECT_EQ(status.status, 200) << status.body;
  EXPECT_EQ(status.number("/status/unstaged"), 1U);
}

// G7.
TEST(GitFamily, G7NamesThatAreNoTextGoRound) {
  LiveBroker broker({.policy = kAllowAll});
  GitAgent agent(broker);
  agent.makeRepository();
  agent.git("reset -q --hard");
  std::filesystem::remove(broker.workspace() + "/b.txt");
  const std::string name = "bad\xff\n\x1b[2J";
  std::ofstream(broker.workspace() + "/" + name) << "x";
  const auto status = agent.ask("status");
  ASSERT_EQ(status.status, 200) << status.body;
  EXPECT_EQ(status.body.find('\x1b'), std::string::npos);
  const auto base64 = status.at("/status/entries/0/path/base64");
  ASSERT_FALSE(base64.empty()) << status.body;
  EXPECT_EQ(agent.change("stage", R"("filesBase64":[")" + base64 + "\"]", "k1").status, 200);
  EXPECT_EQ(agent.shell("git diff --cached --name-only -z | od -An -tx1 | tr -d \" \\n\""),
            "626164ff0a1b5b324a00");
  EXPECT_EQ(agent.change("stage", R"("filesBase64":["?"])", "k2").at("/field"), "filesBase64[]");
}

TEST(GitFamily, SecretsAreMaskedAndADifferenceIsOnRecordWithCountsAlone) {
  LiveBroker broker;
  GitAgent agent(broker);
  agent.makeRepository();
  const std::string secret = "ghp_" + std::string(18, 'a') + std::string(18, '7');
  std::ofstream(broker.workspace() + "/a.txt") << "key=" << secret << "\nrest\n";
  const auto diff = agent.ask("diff", R"("file":"a.txt")");
  EXPECT_NE(diff.at("/diff/text").find("+rest"), std::string::npos) << diff.body;
  EXPECT_EQ(diff.body.find(secret.substr(6)), std::string::npos);
  agent.git("commit -q -a -m 'with " + secret + "'");
  for (const char* operation : {"log", "show"})
    EXPECT_EQ(agent
                  .ask(operation, R"("limit":5)" + std::string(operation == std::string("show")
                                                                   ? R"(,"commit":"HEAD","file":"a.txt")"
                                                                   : ""))
                  .body.find(secret.substr(6)),
              std::string::npos)
        << operation;
  const auto audit = broker.get("/v1/audit?limit=1000", agent.token()).body;
  EXPECT_NE(audit.find("\"operation\":\"diff\""), std::string::npos) << audit;
  EXPECT_NE(audit.find("\"operation\":\"show\""), std::string::npos);
  EXPECT_EQ(audit.find("\"operation\":\"status\""), std::string::npos) << "what hands out no content";
}

TEST(GitFamily, P80AWorkerThatIsKilledIsReplaced) {
  LiveBroker broker;
  GitAgent agent(broker);
  agent.makeRepository();
  ASSERT_EQ(agent.ask("status").status, 200);
  const auto worker = broker.child("git");
  ASSERT_GT(worker, 0);
  kill(worker, SIGKILL);
  EXPECT_TRUE(eventually([&]() { return agent.ask("status").status == 200; }));
  EXPECT_NE(broker.child("git"), worker);
  EXPECT_EQ(broker.log().find("worker_misbehaved"), std::string::npos);
}

// G18.
TEST(GitFamily, G18AMessageIsStoredExactlyAndRestsNowhereOfOurs) {
  LiveBroker broker({.policy = kAllowAll});
  GitAgent agent(broker);
  agent.makeRepository();
  agent.git("add a.txt");
  const std::string message = "canary subject\n\n-m like text\n\x1b[2J\nSigned-off-by: x\n";
  ASSERT_EQ(agent.change("commit", R"("message":)" + json(message), "k1").status, 200);
  EXPECT_EQ(agent.git("log -1 --format=%B") + "\n", message);
  EXPECT_EQ(agent.change("commit", "\"message\":\"a\\u0000b\",\"allowEmpty\":true", "k2").status, 400);
  broker.stop();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(broker.home())) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string content(std::istreambuf_iterator<char>(in), {});
    EXPECT_EQ(content.find("canary"), std::string::npos) << entry.path();
  }
  EXPECT_EQ(broker.log().find("canary"), std::string::npos);
}

TEST(GitFamily, DiagnosticsTellWhatIsThereAndThatPushIsBlocked) {
  LiveBroker broker;
  GitAgent agent(broker);
  const auto diagnostics = broker.get("/v1/diagnostics", agent.token());
  const auto at = diagnostics.body.find("\"family\":\"git\"");
  ASSERT_NE(at, std::string::npos) << diagnostics.body;
  const auto git = diagnostics.body.substr(at, 4000);
  EXPECT_NE(git.find("\"status\":\"available\""), std::string::npos);
  EXPECT_NE(git.find("policy_blocked"), std::string::npos);
}

TEST(GitFamily, TheCliDoesAllOfIt) {
  LiveBroker broker({.policy = kAllowAll});
  GitAgent agent(broker);
  agent.makeRepository();
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "git");
    words.insert(words.begin() + 2, "demo");
    return broker.cli(words);
  };
  const auto status = run({"status"});
  EXPECT_EQ(status.status, 0) << status.err;
  EXPECT_NE(status.out.find("## main"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find(" M a.txt"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("?? b.txt"), std::string::npos) << status.out;
  EXPECT_NE(run({"diff", "--file", "a.txt"}).out.find("+two"), std::string::npos);
  EXPECT_EQ(run({"stage", "a.txt", "b.txt"}).status, 0);
  EXPECT_EQ(run({"unstage", "b.txt"}).status, 0);
  const auto commit = run({"commit", "-m", "second"});
  EXPECT_EQ(commit.status, 0) << commit.err;
  EXPECT_NE(commit.out.find("factionos git rollback demo act_"), std::string::npos) << commit.out;
  EXPECT_NE(run({"log"}).out.find("second"), std::string::npos);
  EXPECT_NE(run({"show", "HEAD"}).out.find("a.txt"), std::string::npos);
  EXPECT_EQ(run({"branch-create", "topic"}).status, 0);
  EXPECT_EQ(run({"checkout", "topic"}).status, 0);
  EXPECT_NE(run({"branches"}).out.find("* topic"), std::string::npos);
  EXPECT_EQ(run({"worktree-add", "side", "side"}).status, 0);
  EXPECT_NE(run({"worktree-list"}).out.find("side"), std::string::npos);
  EXPECT_EQ(run({"worktree-remove", "side"}).status, 0);
  const auto id = commit.out.substr(commit.out.find("act_"), 30);
  EXPECT_EQ(run({"checkout", "main"}).status, 0);
  EXPECT_EQ(run({"rollback", id}).status, 0);
  EXPECT_EQ(agent.git("log --format=%s main"), "first");
  EXPECT_EQ(run({"checkout", "nowhere"}).status, 1);
  EXPECT_EQ(broker.cli({"git", "-c", "x=y", "status", "demo"}).status, 2) << "P65";
}

}  // namespace
}  // namespace factionos::test
