// Malicious repositories: each key that makes git start a program, planted for real. First the marker is
// proven to appear with plain git, then every verb of ours runs, and it must not. (G1, P56 to P63, G15)
#include <csignal>
#include <filesystem>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

using Change = schema::GitChange::Builder;

// A repository whose marker says that somebody started a program.
class Trap {
 public:
  Trap() : marker_(repo.broker.world.outside + "/marker") {
    script = repo.broker.world.outside + "/script";
    repo.broker.world.write(script, "#!/bin/sh\n: > '" + marker_ + "'\ncat\n", 0755);
    repo.write("other.txt", "o\n");
    repo.commit("second");
    git(repo.folder(), {"branch", "topic"});
    git(repo.folder(), {"clone", "-q", "--bare", ".", remote()});
    git(repo.folder(), {"remote", "add", "origin", remote()});
    repo.write("kept.txt", "one\nchanged\n");
    repo.write("untracked.txt", "u\n");
  }

  [[nodiscard]] std::string remote() const { return repo.broker.world.outside + "/remote.git"; }
  [[nodiscard]] bool sprung() const { return World::exists(marker_); }
  void reset() const { unlink(marker_.c_str()); }

  // That this command of git's own springs it.
  void control(std::vector<std::string> command) const {
    command.insert(command.begin(), {"timeout", "5"});  // what was started may speak no protocol of git's
    runIn(repo.folder(), command);
    EXPECT_TRUE(sprung()) << "the control: " << command.back();
    reset();
  }

  // Every verb, and no marker. Refusals are fine; the worker must live on.
  void everyVerb(const std::string& what) {
    read(what);
    GitWorker worker(repo.broker, repo.folder(), GitWorker::Access::PUSH, {remote()});
    if (worker.denial.empty()) {
      change(worker, what, [](Change c) { c.initStage().setAll(true); });
      change(worker, what, [](Change c) { c.initCommit().setMessage("m"); });
      const std::string committed = worker.lastAction;
      change(worker, what, [](Change c) { c.initUnstage().setAll(true); });
      change(worker, what, [](Change c) { c.initBranchCreate().setBranch("made"); });
      change(worker, what, [](Change c) { c.initCheckout().setBranch("topic"); });
      change(worker, what, [](Change c) {
        auto add = c.initWorktreeAdd();
        add.setName("side");
        add.setDirectory("side");
      });
      change(worker, what, [](Change c) { c.initWorktreeRemove().setName("side"); });
      change(worker, what, [](Change c) { c.initFetch(); });
      change(worker, what, [](Change c) { c.initPush().setBranch("made"); });
      change(worker, what, [&](Change c) {
        auto rollback = c.initRollback();
        rollback.setActionId(committed.c_str());
        rollback.setSnapshot(worker.snapshots[committed].c_str());
      });
    }
    EXPECT_FALSE(sprung()) << what;
  }

  Repo repo;
  std::string script;

 private:
  void read(const std::string& what) {
    GitWorker worker(repo.broker, repo.folder(), GitWorker::Access::READ, {remote()});
    if (!worker.denial.empty()) {
      EXPECT_TRUE(worker.denial.starts_with("repository_refused/")) << what << ": " << worker.denial;
      return;
    }
    worker.status();
    EXPECT_EQ(worker.lastDenial, "") << what;
    worker.call(worker.repository.diffRequest());
    auto staged = worker.repository.diffRequest();
    staged.initRequest().setStaged(true);
    worker.call(staged);
    auto one = worker.repository.diffRequest();
    one.initRequest().setFile("kept.txt");
    worker.call(one);
    worker.call(worker.repository.logRequest());
    auto show = worker.repository.showRequest();
    show.initRequest().setCommit("HEAD");
    worker.call(show);
    worker.call(worker.repository.branchesRequest());
    worker.call(worker.repository.worktreesRequest());
    EXPECT_FALSE(sprung()) << what << ", reading";
  }

