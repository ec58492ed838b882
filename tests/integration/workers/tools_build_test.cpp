// What projects are built and tested with works in the default profile: compilers, build systems, package
// managers without a network, version control.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "harness.h"
#include "tests/absent.h"

namespace factionos::test {
namespace {

class BuildTools : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, BuildTools, testing::Values(Story::kNamespaces, Story::kForbidden),
                         storyName);

#define NEEDS(program) \
  if (!hasProgram(program)) ABSENT(program)

// Every line of a script must succeed; the last says so.
std::string ending(const Result& result) {
  const std::size_t at = result.output.rfind("all-of-it-worked");
  return at == std::string::npos
             ? "code " + std::to_string(result.code) + ": " + result.denial + result.output
             : "ok";
}

CommandLine script(const std::string& lines, Story story) {
  return shell("set -e\n" + lines + "\necho all-of-it-worked\n", story);
}

TEST_P(BuildTools, Coreutils) {
  Broker broker;
  broker.world.write(broker.world.workspace + "/words", "pear\napple\nfig\napple\n");
  const Result result = broker.run(script(
      "mkdir -p a/b && cp words a/b/c && mv a/b/c a/d && ln a/d a/e && ln -s d a/f && touch a/g && rmdir "
      "a/b\n"
      "ls -laR . > listing && cat a/f | sort -u | tee sorted | wc -l | grep -qx 3\n"
      "head -n 1 words > h; tail -n 1 words > t; cmp -s h t || true; paste h t > p; cut -c1 words | tr a-z "
      "A-Z > u\n"
      "uniq -c sorted > /dev/null; join sorted sorted > j; comm -12 sorted sorted | diff - sorted\n"
      "dd if=/dev/zero of=zeros bs=1k count=4 2> /dev/null && truncate -s 2k zeros && split -b 512 zeros "
      "part-\n"
      "test $(ls part-* | wc -l) = 4 && stat -c %s zeros | grep -qx 2048 && du -s . > /dev/null && df . > "
      "/dev/null\n"
      "sha256sum words > sums && sha256sum -c --quiet sums && base64 words | base64 -d | cmp - words\n"
      "find . -name 'part-*' -print0 | xargs -0 rm && sed -i s/fig/kiwi/ words && awk '/kiwi/ {n++} END "
      "{exit !n}' words\n"
      "id -un > /dev/null || true; uname -a > /dev/null; nproc > /dev/null; date -u +%F > /dev/null; seq 3 | "
      "tac | nl > /dev/null\n"
      "timeout 5 sleep 0.01; nice -n 1 true; nohup true > /dev/null 2>&1; env -i /bin/true; printf '%s' x | "
      "od -c > /dev/null\n"
      "realpath a/f | grep -q d; readlink a/f | grep -qx d; basename /x/y; dirname /x/y; expr 1 + 1 > "
      "/dev/null\n"
      "chmod 640 a/g && install -m 755 words a/installed && shuf words > /dev/null && sync a/g && rm -r a",
      GetParam()));
  EXPECT_EQ(ending(result), "ok");
}

TEST_P(BuildTools, BashUsesAllItHas) {
  NEEDS("bash");
  Broker broker;
  broker.world.write(
      broker.world.workspace + "/all.bash",
      "set -euo pipefail\n"
      "declare -A map=([a]=1 [b]=2); list=(x y z); mapfile -t lines < <(printf '1\\n2\\n')\n"
      "[[ ${#lines[@]} = 2 && ${map[b]} = 2 && ${list[-1]} = z ]]\n"
      "coproc cat; echo through >&\"${COPROC[1]}\"; read -r back <&\"${COPROC[0]}\"; [[ $back = through ]]\n"
      "diff <(echo same) <(echo same); grep -q word <<< 'a word'; exec 7> out; echo seven >&7; exec 7>&-\n"
      "set -m; sleep 30 & kill %1; wait %1 || true; trap 'rm -f out' EXIT; [[ -s out ]]\n"
      "! read -r -t 0.01 nothing < <(sleep 1); ulimit -n > /dev/null; echo all-of-it-worked\n");
  EXPECT_EQ(ending(broker.run(argv({"bash", "all.bash"}, GetParam()))), "ok");
}

TEST_P(BuildTools, GitReads) {
  NEEDS("git");
  Broker broker;
  const std::string made =
      "cd '" + broker.world.workspace +
      "' && env -i PATH=/usr/bin:/bin HOME=/nonexistent GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e "
      "GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e sh -c 'git init -q . && echo one > file && git add "
      "file && git commit -qm first && echo two >> file && git commit -qam second && git tag t'";
  ASSERT_EQ(std::system(made.c_str()), 0);
  const Result result = broker.run(script(
      "export GIT_PAGER=cat\n"
      "git status --short && git log --oneline | grep -q second && git show --stat HEAD | grep -q file\n"
      "git diff HEAD~1 | grep -q '^+two' && git blame file | wc -l | grep -qx 2 && git grep -q two\n"
      "git branch -a > /dev/null && git describe --tags | grep -qx t && git ls-files | grep -qx file\n"
      "git cat-file -p HEAD^{tree} > /dev/null && git fsck 2> /dev/null && git archive HEAD | tar t | grep "
      "-qx file",
      GetParam()));
  EXPECT_EQ(ending(result), "ok");
}

TEST_P(BuildTools, PythonMakesAVirtualEnvironmentAndUsesIt) {
  if (access("/usr/bin/python3", X_OK) != 0) ABSENT("/usr/bin/python3");
  if (std::system("/usr/bin/python3 -c 'import ensurepip' 2> /dev/null") != 0) ABSENT("python3-venv");
  Broker broker;
  broker.world.write(
      broker.world.workspace + "/use.py",
      "import asyncio, multiprocessing.shared_memory, os, socket, sqlite3, subprocess, sys, tempfile, "
      "threading\n"
      "assert sys.prefix != sys.base_prefix\n"
      "a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'\n"
      "assert subprocess.check_output(['echo', 'x']) == b'x\\n'\n"
      "t = threading.Thread(target=lambda: None); t.start(); t.join()\n"
      "async def child(): return await (await asyncio.create_subprocess_exec('true')).wait()\n"
      "assert asyncio.run(child()) == 0\n"
      "with tempfile.TemporaryDirectory() as d: sqlite3.connect(d + '/db').execute('create table t (x)')\n"
      "lock = multiprocessing.Lock(); m = multiprocessing.shared_memory.SharedMemory(create=True, size=64)\n"
      "m.close(); m.unlink()\n");
  const Result result = broker.run(
      script("/usr/bin/python3 -m venv environment && . environment/bin/activate && python use.py\n"
             "pip --version > /dev/null && pip list > /dev/null && python -m compileall -q use.py",
             GetParam()));
  EXPECT_EQ(ending(result), "ok");
}

TEST_P(BuildTools, NpmTest) {
  NEEDS("node");
  NEEDS("npm");
  Broker broker;
  broker.world.write(broker.world.workspace + "/package.json",
                     R"({"name": "demo", "version": "1.0.0", "scripts": {"test": "node test.js"}})");
  broker.world.write(
      broker.world.workspace + "/test.js",
      "const {Worker} = require('worker_threads'), {execFileSync} = require('child_process');\n"
      "const assert = require('assert'), crypto = require('crypto');\n"
      "assert.equal(execFileSync('echo', ['x']).toString(), 'x\\n');\n"
      "crypto.pbkdf2('a', 'b', 1, 8, 'sha256', (error) => { assert(!error);\n"
      "  new Worker('require(\"worker_threads\").parentPort.postMessage(7)', {eval: true})\n"
      "    .on('message', (n) => { assert.equal(n, 7); console.log('tested'); }); });\n");
  EXPECT_EQ(ending(broker.run(script("npm test --silent | grep -qx tested", GetParam()))), "ok");
}

TEST_P(BuildTools, CargoBuildsOffline) {
  NEEDS("cargo");
  Broker broker;
  const std::string& root = broker.world.workspace;
  broker.world.write(root + "/Cargo.toml",
                     "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"
                     "[dependencies]\nmacros = { path = \"macros\" }\n");
  broker.world.write(root + "/build.rs",
                     "fn main() { println!(\"cargo:rustc-env=MADE=by-build-script\"); }\n");
  broker.world.write(
      root + "/src/main.rs",
      "fn main() { std::thread::spawn(|| println!(\"{}\", env!(\"MADE\"))).join().unwrap(); }\n"
      "#[test]\nfn seven() { assert_eq!(macros::seven!(), 7); }\n");
  // The compiler loads what it has just built.
  broker.world.write(
      root + "/macros/Cargo.toml",
      "[package]\nname = \"macros\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\nproc-macro = true\n");
  broker.world.write(
      root + "/macros/src/lib.rs",
      "use proc_macro::TokenStream;\n"
      "#[proc_macro]\npub fn seven(_: TokenStream) -> TokenStream { \"7\".parse().unwrap() }\n");
  const Result result =
      broker.run(script("cargo build --offline -q && ./target/debug/demo | grep -qx by-build-script && cargo "
                        "test --offline -q > /dev/null",
                        GetParam()));
  EXPECT_EQ(ending(result), "ok");
}

TEST_P(BuildTools, CmakeGccAndCtest) {
  NEEDS("cmake");
  NEEDS("ctest");
  NEEDS("gcc");
  NEEDS("make");
  Broker broker;
  const std::string& root = broker.world.workspace;
  broker.world.write(
      root + "/CMakeLists.txt",
      "cmake_minimum_required(VERSION 3.20)\nproject(demo C)\nenable_testing()\nfind_package(Threads "
      "REQUIRED)\n"
      "add_library(part SHARED part.c)\nadd_executable(demo demo.c)\ntarget_link_libraries(demo part "
      "Threads::Threads)\nadd_test(NAME demo COMMAND demo)\nadd_test(NAME again COMMAND demo)\n");
  broker.world.write(root + "/part.c", "int part(void) { return 7; }\n");
  broker.world.write(
      root + "/demo.c",
      "#include <pthread.h>\nint part(void);\nstatic void* work(void* n) { *(int*)n = part(); return 0; }\n"
      "int main(void) { int n = 0; pthread_t t; pthread_create(&t, 0, work, &n); pthread_join(t, 0); return "
      "n != 7; }\n");
  const Result result = broker.run(
      script("cmake -S . -B out -G 'Unix Makefiles' > /dev/null && cmake --build out -j 2 > /dev/null\n"
             "ctest --test-dir out -j 2 > /dev/null && gcc -shared -fPIC -flto -o lib.so part.c && gcc -O2 "
             "-pipe -o d demo.c ./lib.so\n"
             "LD_LIBRARY_PATH=. ./d",
             GetParam()));
  EXPECT_EQ(ending(result), "ok");
}

// A debugger works on what the command starts. On anything else it is refused, and says why.
TEST_P(BuildTools, ADebuggerIsRefusedWhatIsNotItsOwnWithAReason) {
  NEEDS("gdb");
  NEEDS("gcc");
  Broker broker;
  broker.world.write(broker.world.workspace + "/main.c",
                     "int here(void) { return 3; }\nint main(void) { return here(); }\n");
  const Result own = broker.run(
      shell("gcc -g -o main main.c && gdb -nx -batch -ex 'break here' -ex run -ex backtrace ./main 2>&1",
            GetParam()));
  EXPECT_NE(own.output.find("#1"), std::string::npos) << own.output;
  const std::string other = std::to_string(getpid());
  const Result refused = broker.run(argv({"gdb", "-nx", "-batch", "-p", other}, GetParam()));
  // With a pid namespace there is no process of that number; without, the kernel says that it may not.
  EXPECT_NE(
      refused.output.find(GetParam() == Story::kNamespaces ? "No such process" : "Operation not permitted"),
      std::string::npos)
      << refused.output;
  EXPECT_EQ(refused.output.find("Attaching to process " + other + "\r\n[New"), std::string::npos);
}

}  // namespace
}  // namespace factionos::test
