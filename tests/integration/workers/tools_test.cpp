// Ordinary tools work in the default profile.
#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

#include "harness.h"

namespace factionos::test {
namespace {

class Tools : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, Tools, testing::Values(Story::kNamespaces, Story::kForbidden), storyName);

TEST_P(Tools, P46_PythonsProcessPool) {
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Broker broker;
  broker.world.write(broker.world.workspace + "/pool.py",
                     "from concurrent.futures import ProcessPoolExecutor\n"
                     "import multiprocessing\n"
                     "def square(n): return n * n\n"
                     "if __name__ == '__main__':\n"
                     "  with multiprocessing.Pool(3) as pool: print(sum(pool.map(square, range(10))))\n"
                     "  with ProcessPoolExecutor(2) as pool: print(list(pool.map(square, range(4))))\n");
  const Result result = broker.run(argv({"/usr/bin/python3", "pool.py"}, GetParam()));
  EXPECT_EQ(result.output, "285\r\n[0, 1, 4, 9]\r\n");
}

TEST_P(Tools, P46_HeredocMktempAndDevices) {
  Broker broker;
  const Result result =
      broker.run(shell("cat <<EOF\nheredoc\nEOF\n"
                       "f=$(mktemp) && d=$(mktemp -d) && echo temp > $f && cat $f && [ -d $d ] && echo dir\n"
                       "echo gone > /dev/null && head -c 3 /dev/zero | od -An -tx1\n"
                       "[ $(head -c 8 /dev/urandom | wc -c) = 8 ] && echo random\n"
                       "echo full 2>/dev/null > /dev/full || echo enospc\n",
                       GetParam()));
  EXPECT_EQ(result.output, "heredoc\r\ntemp\r\ndir\r\n 00 00 00\r\nrandom\r\nenospc\r\n");
}

TEST_P(Tools, P46_BashProcessSubstitution) {
  if (access("/bin/bash", X_OK) != 0 && lacks("bash")) GTEST_SKIP();
  Broker broker;
  const Result result =
      broker.run(argv({"bash", "-c", "paste <(echo a) <(echo b); sleep 0 & wait; cat <<< here"}, GetParam()));
  EXPECT_EQ(result.output, "a\tb\r\nhere\r\n");
}

TEST_P(Tools, P46_GitReadsAndWritesItsRepository) {
  if (access("/usr/bin/git", X_OK) != 0 && lacks("git")) GTEST_SKIP();
  Broker broker;
  const std::string init =
      "cd '" + broker.world.workspace + "' && env -i HOME=/nonexistent git init -q . && touch file";
  ASSERT_EQ(std::system(init.c_str()), 0);
  const Result result = broker.run(
      shell("git status --porcelain && git add file && git -c user.name=n -c user.email=e commit -qm one && "
            "git --no-pager log --format=%s && git gc -q && git status --porcelain && echo clean",
            GetParam()));
  EXPECT_EQ(result.output, "?? file\r\none\r\nclean\r\n");
}

TEST_P(Tools, GitMovesBetweenDirectories) {
  if (access("/usr/bin/git", X_OK) != 0 && lacks("git")) GTEST_SKIP();
  Broker broker;
  const std::string init =
      "cd '" + broker.world.workspace +
      "' && env -i HOME=/nonexistent git init -q . && mkdir a b && touch a/file && git add a";
  ASSERT_EQ(std::system(init.c_str()), 0);
  EXPECT_EQ(broker.run(shell("git mv a/file b/file && git ls-files", GetParam())).output, "b/file\r\n");
}

TEST_P(Tools, ArchivesAndCopiesKeepWhatTheyMay) {
  Broker broker;
  const Result result = broker.run(
      shell("mkdir a && echo x > a/file && chmod 751 a/file && ln a/file a/again && ln -s file a/link && "
            "tar cf a.tar a && mkdir b && tar xpf a.tar -C b && cp -a a c && mv c b/c && "
            "stat -c %a b/a/file b/c/file && stat -c %h b/a/again",
            GetParam()));
  EXPECT_EQ(result.output, "751\r\n751\r\n2\r\n");
}

TEST_P(Tools, NodeRuns) {
  if (access("/usr/bin/node", X_OK) != 0 && lacks("node")) GTEST_SKIP();
  Broker broker;
  const Result result = broker.run(
      argv({"/usr/bin/node", "-e",
            "const fs = require('fs'); fs.mkdirSync('a'); fs.mkdirSync('b'); fs.writeFileSync('a/x', 'x');"
            "fs.renameSync('a/x', 'b/x'); fs.copyFileSync('b/x', 'a/y'); console.log(fs.readFileSync('a/y', "
            "'utf8'))"},
           GetParam()));
  EXPECT_EQ(result.output, "x\r\n");
}

TEST_P(Tools, P46_MakeBuildsWithACompiler) {
  if ((access("/usr/bin/make", X_OK) != 0 || access("/usr/bin/cc", X_OK) != 0) && lacks("make and cc"))
    GTEST_SKIP();
  Broker broker;
  broker.world.write(broker.world.workspace + "/main.c",
                     "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n");
  broker.world.write(broker.world.workspace + "/Makefile", "main: main.c\n\t@cc -o main main.c\n");
  EXPECT_EQ(broker.run(shell("make -s -j2 && ./main", GetParam())).output, "built\r\n");
}

TEST_P(Tools, P46_TheLanguageOfTheUserIsTheCommands) {
  setenv("LC_ALL", "C.UTF-8", 1);
  Broker broker;
  const Result result =
      broker.run(shell("locale charmap; echo $LC_ALL; tput cols 2>/dev/null || echo 80", GetParam()));
  unsetenv("LC_ALL");
  EXPECT_EQ(result.output, "UTF-8\r\nC.UTF-8\r\n80\r\n");
}

TEST_P(Tools, NamesAndIdsAreTheUsersOwn) {
  Broker broker;
  const Result result =
      broker.run(shell("id -u; id -ru; [ -r /etc/passwd ] && ls / > /dev/null; echo $?", GetParam()));
  const std::string user = std::to_string(getuid());
  EXPECT_TRUE(result.output.starts_with(user + "\r\n" + user + "\r\n")) << result.output;
}

TEST_P(Tools, ADebuggerTracesItsOwnChild) {
  if (access("/usr/bin/strace", X_OK) != 0 && lacks("strace")) GTEST_SKIP();
  Broker broker;
  const Result result = broker.run(argv({"strace", "-qq", "-e", "trace=exit_group", "true"}, GetParam()));
  EXPECT_NE(result.output.find("exit_group(0)"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace factionos::test
