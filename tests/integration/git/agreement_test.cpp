// Status, differences, log and branches agree with git on generated histories: renames, modes, links, line
// ends, conflicts, and names of all kinds. One seed is one history; a failure names it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

const std::vector<std::string> kNames = {
    "a.txt",        "b.txt",     "dir/c.txt", "dir/sub/d.txt", "with blank.txt", "uml\xc3\xa4ut.txt",
    "e\xcc\x81.md", "tab\tname", "quo\"te",   "new\nline",     "bad\xff",        "windows.bat",
    "text.crlf",    "bin.dat",   "-dash",     "UPPER.TXT",     "z/y/x/w",        "emoji\xf0\x9f\x98\x80",
};

class History {
 public:
  explicit History(unsigned seed) : random_(seed) {
    if (coin())
      repo.write(".gitattributes",
                 "*.crlf text eol=crlf\n*.bat text eol=crlf\n*.md text=auto\n*.dat binary\n");
    if (coin()) repo.write(".gitignore", "ignored*\nz/y/x/w\n!keep\n");
    for (unsigned i = 0; i < 4 + pick(5); ++i) {
      for (unsigned j = 0; j < 1 + pick(6); ++j) step();
      repo.commit("commit " + std::to_string(i), ++time_);
      if (pick(4) == 0) git(repo.folder(), {"branch", "b" + std::to_string(i)});
    }
    if (coin()) git(repo.folder(), {"pack-refs", "--all"});
    if (coin()) git(repo.folder(), {"gc", "-q"});
    if (pick(3) == 0) {
      conflict();
    } else if (seed % 3 == 0) {
      // Then some of what follows is made where the checkout has left files out.
      git(repo.folder(), {"sparse-checkout", "set", "--no-cone", "/*", "!/dir/", "!/a.txt", "!/*.md"});
    }
    for (unsigned j = 0; j < 3 + pick(6); ++j) {
      step();
      if (pick(3) == 0) runIn(repo.folder(), {"git", "add", "--", kNames[pick(kNames.size())]});
    }
  }

  Repo repo;

 private:
  std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }
  bool coin() { return pick(2) == 0; }

  std::string content() {
    std::string text;
    const bool crlf = pick(4) == 0;
    for (std::size_t i = 0; i < 1 + pick(40); ++i)
      text += "line " + std::to_string(pick(1000)) + (crlf ? "\r\n" : "\n");
    if (pick(5) == 0) text += "no newline at the end";
    if (pick(6) == 0) text += std::string("\0binary", 7);
    return text;
  }

  [[nodiscard]] std::string pathOf(const std::string& name) const { return repo.folder() + "/" + name; }

  void step() {
    const std::string& name = kNames[pick(kNames.size())];
    struct stat status {};
    const bool there = lstat(pathOf(name).c_str(), &status) == 0;
    std::error_code ignored;
    switch (pick(7)) {
      case 0:
        if (there) unlink(pathOf(name).c_str());
        break;
      case 1:
        if (there && S_ISREG(status.st_mode))
          chmod(pathOf(name).c_str(), (status.st_mode & 0100) != 0 ? 0644 : 0755);
        break;
      case 2:
        unlink(pathOf(name).c_str());
        std::filesystem::create_directories(std::filesystem::path(pathOf(name)).parent_path(), ignored);
        static_cast<void>(symlink(("to " + std::to_string(pick(1'000'000))).c_str(),
                                  pathOf(name).c_str()));  // no two alike: libgit2 sees no renames of links
        break;
      case 3: {
        const std::string& other = kNames[pick(kNames.size())];
        if (there && S_ISREG(status.st_mode) && !World::exists(pathOf(other))) {
          std::filesystem::create_directories(std::filesystem::path(pathOf(other)).parent_path(), ignored);
          std::filesystem::rename(pathOf(name), pathOf(other), ignored);
        }
        break;
      }
      default:
        if (there && S_ISLNK(status.st_mode)) unlink(pathOf(name).c_str());
        repo.write(name, content());
    }
  }

  void conflict() {
    git(repo.folder(), {"checkout", "-q", "-b", "theirs"});
    unlink(pathOf("a.txt").c_str());
    repo.write("a.txt", content());
    unlink(pathOf("b.txt").c_str());
    repo.write("both.txt", content());
    repo.commit("theirs", ++time_);
    git(repo.folder(), {"checkout", "-q", "main"});
    unlink(pathOf("a.txt").c_str());
    repo.write("a.txt", content());
    repo.write("both.txt", content());
    if (World::exists(pathOf("b.txt"))) unlink(pathOf("b.txt").c_str());
    repo.write("b.txt", content());
    repo.commit("ours", ++time_);
    runIn(repo.folder(), {"git", "merge", "-q", "theirs"}, ++time_);
  }

  std::mt19937 random_;
  long time_ = 1'700'000'000;
};

// "insertions deletions path" of each file, renames as "insertions deletions old -> new"; binary as "- -".
std::vector<std::string> countsOf(schema::GitDiff::Reader diff) {
  std::vector<std::string> lines;
  for (const auto file : diff.getFiles()) {
    const std::string numbers =
        file.getBinary() ? "- -"
                         : std::to_string(file.getInsertions()) + " " + std::to_string(file.getDeletions());
    lines.push_back(numbers + " " + (file.hasOldPath() ? bytesOf(file.getOldPath()) + " -> " : "") +
                    bytesOf(file.getPath()));
  }
  std::ranges::sort(lines);
  return lines;
}