  void change(GitWorker& worker, const std::string& what, const GitWorker::Fill& fill) {
    worker.change(fill);
    EXPECT_FALSE(sprung()) << what;
  }

  std::string marker_;
};

struct Plant {
  const char* name;
  std::vector<std::pair<const char*, const char*>> config;  // a value "@" is the script
  const char* attributes;
  std::vector<std::string> control;  // empty: documented, and not to be shown without a terminal or a network
};

const std::vector<Plant>& plants() {
  static const std::vector<Plant> all = {
      {"fsmonitor", {{"core.fsmonitor", "@"}}, "", {"git", "status"}},
      {"external_diff", {{"diff.external", "@"}}, "", {"git", "diff"}},
      {"diff_driver", {{"diff.odd.command", "@"}}, "* diff=odd\n", {"git", "diff"}},
      {"textconv", {{"diff.odd.textconv", "@"}}, "* diff=odd\n", {"git", "diff"}},
      {"clean_filter", {{"filter.odd.clean", "@"}}, "* filter=odd\n", {"git", "add", "-A"}},
      {"smudge_filter",
       {{"filter.odd.smudge", "@"}},
       "* filter=odd\n",
       {"git", "checkout", "--", "kept.txt"}},
      {"process_filter", {{"filter.odd.process", "@"}}, "* filter=odd\n", {"git", "add", "-A"}},
      {"odd_filter_name", {{"filter.a b.c.clean", "@"}}, "", {}},
      {"gpg_program",
       {{"gpg.program", "@"}, {"commit.gpgsign", "true"}, {"user.signingkey", "x"}},
       "",
       {"git", "commit", "--allow-empty", "-m", "x"}},
      {"upload_pack", {{"remote.origin.uploadpack", "@"}}, "", {"git", "fetch", "origin"}},
      {"receive_pack", {{"remote.origin.receivepack", "@"}}, "", {"git", "push", "origin", "topic:new"}},
      {"ssh_command",
       {{"core.sshCommand", "@"}, {"remote.origin.url", "ssh://localhost/x"}},
       "",
       {"git", "fetch", "origin"}},
      {"git_proxy",
       {{"core.gitProxy", "@"}, {"remote.origin.url", "git://localhost/x"}},
       "",
       {"git", "fetch", "origin"}},
      {"remote_helper",
       {{"protocol.ext.allow", "always"}, {"remote.origin.url", "ext::@"}},
       "",
       {"git", "fetch", "origin"}},
      {"instead_of",
       {{"protocol.ext.allow", "always"},
        {"url.ext::@ .insteadOf", "short:"},
        {"remote.origin.url", "short:x"}},
       "",
       {}},
      {"credential_helper",
       {{"credential.helper", "!@"}},
       "",
       {"sh", "-c", "printf 'protocol=https\\nhost=x\\n' | git credential fill"}},
      {"editor", {{"core.editor", "@"}}, "", {"env", "-u", "GIT_EDITOR", "git", "commit", "--allow-empty"}},
      {"pager", {{"core.pager", "@"}, {"pager.log", "@"}, {"pager.status", "@"}}, "", {}},
      {"alias", {{"alias.odd", "!@"}, {"alias.status", "!@"}}, "", {"git", "odd"}},
      {"merge_driver", {{"merge.odd.driver", "@"}}, "* merge=odd\n", {}},
      {"askpass", {{"core.askPass", "@"}}, "", {}},
      {"alternate_refs", {{"core.alternateRefsCommand", "@"}}, "", {}},
      {"trailer",
       {{"trailer.odd.command", "@"}},
       "",
       {"git", "commit", "--allow-empty", "-m", "x", "--trailer", "odd=x"}},
      {"hook_of_the_configuration", {{"hook.odd.command", "@"}, {"hook.odd.event", "pre-commit"}}, "", {}},
      {"template", {{"init.templateDir", "@"}}, "", {}},
      {"archiver", {{"tar.odd.command", "@"}}, "", {"git", "archive", "--format=odd", "HEAD"}},
      {"ssh_signing",
       {{"gpg.format", "ssh"},
        {"gpg.ssh.program", "@"},
        {"commit.gpgsign", "true"},
        {"user.signingkey", "/dev/null"}},
       "",
       {"git", "commit", "--allow-empty", "-m", "x"}},
      {"submodule_update", {{"submodule.sub.update", "!@"}, {"submodule.sub.active", "true"}}, "", {}},
  };
  return all;
}

