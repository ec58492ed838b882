// Protected names that are not there yet, and those that no mount keeps: each act is tried inside of the real
// profile, in both kernel stories, and one like it on a name beside it as the control.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "box.h"

namespace factionos::test {
namespace {

class ProtectedNames : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, ProtectedNames, testing::Values(Story::kNamespaces, Story::kForbidden),
                         storyName);

bool has(const std::vector<std::string>& labels, const std::string& label) {
  return std::ranges::find(labels, label) != labels.end();
}

TEST_P(ProtectedNames, P1_NoSettingsOfAnAgentComeToBe) {
  Box box(GetParam());
  const Result result = box.broker.run(
      shell("mkdir .claude; mkdir -p .claude/x; echo '{}' > .claude/settings.json", GetParam()));
  EXPECT_TRUE(has(result.posture, "protected_paths:whole"));
  for (const char* name : {".claude",
                           ".codex",
                           ".cursor",
                           ".gemini",
                           ".windsurf",
                           ".continue",
                           ".mcp.json",
                           ".vscode",
                           ".idea",
                           ".devcontainer",
                           ".devcontainer.json",
                           ".envrc",
                           ".aider.conf.yml",
                           ".kiro",
                           ".opencode",
                           "opencode.json",
                           "opencode.jsonc",
                           ".roo",
                           ".amazonq",
                           ".qwen",
                           ".crush.json",
                           "crush.json",
                           ".zed",
                           ".fleet",
                           ".exrc",
                           ".nvimrc",
                           ".nvim.lua"}) {
    EXPECT_EQ(box.inside({"mkdir", name}), "EACCES") << name;
    EXPECT_EQ(box.inside({"write", name}), "EACCES") << name;
    EXPECT_FALSE(World::exists(inWorkspace(box, name))) << name;
  }
  EXPECT_EQ(box.inside({"mkdir", ".claude2"}), "ok");
  EXPECT_EQ(box.inside({"mkdir", ".claude2/.claude"}), "ok") << "it is about the workspace's own";
}

// git writes its own files through them: a message into settings, a log into whatever they lead to.
TEST_P(ProtectedNames, NoLinkComesIntoARepository) {
  Box box(GetParam());
  git(box, "init -q");
  std::filesystem::create_directories(inWorkspace(box, "sub/.git"));
  std::filesystem::create_directory(inWorkspace(box, "tree"));
  box.world().write(inWorkspace(box, "plain"), "x");
  ASSERT_EQ(symlink("config", inWorkspace(box, "tree/COMMIT_EDITMSG").c_str()), 0);
  ASSERT_EQ(symlink("config", inWorkspace(box, "link").c_str()), 0);
  EXPECT_EQ(box.inside({"symlink", "config", ".git/COMMIT_EDITMSG"}), "EACCES");
  EXPECT_EQ(box.inside({"symlink", "config", "sub/.git/FETCH_HEAD"}), "EACCES");
  EXPECT_EQ(box.inside({"rename", "link", ".git/COMMIT_EDITMSG"}), "EACCES");
  EXPECT_EQ(box.inside({"rename", "tree", ".git/tree"}), "EACCES");
  EXPECT_EQ(box.inside({"link", "link", ".git/COMMIT_EDITMSG"}), "EACCES");
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git/COMMIT_EDITMSG")));
  EXPECT_EQ(box.inside({"rename", "plain", ".git/plain"}), box.namespaces() ? "EXDEV" : "ok");
  EXPECT_EQ(box.inside({"mkdir", ".git/own"}), "ok");
  EXPECT_EQ(box.inside({"rename", ".git/own", ".git/other"}), "ok") << "what is git's moves as git likes";
  EXPECT_EQ(box.inside({"symlink", "config", "tree/.github"}), "ok");
}

TEST_P(ProtectedNames, NoWayOfMakingANameLeadsToOne) {
  Box box(GetParam());
  box.world().write(inWorkspace(box, "file"), "x");
  box.world().write(inWorkspace(box, "tree/settings.json"), "{}");
  const auto refused = [&box](Words words, const std::string& name) {
    Words control = words;
    control.back() += "-" + words.front();
    EXPECT_EQ(box.inside(words), "EACCES") << words.front() << " " << name;
    EXPECT_FALSE(World::exists(inWorkspace(box, name))) << words.front();
    EXPECT_EQ(box.inside(control), "ok") << control.front();
  };
  refused({"symlink", "tree", ".claude"}, ".claude");
  refused({"link", "file", ".mcp.json"}, ".mcp.json");
  refused({"mkfifo", ".envrc"}, ".envrc");
  refused({"rename", "tree", ".claude"}, ".claude");
  EXPECT_EQ(box.inside({"make-creat", ".envrc", "0600"}), "EACCES");
  EXPECT_EQ(box.inside({"make-mknod", ".envrc", "0600"}), "EACCES");
  EXPECT_EQ(box.inside({"write", box.world().workspace + "/./x/../.envrc"}), "ENOENT");
  EXPECT_EQ(box.inside({"write", box.world().workspace + "/tree/../.envrc"}), "ENOENT")
      << "tree was the control";
  EXPECT_EQ(box.inside({"write", box.world().workspace + "//.envrc"}), "EACCES");
  EXPECT_EQ(box.inside({"write", "/proc/self/cwd/.envrc"}), "EACCES");
  EXPECT_EQ(box.inside({"symlink", box.world().workspace + "/.envrc", "dangling"}), "ok");
  EXPECT_EQ(box.inside({"write", "dangling"}), "EACCES") << "O_CREAT makes what a dangling link names";
  EXPECT_FALSE(World::exists(inWorkspace(box, ".envrc")));
  if (box.namespaces()) {
    EXPECT_EQ(box.inside({"bind", ".envrc"}), "EACCES");
    EXPECT_EQ(box.inside({"bind", "socket"}), "ok");
    EXPECT_FALSE(World::exists(inWorkspace(box, ".envrc")));
  }
}

TEST_P(ProtectedNames, P2_NoHookComesToBe) {
  if (access("/usr/bin/git", X_OK) != 0 && lacks("git")) GTEST_SKIP();
  Box box(GetParam());
  git(box, "init -q");
  std::filesystem::remove_all(inWorkspace(box, ".git/hooks"));
  const Result result = box.broker.run(shell(
      "mkdir .git/hooks; printf '#!/bin/sh\\ntouch executed\\n' > .git/hooks/pre-commit; mkdir h && printf "
      "'#!/bin/sh\\ntouch executed\\n' > h/pre-commit && chmod +x h/pre-commit; mv h .git/hooks; ln -s ../h "
      ".git/hooks; echo '[core] hooksPath=h' >> .git/config; echo x > .git/config.worktree; echo . > "
      ".git/commondir; echo done",
      GetParam()));
  EXPECT_NE(result.output.find("done"), std::string::npos);
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git/hooks")));
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git/commondir")));
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git/config.worktree")));
  git(box, "add probe");
  EXPECT_EQ(git(box, "commit -q -m x"), "");
  EXPECT_FALSE(World::exists(inWorkspace(box, "executed")));
  EXPECT_EQ(World::read(inWorkspace(box, ".git/config")).find("hooksPath"), std::string::npos);
}

TEST_P(ProtectedNames, P4_HooksThatConfigurationNamesDoNotComeToBe) {
  Box box(GetParam());
  box.world().write(inWorkspace(box, ".git/config"),
                    "[core]\n\thooksPath = tools/githooks\n[include]\n\tpath = more\n");
  box.world().write(inWorkspace(box, "prepared/githooks/pre-commit"), "x");
  EXPECT_EQ(box.inside({"mkdir", "tools"}), "ok") << "an empty directory on the way harms nobody";
  EXPECT_EQ(box.inside({"mkdir", "tools/githooks"}), "EACCES");
  EXPECT_EQ(box.inside({"symlink", "prepared/githooks", "tools/githooks"}), "EACCES");
  EXPECT_EQ(box.inside({"rename", "tools", "tools2"}), "EACCES");
  EXPECT_EQ(box.inside({"rename", "prepared", "tools"}), "EACCES");
  EXPECT_EQ(box.inside({"write", ".git/more"}), "EACCES");
  EXPECT_FALSE(World::exists(inWorkspace(box, "tools/githooks")));
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git/more")));
  EXPECT_EQ(box.inside({"write", "tools/other"}), "ok");
}

TEST_P(ProtectedNames, P4_HooksBesideThoseThatExecuteThemDoNotComeToBe) {
  Box box(GetParam());
  box.world().write(inWorkspace(box, ".git/config"), "[core]\n\thooksPath = .husky/_\n");
  box.world().write(inWorkspace(box, ".husky/_/pre-commit"), "x");
  EXPECT_NE(box.inside({"write", ".husky/pre-commit"}), "ok");
  EXPECT_FALSE(World::exists(inWorkspace(box, ".husky/pre-commit")));
  EXPECT_EQ(box.inside({"write", "husky"}), "ok");
}

// A branch may be called config: what was written so is not moved to where git reads it as settings.
TEST_P(ProtectedNames, P2_NoRepositoryOfASubmoduleIsBrought) {
  Box box(GetParam());
  box.world().write(inWorkspace(box, ".git/config"), "[core]\n");
  box.world().write(inWorkspace(box, ".git/modules/a/config"), "[core]\n");
  box.world().write(inWorkspace(box, "tree/config"), "[core]\n");
  const std::string area = inWorkspace(box, ".git/modules/");
  const Result result = box.broker.run(
      shell("cd .git/modules && mkdir -p a/refs/x && echo evil > a/refs/x/config && echo written; "
            "rename() { python3 -c 'import os, sys; os.rename(sys.argv[1], sys.argv[2])' $1 $2; }; "
            "rename a/refs/x a/refs/y && echo within; rename a/refs/y b; rename a/refs/y a/modules; "
            "ln -s ../../tree c; mkdir d && rename d e && echo empty",
            GetParam()));
  for (const char* const word : {"written", "within", "empty"})
    EXPECT_NE(result.output.find(word), std::string::npos) << word << "\n" << result.output;
  for (const char* const name : {"b", "a/modules", "c"}) EXPECT_FALSE(World::exists(area + name)) << name;
  EXPECT_EQ(box.inside({"exchange", "tree", ".git/modules/e"}), "EACCES");
  EXPECT_EQ(box.inside({"exchange", ".git/modules/e", "tree"}), "EACCES") << "it comes to either place";
  EXPECT_FALSE(World::exists(area + "e/config"));
}

TEST_P(ProtectedNames, P10_TheRepositoryStaysWhereItIs) {
  Box box(GetParam());
  box.world().write(inWorkspace(box, ".git/config"), "[core]\n");
  box.world().write(inWorkspace(box, ".git/index"), "index");
  const Result result =
      box.broker.run(shell("mv .git .git2 && mkdir -p .git/hooks && echo moved", GetParam()));
  EXPECT_EQ(result.output.find("moved"), std::string::npos);
  EXPECT_TRUE(World::exists(inWorkspace(box, ".git/index")));
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git2")));
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git/hooks")));
  EXPECT_EQ(box.inside({"write", ".git/index"}), "ok");
  EXPECT_EQ(box.inside({"rename", ".git/index", ".git/index2"}), "ok");
}

TEST_P(ProtectedNames, WhereNoRepositoryIsNoneComesToBe) {
  Box box(GetParam());
  box.world().write(inWorkspace(box, "made/config"), "[core]\n");
  EXPECT_EQ(box.inside({"mkdir", ".git"}), "EACCES");
  EXPECT_EQ(box.inside({"write", ".git"}), "EACCES");
  EXPECT_EQ(box.inside({"rename", "made", ".git"}), "EACCES");
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git")));
  if (access("/usr/bin/git", X_OK) != 0) return;
  EXPECT_EQ(box.broker.run(shell("git init -q sub && test -f sub/.git/config", GetParam())).code, 0)
      << "a repository that a command makes in a folder is its own";
  EXPECT_NE(box.broker.run(shell("git init -q .", GetParam())).code, 0);
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git")));
}

// By an open file's own name in /proc it is that file.
TEST_P(ProtectedNames, WhatIsThereIsNotChangedByItsDescriptor) {
  Box box(GetParam());
  const std::string config = inWorkspace(box, ".git/config");
  box.world().write(config, "[core]\n");
  box.world().write(inWorkspace(box, "mine"), "x");
  const auto act = [&box](const std::string& file, const std::string& call) {
    box.broker.run(shell("exec 3< " + file + "; python3 -c 'import os; " + call + "'", GetParam()));
  };
  const auto linkTo = [](const std::string& name) {
    return "os.link(\"/proc/self/fd/3\", \"" + name + "\", src_dir_fd=os.open(\".\", 0))";
  };
  const std::string truncate = "os.truncate(\"/proc/self/fd/3\", 0)";
  act("mine", linkTo("link"));
  act("mine", truncate);
  EXPECT_TRUE(World::exists(inWorkspace(box, "link")));
  EXPECT_EQ(World::read(inWorkspace(box, "mine")), "");
  act(".git/config", linkTo("alias"));
  act(".git/config", truncate);
  EXPECT_FALSE(World::exists(inWorkspace(box, "alias")));
  EXPECT_EQ(World::read(config), "[core]\n");
}

// Without a mount nobody but the gofer keeps what is there.
TEST_P(ProtectedNames, WhatIsThereIsNotChanged) {
  Box box(GetParam());
  const std::string config = inWorkspace(box, ".git/config");
  box.world().write(config, "[core]\n");
  box.world().write(inWorkspace(box, ".git/hooks/run"), "x");
  box.world().write(inWorkspace(box, ".claude/settings.json"), "{}");
  box.world().write(inWorkspace(box, "mine"), "x");
  for (const Words& act : {Words{"write", ".git/config"},
                           {"truncate", ".git/config"},
                           {"unlink", ".git/config"},
                           {"rename", ".git/config", ".git/old"},
                           {"rename", "mine", ".git/config"},
                           {"exchange", "mine", ".git/config"},
                           {"link", ".git/config", "alias"},
                           {"write", ".claude/settings.json"},
                           {"rename", ".claude", "claude"},
                           {"unlink", ".git/hooks/run"},
                           {"link", ".git/hooks/run", "alias"},
                           {"symlink", "mine", ".git/hooks/new"}}) {
    const std::string answer = box.inside(act);
    EXPECT_TRUE(answer == "EACCES" || answer == "EROFS" || answer == "EBUSY" || answer == "EXDEV")
        << act.front() << " " << act[1] << ": " << answer;
  }
  EXPECT_EQ(
      box.broker.run(shell("exec 3< .git/config; echo x > /proc/self/fd/3; echo x > /dev/fd/3", GetParam()))
          .code,
      0 + 2);
  EXPECT_EQ(World::read(config), "[core]\n");
  EXPECT_EQ(World::read(inWorkspace(box, ".claude/settings.json")), "{}");
  EXPECT_FALSE(World::exists(inWorkspace(box, "alias")));
  EXPECT_EQ(box.inside({"read", ".git/config"}), "ok");
}

TEST_P(ProtectedNames, SettingsOfSubmodulesAndWorkTreesDoNotComeToBe) {
  Box box(GetParam());
  box.world().write(inWorkspace(box, ".git/config"), "[core]\n");
  box.world().write(inWorkspace(box, ".git/modules/lib/HEAD"), "x");
  box.world().write(inWorkspace(box, "tree/hooks/x"), "x");
  EXPECT_EQ(box.inside({"write", ".git/modules/lib/config"}), "EACCES");
  EXPECT_EQ(box.inside({"mkdir", ".git/modules/lib/hooks"}), "EACCES");
  EXPECT_EQ(box.inside({"mkdir", ".git/modules/new"}), "ok");
  EXPECT_EQ(box.inside({"write", ".git/modules/new/config.worktree"}), "EACCES");
  EXPECT_EQ(box.inside({"rename", "tree", ".git/modules/other"}), "EACCES");
  EXPECT_EQ(box.inside({"rename", "tree", ".git/worktrees"}), "EACCES");
  EXPECT_EQ(box.inside({"write", ".git/modules/lib/index"}), "ok");
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git/modules/lib/hooks")));
}

// A submodule or a work tree may be called as a part of a repository is.
TEST_P(ProtectedNames, SettingsOfASubmoduleAreKeptWhateverItIsCalled) {
  Box box(GetParam());
  box.world().write(inWorkspace(box, ".git/config"), "[core]\n");
  for (const char* const name : {".git/modules/logs", ".git/modules/deep/refs", ".git/worktrees/info"}) {
    const std::string own = name;
    box.world().write(inWorkspace(box, own + "/HEAD"), "ref: refs/heads/main\n");
    box.world().write(inWorkspace(box, own + "/config"), "[core]\n");
    box.world().write(inWorkspace(box, own + "/commondir"), "../..\n");
    EXPECT_NE(box.inside({"write", own + "/config"}), "ok") << own;
    EXPECT_EQ(box.inside({"mkdir", own + "/hooks"}), "EACCES") << own;
    EXPECT_EQ(box.inside({"write", own + "/config.worktree"}), "EACCES") << own;
    EXPECT_EQ(box.inside({"write", own + "/index"}), "ok") << own;
    EXPECT_EQ(World::read(inWorkspace(box, own + "/config")), "[core]\n") << own;
  }
}

TEST_P(ProtectedNames, NoPartOfARepositoryIsMovedToWhereItsSettingsAreRead) {
  Box box(GetParam());
  box.world().write(inWorkspace(box, ".git/config"), "[core]\n");
  const Result result = box.broker.run(
      shell("mkdir -p .git/worktrees/a/refs/x && echo evil > .git/worktrees/a/refs/config && echo written; "
            "python3 -c 'import os; os.rename(\".git/worktrees/a\", \".git/modules\")'",
            GetParam()));
  EXPECT_NE(result.output.find("written"), std::string::npos) << result.output;
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git/modules")));
}

// git takes a directory with HEAD, objects and refs for a repository where it accepts no .git.
TEST_P(ProtectedNames, TheWorkspaceItselfBecomesNoRepository) {
  Box box(GetParam());
  box.world().write(inWorkspace(box, "other"), "x");
  box.world().write(inWorkspace(box, "objects/x"), "x");
  EXPECT_EQ(box.inside({"write", "HEAD"}), "EACCES");
  EXPECT_EQ(box.inside({"rename", "other", "HEAD"}), "EACCES");
  EXPECT_EQ(box.inside({"write", "config"}), "ok") << "of no repository";
  box.world().write(inWorkspace(box, "HEAD"), "x");
  EXPECT_EQ(box.inside({"mkdir", "refs"}), "EACCES");
  EXPECT_EQ(box.inside({"write", "HEAD"}), "ok");
  box.world().write(inWorkspace(box, "refs/x"), "x");
  EXPECT_NE(box.inside({"write", "config"}), "ok") << "it is one, and has settings";
  EXPECT_EQ(box.inside({"mkdir", "hooks"}), "EACCES");
  EXPECT_EQ(box.inside({"write", "index"}), "ok");
}

TEST_P(ProtectedNames, P11_NothingIsLeftBehindWhateverDies) {
  if (access("/usr/bin/git", X_OK) != 0 && lacks("git")) GTEST_SKIP();
  Box box(GetParam());
  git(box, "init -q");
  git(box, "add probe");
  git(box, "commit -q -m x");
  const auto running = box.broker.start(shell("mkdir .claude; echo ready; sleep 1000", GetParam()));
  running->expectOutput("ready");
  EXPECT_EQ(git(box, "status --porcelain"), "");
  for (const pid_t pid : descendants()) {
    if (nameOf(pid) == "session" || nameOf(pid) == "gofer") kill(pid, SIGKILL);
  }
  for (int i = 0;
       i < 500 && std::ranges::any_of(descendants(), [](pid_t pid) { return nameOf(pid) == "sleep"; }); ++i)
    usleep(10'000);
  EXPECT_EQ(git(box, "status --porcelain"), "");
  EXPECT_EQ(git(box, "status --porcelain --ignored"), "");
}

TEST_P(ProtectedNames, NoRaceMakesOne) {
  Box box(GetParam());
  box.world().write(inWorkspace(box, ".git/config"), "[core]\n");
  // Ten thousand of each; one run of them all would take longer than a test waits on a busy machine.
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(box.inside({"race-on-text", ".envrc", "1000"}), "ok");
    EXPECT_EQ(box.inside({"race-on-link", ".git/hooks", "1000"}), "ok");
  }
  EXPECT_FALSE(World::exists(inWorkspace(box, ".envrc")));
  EXPECT_FALSE(World::exists(inWorkspace(box, ".git/hooks")));
  EXPECT_EQ(Box::control({"race-on-text", inWorkspace(box, ".envrc"), "10000"}), "EEXIST");
}

// What makes one call wait keeps no other waiting. (A lease that nobody gives up lasts 45 seconds.)
TEST_P(ProtectedNames, ALeaseHoldsUpNobodyElse) {
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Box box(GetParam());
  box.world().write(inWorkspace(box, "leased"), "content");
  const Result result = box.broker.run(
      shell("python3 -c 'import fcntl, os, signal, time\n"
            "signal.signal(signal.SIGIO, signal.SIG_IGN)\n"
            "held = os.open(\"leased\", os.O_RDONLY)\n"
            "fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_RDLCK)\n"
            "child = os.fork()\n"
            "if child == 0: os.truncate(\"leased\", 1); os._exit(0)\n"
            "time.sleep(0.2)\n"
            "before = time.monotonic()\n"
            "os.mkdir(\"another\")\n"
            "print(\"held up\" if time.monotonic() - before > 20 else \"served\", flush=True)\n"
            "fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_UNLCK)\n"
            "os.waitpid(child, 0)\n"
            "print(os.stat(\"leased\").st_size)'",
            GetParam()));
  EXPECT_NE(result.output.find("served"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("\n1"), std::string::npos) << result.output;
}

TEST_P(ProtectedNames, TheGofersOwnFilesAreNobodysToOpen) {
  Box box(GetParam());
  const Result result = box.broker.run(
      shell("for p in /proc/[0-9]*; do read -r c < $p/comm; [ \"$c\" = gofer ] || continue; for f in 0 1 3 4 "
            "5 6 7 8 9 10 11 12; do "
            "if (echo x >> $p/fd/$f) 2> /dev/null; then echo \"taken $f\"; fi; done; echo looked; done",
            GetParam()));
  EXPECT_NE(result.output.find("looked"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("taken"), std::string::npos) << result.output;
}

// The kernel lets a process see of itself what it lets nobody else see: an open that may make a file is the
// gofer's.
TEST_P(ProtectedNames, WhatTheGoferMaySeeOfItselfIsNobodysToSee) {
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Box box(GetParam());
  const Result result = box.broker.run(
      shell("python3 -c 'import os\n"
            "gofer = os.getppid()\n"
            "while open(f\"/proc/{gofer}/comm\").read() != \"gofer\\n\":\n"
            "  gofer = int(open(f\"/proc/{gofer}/stat\").read().rsplit(\")\", 1)[1].split()[1])\n"
            "for name in (\"maps\", \"smaps\", f\"task/{gofer}/maps\", \"fdinfo/0\"):\n"
            "  try: os.open(f\"/proc/{gofer}/{name}\", os.O_RDONLY | os.O_CREAT); print(\"seen\", name)\n"
            "  except OSError: print(\"refused\")\n"
            "os.open(\"/proc/self/maps\", os.O_RDONLY | os.O_CREAT); print(\"own\")'",
            GetParam()));
  EXPECT_NE(result.output.find("refused"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("own"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("seen"), std::string::npos) << result.output;
}

// Who waits for a FIFO's reader waits for that FIFO, and makes no file in its place.
TEST_P(ProtectedNames, AFifoThatGoesIsStillWaitedFor) {
  Box box(GetParam());
  // The gofer carries out one call after the other: when it has made a directory, it has seen the open.
  const std::string opens = "until grep -q '^" + std::to_string(SYS_openat) +
                            " ' /proc/$!/syscall; do sleep 0.01; done; mkdir made; rmdir made; ";
  const Result result = box.broker.run(shell("mkfifo f h; (echo x > f; echo told) & " + opens +
                                                 "mv f g; cat g; wait; (echo x > h) & " + opens +
                                                 "rm h; sleep 0.1; kill $!; echo end",
                                             GetParam()));
  EXPECT_NE(result.output.find("x\r\n"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("told"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("end"), std::string::npos) << result.output;
  EXPECT_FALSE(World::exists(inWorkspace(box, "h")));
}

}  // namespace
}  // namespace factionos::test
