// Damaged indexes, packs and references: each read answers or refuses by name, and the worker lives.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/stat.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

namespace fs = std::filesystem;

std::string contentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// In place of what is there, which git makes unwritable.
void replace(const std::string& path, const std::string& content) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << content;
}

// An answer, or a refusal that names what is damaged; with a whole repository beside it as the control.
void expectNamed(const std::string& denial, const std::string& where) {
  const bool named = denial.empty() || denial.starts_with("repository_refused/") ||
                     denial.starts_with("not_found/") || denial.starts_with("too_large/");
  EXPECT_TRUE(named) << where << ": " << denial;
}

template <typename Request>
std::string denialOf(GitWorker& worker, Request&& request) {
  auto answer = worker.call(request);
  return denialText(answer.getDenial());
}

// Whether anything was refused.
bool readEverything(Repo& repo, const std::string& where) {
  GitWorker worker(repo.broker, repo.folder());
  if (!worker.denial.empty()) {
    expectNamed(worker.denial, where);
    return true;
  }
  bool refused = false;
  const auto judge = [&](const std::string& denial) {
    expectNamed(denial, where);
    refused = refused || !denial.empty();
  };
  judge(denialOf(worker, worker.repository.statusRequest()));
  judge(denialOf(worker, worker.repository.diffRequest()));
  judge(denialOf(worker, worker.repository.logRequest()));
  judge(denialOf(worker, worker.repository.branchesRequest()));
  auto show = worker.repository.showRequest();
  show.initRequest().setCommit("HEAD");
  show.getRequest().setFile("kept.txt");
  judge(denialOf(worker, show));
  judge(denialOf(worker, worker.repository.statusRequest()));  // and it lives
  return refused;
}

// Every `step`th byte turned over, and cut off there. How many of them were refused.
unsigned damageEach(Repo& repo, const std::string& path, std::size_t step) {
  const std::string whole = contentOf(path);
  EXPECT_FALSE(whole.empty()) << path;
  unsigned refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += step) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    replace(path, damaged);
    const std::string where = fs::path(path).filename().string() + "@" + std::to_string(at);
    refused += readEverything(repo, where + " turned") ? 1U : 0U;
    replace(path, whole.substr(0, at));
    refused += readEverything(repo, where + " cut") ? 1U : 0U;
  }
  replace(path, whole);
  EXPECT_FALSE(readEverything(repo, "whole again"));
  return refused;
}

std::string firstIn(const std::string& folder, const std::string& ending) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().string().ends_with(ending)) return entry.path();
  return {};
}

TEST(GitDamage, AnIndexIsRefusedOrRead) {
  Repo repo;
  EXPECT_GT(damageEach(repo, repo.folder() + "/.git/index", 23), 0U);
}

// libgit2 takes memory for as many entries as the first bytes claim.
TEST(GitDamage, AnIndexThatClaimsMoreThanItHasRoomForIsRefused) {
  Repo repo;
  const std::string path = repo.folder() + "/.git/index";
  const std::string whole = contentOf(path);
  for (const char* claimed : {"\x01\x00\x00\x00", "\xff\xff\xff\xff"}) {
    std::string overstated = whole;
    overstated.replace(8, 4, std::string_view(claimed, 4));
    replace(path, overstated);
    GitWorker worker(repo.broker, repo.folder());
    EXPECT_EQ(denialOf(worker, worker.repository.statusRequest()), "repository_refused/index_unreadable");
    EXPECT_EQ(denialOf(worker, worker.repository.diffRequest()), "repository_refused/index_unreadable");
  }
  replace(path, whole);
  EXPECT_FALSE(readEverything(repo, "whole again"));
}

// libgit2 reads the empty pattern before a form feed again and again.
TEST(GitDamage, AnIgnoreFileWithoutAnEndIsRefusedWhereverItIsReadFrom) {
  for (const char* path : {".gitignore", "new/.gitignore", "new/deep/.gitignore", ".git/info/exclude"}) {
    Repo repo;
    repo.write("new/deep/file", "untracked\n");
    repo.write(path, "*.o\n\f\n");
    GitWorker worker(repo.broker, repo.folder());
    auto status = worker.repository.statusRequest();
    status.initRequest().setUntracked(schema::Untracked::ALL);
    EXPECT_EQ(denialOf(worker, status), "repository_refused/endless_ignore_rule") << path;
    repo.write(path, "*.o\n");
    EXPECT_FALSE(readEverything(repo, "a rule with an end")) << path;
  }
}

TEST(GitDamage, PacksAndTheirIndexesAreRefusedOrNotNeeded) {
  Repo repo;
  git(repo.folder(), {"gc", "-q"});
  const std::string folder = repo.folder() + "/.git/objects/pack";
  EXPECT_GT(damageEach(repo, firstIn(folder, ".pack"), 37), 0U);
  EXPECT_GT(damageEach(repo, firstIn(folder, ".idx"), 131), 0U);
}

TEST(GitDamage, ReferencesAreRefusedOrNotThere) {
  Repo repo;
  git(repo.folder(), {"pack-refs", "--all"});
  damageEach(repo, repo.folder() + "/.git/packed-refs", 11);
  damageEach(repo, repo.folder() + "/.git/HEAD", 3);
}