class GitHostile : public testing::TestWithParam<std::size_t> {};

TEST_P(GitHostile, NothingIsStarted) {
  const Plant& plant = plants()[GetParam()];
  Trap trap;
  for (const auto& [key, value] : plant.config) {
    std::string text = value;
    std::string name = key;
    for (std::string* each : {&text, &name})
      if (const std::size_t at = each->find('@'); at != std::string::npos) each->replace(at, 1, trap.script);
    trap.repo.config(name, text);
  }
  if (*plant.attributes != '\0') trap.repo.write(".gitattributes", plant.attributes);
  if (!plant.control.empty()) trap.control(plant.control);
  trap.everyVerb(plant.name);
}

std::string plantName(const testing::TestParamInfo<std::size_t>& parameter) {
  return plants()[parameter.param].name;
}
INSTANTIATE_TEST_SUITE_P(Keys, GitHostile, testing::Range(std::size_t{0}, plants().size()), plantName);

// P62.
TEST(GitHostileFiles, HooksInTheirPlaceAndElsewhere) {
  for (const bool elsewhere : {false, true}) {
    Trap trap;
    const std::string folder = elsewhere ? trap.repo.folder() + "/hooks" : trap.repo.folder() + "/.git/hooks";
    if (elsewhere) trap.repo.config("core.hooksPath", "hooks");
    for (const char* hook : {"pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-checkout",
                             "post-index-change", "reference-transaction", "pre-push", "post-merge",
                             "fsmonitor-watchman", "update", "post-receive"})
      trap.repo.broker.world.write(folder + "/" + hook, World::read(trap.script), 0755);
    trap.control({"git", "commit", "--allow-empty", "-q", "-m", "x"});
    trap.everyVerb(elsewhere ? "hooks elsewhere" : "hooks");
  }
}

TEST(GitHostileFiles, IncludesBringNothingIn) {
  for (const char* key : {"include.path", "includeIf.gitdir/i:**.path", "includeIf.onbranch:main.path"}) {
    Trap trap;
    const std::string config = trap.repo.folder() + "/more.config";
    trap.repo.write("more.config", "[core]\n\tfsmonitor = " + trap.script + "\n");
    trap.repo.config(key, config);
    trap.control({"git", "status"});
    trap.everyVerb(key);
  }
  // libgit2 would fail to open for this, and tell the file and its line.
  Trap trap;
  trap.repo.config("include.path", "/etc/passwd");
  trap.everyVerb("a file that is no configuration");
  EXPECT_EQ(trap.repo.opened(), "");
}

TEST(GitHostileFiles, TheConfigurationOfOneWorktree) {
  Trap trap;
  trap.repo.config("core.repositoryformatversion", "1");
  trap.repo.config("extensions.worktreeConfig", "true");
  git(trap.repo.folder(), {"config", "--worktree", "core.fsmonitor", trap.script});
  trap.control({"git", "status"});
  trap.everyVerb("worktree config");
}

TEST(GitHostileFiles, TheRemotesOwnConfiguration) {
  Trap trap;
  git(trap.remote(), {"config", "uploadpack.packObjectsHook", trap.script});
  git(trap.remote(), {"config", "include.path", "/etc/passwd"});
  trap.repo.broker.world.write(trap.remote() + "/hooks/update", World::read(trap.script), 0755);
  trap.repo.broker.world.write(trap.remote() + "/hooks/post-receive", World::read(trap.script), 0755);
  trap.everyVerb("the remote's configuration");
}