std::vector<std::string> numstat(const std::string& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--numstat", "-z", "-M", "--ignore-submodules=dirty"});
  std::istringstream text(git(folder, arguments));
  std::vector<std::string> lines;
  for (std::string record; std::getline(text, record, '\0');) {
    const std::size_t first = record.find('\t');
    if (first == std::string::npos) continue;
    const std::size_t second = record.find('\t', first + 1);
    std::string line = record.substr(0, first) + " " + record.substr(first + 1, second - first - 1) + " ";
    std::string path = record.substr(second + 1);
    if (path.empty()) {
      std::string from;
      std::getline(text, from, '\0');
      std::getline(text, path, '\0');
      line += from + " -> ";
    }
    lines.push_back(line + path);
  }
  std::ranges::sort(lines);
  return lines;
}

// As git's first trees have them: whoever else may write is told, too.
std::string treeOfOldModes(const std::string& folder) {
  const std::string blob = git(folder, {"rev-parse", "HEAD:kept.txt"});
  std::string tree("100664 kept.txt\0", 16);
  for (std::size_t i = 0; i + 1 < 40; i += 2)
    tree += static_cast<char>(std::stoi(blob.substr(i, 2), nullptr, 16));
  std::ofstream(folder + "/tree", std::ios::binary) << tree;
  const std::string id = git(folder, {"hash-object", "-t", "tree", "--literally", "-w", "tree"});
  unlink((folder + "/tree").c_str());
  return id.substr(0, 40);
}

// git takes such a mode for what it means by one, wherever two are compared.
TEST(GitAgreementOnOldModes, NothingDiffersInThem) {
  Repo repo;
  const std::string& folder = repo.folder();
  const std::string tree = treeOfOldModes(folder);
  ASSERT_EQ(git(folder, {"cat-file", "tree", tree}).substr(0, 6), "100664");
  git(folder, {"rm", "-rfq", "."});
  std::string id = git(folder, {"commit-tree", "-m", "old", "-p", "HEAD", tree});
  id.resize(40);
  git(folder, {"reset", "-q", "--hard", id});
  ASSERT_TRUE(porcelain(folder).empty());
  GitWorker worker(repo.broker, folder, GitWorker::Access::WRITE);
  EXPECT_TRUE(worker.status(schema::Untracked::ALL).empty());
  auto staged = worker.repository.diffRequest();
  staged.initRequest().setStaged(true);
  EXPECT_EQ(worker.call(staged).getDiff().getTotal(), 0U);
  EXPECT_EQ(worker.commitAs("nothing"), "nothing_to_do/commit");
  git(folder, {"branch", "topic"});
  repo.write("more.txt", "more\n");
  ASSERT_EQ(worker.stage({"more.txt"}), "");
  ASSERT_EQ(worker.commitAs("one file"), "");
  auto between = worker.repository.diffRequest();
  between.initRequest().setFrom("HEAD~1");
  between.getRequest().setTo("HEAD");
  EXPECT_EQ(countsOf(worker.call(between).getDiff()), numstat(folder, {"diff", "HEAD~1", "HEAD"}));
  ASSERT_EQ(worker.change(checkOut("topic")), "");
  EXPECT_TRUE(porcelain(folder).empty());
  EXPECT_TRUE(worker.status(schema::Untracked::ALL).empty());
}

class GitAgreement : public testing::TestWithParam<unsigned> {};

TEST_P(GitAgreement, WithGit) {
  History history(GetParam());
  const std::string& folder = history.repo.folder();
  GitWorker worker(history.repo.broker, folder);
  ASSERT_EQ(worker.denial, "");
  EXPECT_EQ(worker.status(schema::Untracked::ALL), porcelain(folder, "all"));
  EXPECT_EQ(worker.status(schema::Untracked::NORMAL), porcelain(folder, "normal"));
  EXPECT_EQ(worker.status(schema::Untracked::NO), porcelain(folder, "no"));

  const bool conflicted = !git(folder, {"ls-files", "-u"}).empty();
  if (!conflicted) {  // git's own counts of a conflicted path are those of several diffs
    EXPECT_EQ(countsOf(worker.call(worker.repository.diffRequest()).getDiff()), numstat(folder, {"diff"}));
    auto staged = worker.repository.diffRequest();
    staged.initRequest().setStaged(true);
    EXPECT_EQ(countsOf(worker.call(staged).getDiff()), numstat(folder, {"diff", "--cached"}));
  }
  auto between = worker.repository.diffRequest();
  between.initRequest().setFrom("HEAD~2");
  between.getRequest().setTo("HEAD");
  EXPECT_EQ(countsOf(worker.call(between).getDiff()), numstat(folder, {"diff", "HEAD~2", "HEAD"}));

  std::string ids;
  auto log = worker.repository.logRequest();
  log.initRequest().setLimit(500);
  auto logged = worker.call(log);
  for (const auto commit : logged.getLog().getCommits()) {
    ids += std::string(commit.getCommit()) + "\n";
  }
  EXPECT_EQ(ids, git(folder, {"log", "--format=%H"}));

  std::string branches;
  auto listed = worker.call(worker.repository.branchesRequest());
  for (const auto branch : listed.getBranches().getBranches())
    branches += std::string(branch.getCommit()) + " " + branch.getName().cStr() + "\n";
  EXPECT_EQ(branches, git(folder, {"for-each-ref", "--format=%(objectname) %(refname:short)", "refs/heads"}));
}

INSTANTIATE_TEST_SUITE_P(Histories, GitAgreement, testing::Range(1U, 37U));

}  // namespace
}  // namespace factionos::test