std::string looseObject(const Repo& repo, const std::string& name) {
  std::string id = git(repo.folder(), {"rev-parse", name});
  while (id.ends_with('\n')) id.pop_back();
  return repo.folder() + "/.git/objects/" + id.substr(0, 2) + "/" + id.substr(2);
}

// libgit2 1.5 inflates one that was cut short for ever.
TEST(GitDamage, LooseObjectsAreRefused) {
  Repo repo;
  for (const char* name : {"HEAD", "HEAD^{tree}", "HEAD:kept.txt"})
    EXPECT_GT(damageEach(repo, looseObject(repo, name), 29), 0U) << name;
}

TEST(GitDamage, ALooseObjectWithMoreBehindItOrOfAnotherSizeIsRefused) {
  Repo repo;
  const std::string path = looseObject(repo, "HEAD");
  const std::string whole = contentOf(path);
  replace(path, whole + "x");
  EXPECT_TRUE(readEverything(repo, "more"));
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(readEverything(repo, "nobody writes to it"));
  // One that claims to be larger than it is.
  ASSERT_EQ(runIn(repo.folder(), {"python3", "-c",
                                  "import sys,zlib,os; p=sys.argv[1]; os.remove(p); "
                                  "open(p,'wb').write(zlib.compress(b'commit 100000\\0tree'))",
                                  path})
                .status,
            0);
  EXPECT_TRUE(readEverything(repo, "claims more"));
  // One that is larger than it claims, and one of a kind that packs alone have.
  for (const char* object : {"b'commit 3\\0tree and more'", "b'OFS_DELTA 4\\0tree'"}) {
    const std::string line =
        "import sys,zlib; open(sys.argv[1],'wb').write(zlib.compress(" + std::string(object) + "))";
    ASSERT_EQ(runIn(repo.folder(), {"python3", "-c", line, path}).status, 0);
    EXPECT_TRUE(readEverything(repo, object));
  }
  replace(path, whole);
  EXPECT_FALSE(readEverything(repo, "whole again"));
}

TEST(GitDamage, NothingIsWrittenOverADamagedIndex) {
  Repo repo;
  const std::string index = repo.folder() + "/.git/index";
  std::string damaged = contentOf(index);
  damaged[damaged.size() / 2] = static_cast<char>(~damaged[damaged.size() / 2]);
  replace(index, damaged);
  repo.write("kept.txt", "changed\n");
  GitWorker worker(repo.broker, repo.folder(), GitWorker::Access::WRITE);
  ASSERT_EQ(worker.denial, "");
  EXPECT_EQ(worker.stageAll(), "repository_refused/index_unreadable");
  EXPECT_EQ(worker.commitAs("x"), "repository_refused/index_unreadable");
  EXPECT_EQ(contentOf(index), damaged);
  EXPECT_FALSE(fs::exists(index + ".lock"));
}

// Loose files of objects that are in a pack as well; git reads those from the pack.
void cutLooseObjects(const std::string& objects) {
  for (const auto& entry : fs::recursive_directory_iterator(objects)) {
    if (!entry.is_regular_file() || entry.path().parent_path().filename().string().size() != 2) continue;
    fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
    fs::resize_file(entry.path(), 0);
  }
}

TEST(GitDamage, ALooseTwinOfAPackedObjectIsNotRead) {
  Repo repo;
  git(repo.folder(), {"repack", "-q", "-a"});
  cutLooseObjects(repo.folder() + "/.git/objects");
  git(repo.folder(), {"log", "--stat"});
  EXPECT_FALSE(readEverything(repo, "packed"));
  // The control: what is in no pack.
  for (const auto& entry : fs::directory_iterator(repo.folder() + "/.git/objects/pack")) fs::remove(entry);
  EXPECT_NE(runIn(repo.folder(), {"git", "log", "--stat"}).status, 0);
  EXPECT_TRUE(readEverything(repo, "loose"));
}

TEST(GitDamage, ALooseTwinOfWhatAnAlternateHasPackedIsNotRead) {
  Repo repo;
  const std::string objects = repo.folder() + "/.git/objects";
  const std::string other = repo.folder() + "/.git/other";
  git(repo.folder(), {"repack", "-q", "-a"});
  fs::create_directory(other);
  fs::rename(objects + "/pack", other + "/pack");
  repo.broker.world.write(objects + "/info/alternates", other + "\n");
  cutLooseObjects(objects);
  git(repo.folder(), {"log", "--stat"});
  EXPECT_FALSE(readEverything(repo, "packed elsewhere"));
}

// The other way round, as git has it too.
TEST(GitDamage, APackedTwinThatIsDamagedIsReadFromItsOwnFile) {
  Repo repo;
  git(repo.folder(), {"repack", "-q", "-a"});
  for (const auto& entry : fs::directory_iterator(repo.folder() + "/.git/objects/pack")) {
    if (entry.path().extension() != ".pack") continue;
    std::string content = contentOf(entry.path());
    for (std::size_t at = 14; at + 20 < content.size(); ++at) content[at] = '\xff';
    replace(entry.path(), content);
  }
  EXPECT_EQ(runIn(repo.folder(), {"git", "log", "--stat"}).status, 0);
  EXPECT_FALSE(readEverything(repo, "loose"));
}

}  // namespace
}  // namespace factionos::test