// Names in trees that would land in the git directory.
TEST(GitHostileFiles, TreesWithNamesOfTheGitDirectory) {
  for (const char* name : {".git", ".GIT", "git~1", ".git ", ".g\xe2\x80\x8cit"}) {
    Trap trap;
    const std::string blob = git(trap.repo.folder(), {"hash-object", "-w", "kept.txt"}).substr(0, 40);
    const std::string listing = "100755 blob " + blob + "\tpost-checkout\n";
    trap.repo.broker.world.write(trap.repo.broker.world.outside + "/inner", listing);
    const auto shell = [&](const std::string& line) {
      const std::string out = runIn(trap.repo.folder(), {"sh", "-c", line}).output;
      return out.substr(0, 40);
    };
    const std::string hooks = shell("git mktree < ../outside/inner");
    trap.repo.broker.world.write(trap.repo.broker.world.outside + "/middle",
                                 "040000 tree " + hooks + "\thooks\n");
    const std::string middle = shell("git mktree < ../outside/middle");
    trap.repo.broker.world.write(trap.repo.broker.world.outside + "/outer",
                                 "040000 tree " + middle + "\t" + name + "\n");
    const std::string outer = shell("git mktree < ../outside/outer");
    const std::string commit = shell("git commit-tree -m evil " + outer + " -p HEAD");
    git(trap.repo.folder(), {"update-ref", "refs/heads/evil", commit});
    git(trap.repo.folder(), {"checkout", "-q", "-f", "main"});
    GitWorker worker(trap.repo.broker, trap.repo.folder(), GitWorker::Access::WRITE);
    EXPECT_NE(worker.change([](Change c) { c.initCheckout().setBranch("evil"); }), "") << name;
    EXPECT_FALSE(World::exists(trap.repo.folder() + "/.git/hooks/post-checkout")) << name;
    EXPECT_FALSE(World::exists(trap.repo.folder() + "/" + name + "/hooks/post-checkout")) << name;
  }
}

// A submodule that wants to be entered.
TEST(GitHostileFiles, ASubmodulesRepositoryIsNotOpened) {
  Trap trap;
  const std::string sub = trap.repo.folder() + "/sub";
  git(trap.repo.folder(), {"init", "-q", "sub"});
  git(sub, {"commit", "-q", "--allow-empty", "-m", "x"});
  trap.repo.write(".gitmodules",
                  "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n[include]\n\tpath = /etc/passwd\n");
  runIn(trap.repo.folder(), {"git", "add", "sub"});
  git(sub, {"config", "core.fsmonitor", trap.script});
  trap.control({"git", "status"});
  trap.everyVerb("submodule");
}

// P7-like: a link that is swapped in while files are written and read lands nothing outside.
TEST(GitHostileFiles, ASwappedDirectoryTakesNothingOutside) {
  Repo repo;
  git(repo.folder(), {"checkout", "-q", "-b", "topic"});
  for (int i = 0; i < 50; ++i) repo.write("swap/file" + std::to_string(i), "content\n");
  repo.commit("topic");
  git(repo.folder(), {"checkout", "-q", "main"});
  const std::string outside = repo.broker.world.outside;
  const pid_t swapper = fork();
  if (swapper == 0) {
    const std::string swap = repo.folder() + "/swap";
    for (;;) {
      static_cast<void>(symlink(outside.c_str(), swap.c_str()));
      unlink(swap.c_str());
    }
  }
  GitWorker worker(repo.broker, repo.folder(), GitWorker::Access::WRITE);
  for (int i = 0; i < 20; ++i) {
    worker.change([](Change c) { c.initCheckout().setBranch("topic"); });
    worker.change([](Change c) { c.initCheckout().setBranch("main"); });
  }
  kill(swapper, SIGKILL);
  waitpid(swapper, nullptr, 0);
  EXPECT_TRUE(std::filesystem::is_empty(outside));
}

}  // namespace
}  // namespace factionos::test
