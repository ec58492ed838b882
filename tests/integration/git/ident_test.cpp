// The keyword $Id$ and its neighbours, beside the real git.
#include <filesystem>
#include <map>

#include "git_harness.h"

namespace factionos::test {
namespace {

namespace fs = std::filesystem;

// By name; each is a file of its own.
const std::map<std::string, std::string> kTexts = {
    {"one", "x $Id$ y\n"},
    {"two", "$Id$ and $Id$\n$Id$\n"},
    {"expanded", "$Id: 0123456789012345678901234567890123456789 $\n$Id: abc $ $Id:abc$ $Id:$ $Id: $\n"},
    {"another_systems", "$Id: a file,v 1.2 $\n$Id$ $Id:  two $ $Id: a b$\n"},
    {"lines", "$Id: begun\n$ $Id$\n$Id: again\r\n$Id$\r\n"},
    {"cut_short", "$Id$ $Id: begun"},
    // Not "$$Id$": of a file that it reads in pieces git finds no keyword behind a dollar, of others it does.
    {"dollars", "$id$ $Ident$ $Id $ Id$ x $Id$"},
    {"end", "$Id"},
    {"binary", std::string("\0\x01 $Id$ $Id$\n", 13)},
    {"none", "nothing\n"},
    {"empty", ""},
};

std::map<std::string, std::string> filesOf(const Repo& repo) {
  std::map<std::string, std::string> found;
  for (const auto& [name, text] : kTexts) found[name] = World::read(repo.folder() + "/q/" + name);
  return found;
}

std::string staged(const Repo& repo) {
  return git(repo.folder(), {"ls-files", "-s", "q"});
}

TEST(GitIdent, EveryKeywordIsStoredAsByGit) {
  for (const char* attributes : {"q/* ident\n", "q/* ident text=auto eol=crlf\n", "q/* -ident\n"}) {
    Repo repo;
    repo.write(".gitattributes", attributes);
    repo.commit("attributes");
    for (const auto& [name, text] : kTexts) repo.write("q/" + name, text);
    git(repo.folder(), {"-c", "core.safecrlf=false", "add", "q"});
    const std::string theirs = staged(repo);
    git(repo.folder(), {"reset", "-q"});
    GitWorker worker(repo.broker, repo.folder(), GitWorker::Access::WRITE);
    ASSERT_EQ(worker.stageAll(), "");
    EXPECT_EQ(staged(repo), theirs) << attributes;
    EXPECT_EQ(worker.status(), porcelain(repo.folder())) << attributes;
  }
}

TEST(GitIdent, EveryKeywordIsCheckedOutAsByGit) {
  for (const char* attributes : {"q/* ident\n", "q/* ident text=auto eol=crlf\n"}) {
    Repo repo;
    const std::string& folder = repo.folder();
    git(folder, {"checkout", "-q", "-b", "topic"});
    for (const auto& [name, text] : kTexts) repo.write("q/" + name, text);
    repo.commit("as they are");
    repo.write(".gitattributes", attributes);
    git(folder, {"add", ".gitattributes"});
    git(folder, {"commit", "-q", "-m", "attributes"});
    git(folder, {"checkout", "-q", "-f", "main"});
    git(folder, {"checkout", "-q", "-f", "topic"});
    const auto theirs = filesOf(repo);
    EXPECT_NE(theirs.at("two"), kTexts.at("two")) << "the control";
    git(folder, {"checkout", "-q", "-f", "main"});
    fs::remove_all(folder + "/q");
    GitWorker worker(repo.broker, folder, GitWorker::Access::WRITE);
    ASSERT_EQ(worker.change(checkOut("topic")), "");
    EXPECT_EQ(filesOf(repo), theirs) << attributes;
    EXPECT_EQ(worker.status(), porcelain(folder)) << attributes;
  }
}

}  // namespace
}  // namespace factionos::test
