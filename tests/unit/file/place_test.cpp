// Where paths lead (P7, P67): never out, whatever they are made of.
#include "workers/file/place.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "tests/unit/file/workspace.h"
#include "workers/file/protected.h"
#include "workers/file/reading.h"

namespace factionos::file::test {
namespace {

TEST(PlainPath, IsRelativeAndHasPlainComponentsAlone) {
  for (const char* path : {"a", "a/b", ".hidden", "a/..b", "...", "-x", "a b/\n\x1b[2J"})
    EXPECT_TRUE(isPlainPath(path)) << path;
  for (const char* path : {"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "./a"})
    EXPECT_FALSE(isPlainPath(path)) << path;
  EXPECT_FALSE(isPlainPath(std::string("a\0b", 3)));
  EXPECT_FALSE(isPlainPath(std::string(256, 'x')));
  EXPECT_TRUE(isPlainPath(std::string(255, 'x')));
  std::string deep = "d";
  for (int i = 0; i < 200; ++i) deep += "/d";
  EXPECT_FALSE(isPlainPath(deep));
}

TEST(Place, P7NoLinkIsOnTheWayOfAChange) {
  Workspace work;
  Workspace::put(work.path("real/file"), "in");
  std::filesystem::create_directory_symlink("real", work.path("inner"));
  std::filesystem::create_directory_symlink(work.outside(), work.path("outer"));
  EXPECT_EQ(codeOf(placeOf(work.fd(), "inner/file")), "path_outside");
  EXPECT_EQ(codeOf(placeOf(work.fd(), "outer/file")), "path_outside");
  EXPECT_EQ(codeOf(placeOf(work.fd(), "real/file")), "");
  EXPECT_EQ(codeOf(placeOf(work.fd(), "real/file/deeper")), "not_directory");
  EXPECT_EQ(codeOf(placeOf(work.fd(), "missing/file")), "not_found");
}

TEST(Place, P67ReadingFollowsLinksThatStayAndNoneThatLeave) {
  Workspace work;
  Workspace::put(work.path("real/deep/file"), "in");
  Workspace::put(work.outside("secret"), "out");
  std::filesystem::create_directory_symlink("real/deep", work.path("inner"));
  std::filesystem::create_symlink("../real/deep/file", work.path("real/up"));
  std::filesystem::create_symlink("../outside/secret", work.path("leave"));
  std::filesystem::create_symlink(work.outside("secret"), work.path("absolute"));
  std::filesystem::create_symlink(work.path("real/deep/file"), work.path("absoluteInside"));
  std::filesystem::create_symlink("loop", work.path("loop"));
  std::filesystem::create_directory_symlink("..", work.path("parent"));
  const auto content = [&](const char* path) {
    const auto piece = readPiece(work.fd(), path, 0, 100);
    return deniedIn(piece) != nullptr ? codeOf(piece) : std::get<Piece>(piece).content;
  };
  EXPECT_EQ(content("real/deep/file"), "in");
  EXPECT_EQ(content("inner/file"), "in");
  EXPECT_EQ(content("real/up"), "in");
  EXPECT_EQ(content("leave"), "path_outside");
  EXPECT_EQ(content("absolute"), "path_outside");
  EXPECT_EQ(content("absoluteInside"), "path_outside");
  EXPECT_EQ(content("loop"), "path_outside");
  EXPECT_EQ(content("parent/outside/secret"), "path_outside");
}

TEST(Place, SpecialFilesAreLeftAloneAndBlockNobody) {
  Workspace work;
  ASSERT_EQ(mkfifo(work.path("fifo").c_str(), 0600), 0);
  const sandbox::Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string path = work.path("socket");
  ASSERT_LT(path.size(), sizeof name.sun_path);
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  std::filesystem::create_directory(work.path("directory"));
  Changer changer(work.fd());
  for (const char* special : {"fifo", "socket", "directory"}) {
    EXPECT_EQ(codeOf(readPiece(work.fd(), special, 0, 10)), "not_regular") << special;
    EXPECT_EQ(codeOf(changer.preview(write(special, "x"), 10)), "not_regular") << special;
    EXPECT_EQ(codeOf(changer.preview(erase(special), 10)), "not_regular") << special;
  }
  EXPECT_EQ(std::get<FileState>(lookAt(work.fd(), "fifo")).kind, Kind::kOther);
}

TEST(Protected, NamesCountAtEveryDepthAndInAnyCase) {
  Workspace work;
  for (const char* path :
       {".git", ".git/HEAD", ".git/hooks/pre-commit", "sub/.git/config", ".GIT/config",
        ".claude/settings.json", "a/.mcp.json", ".vscode/tasks.json", ".envrc", ".factionos/kept/x"})
    EXPECT_TRUE(isProtected(work.fd(), path)) << path;
  for (const char* path : {"a", ".gitignore", ".github/workflows/ci.yml", "git/config", "claude", ".env"})
    EXPECT_FALSE(isProtected(work.fd(), path)) << path;
}

TEST(Protected, WhatGitsConfigurationNamesCounts) {
  Workspace work;
  Workspace::put(work.path(".git/config"),
                 "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../extra.conf\n");
  Workspace::put(work.path("extra.conf"), "[core]\n\thooksPath = " + work.path("more/hooks") + "\n");
  EXPECT_TRUE(isProtected(work.fd(), "tools/hooks/pre-commit"));
  EXPECT_TRUE(isProtected(work.fd(), "tools/hooks"));
  EXPECT_TRUE(isProtected(work.fd(), "extra.conf"));
  EXPECT_TRUE(isProtected(work.fd(), "more/hooks/x"));
  EXPECT_FALSE(isProtected(work.fd(), "tools/other"));
  Changer changer(work.fd());
  EXPECT_EQ(codeOf(changer.preview(write("tools/hooks/pre-commit", "x"), 10)), "path_protected");
}

// git takes a directory with HEAD, objects and refs for a repository where it accepts no .git.
TEST(Protected, WhatWouldMakeTheWorkspaceARepositoryCounts) {
  Workspace work;
  EXPECT_TRUE(isProtected(work.fd(), "HEAD"));
  EXPECT_FALSE(isProtected(work.fd(), "sub/HEAD"));
  EXPECT_FALSE(isProtected(work.fd(), "objects/x"));
  EXPECT_FALSE(isProtected(work.fd(), "config"));
  Workspace::put(work.path("HEAD"), "mine");
  EXPECT_FALSE(isProtected(work.fd(), "HEAD"));
  EXPECT_TRUE(isProtected(work.fd(), "objects/x"));
  EXPECT_FALSE(isProtected(work.fd(), "refs/x"));
  Workspace::put(work.path("objects/x"), "");
  Workspace::put(work.path("refs/x"), "");
  for (const char* path : {"config", "hooks/pre-commit", "commondir", "config.worktree"})
    EXPECT_TRUE(isProtected(work.fd(), path)) << path;
  EXPECT_FALSE(isProtected(work.fd(), "index"));
}

TEST(Protected, WhatThoseNamesLeadToOverLinksCountsAsTheyDo) {
  Workspace work;
  Workspace::put(work.path(".git/config"),
                 "[core]\n\thooksPath = .hk\n[include]\n\tpath = ../incl/x.cfg\n\tpath = ../far/y.cfg\n");
  const auto link = [&work](const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, work.path(name));
  };
  std::filesystem::create_directory(work.path("scripts"));
  link("relay", ".hk");
  link("scripts", "relay");
  Workspace::put(work.path("real/x.cfg"), "[core]\n\thooksPath = deep/hooks\n");
  link("real", "incl");
  link(work.path("real2"), "far");  // absolute, and nothing is there yet
  std::filesystem::create_directory(work.path("deep"));
  link("../deephooks", "deep/hooks");
  link("conf/agent", ".claude");
  link("rc", ".envrc");
  link("../outside", ".cursor");
  for (const char* path : {"scripts/pre-commit", "scripts", "real/x.cfg", "real2/y.cfg", "deephooks/pre-push",
                           "conf/agent/settings.json", "rc"})
    EXPECT_TRUE(isProtected(work.fd(), path)) << path;
  for (const char* path : {"script", "real/y.cfg", "real2/x.cfg", "conf/other", "rcs", "deep/x", "outside/x"})
    EXPECT_FALSE(isProtected(work.fd(), path)) << path;
  Changer changer(work.fd());
  EXPECT_EQ(codeOf(changer.preview(write("scripts/pre-commit", "x"), 10)), "path_protected");
  EXPECT_EQ(codeOf(changer.preview(write("conf/agent/settings.json", "x", Parents::kMake), 10)),
            "path_protected");
  EXPECT_EQ(codeOf(changer.preview(erase("relay"), 10)), "path_outside") << "the link itself";
}

TEST(Place, AFileOnTheWayIsNoLink) {
  Workspace work;
  Workspace::put(work.path("file"), "x");
  std::filesystem::create_symlink("file", work.path("link"));
  Changer changer(work.fd());
  EXPECT_EQ(codeOf(changer.preview(write("file/x", "y"), 10)), "not_directory");
  EXPECT_EQ(codeOf(changer.preview(write("file/x/z", "y", Parents::kMake), 10)), "not_directory");
  EXPECT_EQ(codeOf(changer.preview(write("link/x", "y"), 10)), "path_outside");
}

TEST(Protected, AnIncludeThatIncludesItselfEnds) {
  Workspace work;
  Workspace::put(work.path(".git/config"), "[include]\n\tpath = config\n");
  EXPECT_FALSE(isProtected(work.fd(), "anything"));
}

}  // namespace
}  // namespace factionos::file::test
