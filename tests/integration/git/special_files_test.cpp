// FIFOs, sockets and leased files in the place of what is read: nobody is waited for, wherever it lies.
#include <algorithm>
#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNamed = "repository_refused/no_plain_file";

enum class Special { kFifo, kSocket };

void make(const std::string& path, Special what) {
  fs::remove_all(path);
  fs::create_directories(fs::path(path).parent_path());
  if (what == Special::kFifo) {
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0) << path;
    return;
  }
  // By a short name: an address holds no more.
  const int folder = open(fs::path(path).parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder,
                fs::path(path).filename().c_str());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << path;
  close(socket);
  close(folder);
}

template <typename Request>
std::string denialOf(GitWorker& worker, Request&& request) {
  auto answer = worker.call(request);
  return denialText(answer.getDenial());
}

void fillStageAll(schema::GitChange::Builder change) {
  change.initStage().setAll(true);
}
void fillBranch(schema::GitChange::Builder change) {
  change.initBranchCreate().setBranch("topic");
}

// What each operation is refused with; a worker that waited would be told "timed_out/stuck", or never.
std::vector<std::string> denialsOf(GitWorker& worker) {
  if (!worker.denial.empty()) return {worker.denial};
  std::vector<std::string> found;
  for (const auto untracked : {schema::Untracked::ALL, schema::Untracked::NORMAL}) {
    worker.status(untracked);
    found.push_back(worker.lastDenial);
  }
  found.push_back(denialOf(worker, worker.repository.diffRequest()));
  found.push_back(denialOf(worker, worker.repository.logRequest()));
  found.push_back(denialOf(worker, worker.repository.branchesRequest()));
  found.push_back(denialOf(worker, worker.repository.worktreesRequest()));
  auto show = worker.repository.showRequest();
  show.initRequest().setCommit("HEAD");
  found.push_back(denialOf(worker, show));
  found.push_back(worker.prepare(fillStageAll));
  found.push_back(worker.prepare(fillBranch));
  return found;
}

struct Where {
  std::string path;
  std::string refusal;  // of something at least; empty: it is nothing that is read
};

// HEAD's objects by their names: "@" and what rev-parse takes.
std::string pathOf(const Repo& repo, const std::string& path) {
  if (!path.starts_with('@')) return repo.folder() + "/" + path;
  std::string id = git(repo.folder(), {"rev-parse", path.substr(1)});
  id.pop_back();
  return repo.folder() + "/.git/objects/" + id.substr(0, 2) + "/" + id.substr(2);
}

void expectNobodyWaited(Repo& repo, const Where& where, Special what) {
  SCOPED_TRACE(where.path + (what == Special::kFifo ? ", a FIFO" : ", a socket"));
  repo.write("new/file", "untracked\n");
  repo.write("folder/inner.txt", "changed\n");
  const std::string path = pathOf(repo, where.path);
  // One worker that has read what was there before, and one that has not.
  GitWorker before(repo.broker, repo.folder());
  EXPECT_EQ(before.denial, "");
  before.status();
  make(path, what);
  GitWorker after(repo.broker, repo.folder());
  std::vector<std::string> refused;
  for (GitWorker* worker : {&before, &after}) {
    for (const std::string& denial : denialsOf(*worker)) {
      if (denial.empty()) continue;
      refused.push_back(denial);
      const bool stale = worker == &before && denial == "stale/configuration";
      EXPECT_TRUE(stale || denial == kNamed || denial == where.refusal) << denial;
    }
  }
  if (where.refusal.empty()) {
    EXPECT_EQ(refused, std::vector<std::string>());
  } else {
    EXPECT_NE(std::ranges::find(refused, where.refusal), refused.end()) << "it was read as if it were a file";
  }
  // The control: without it everything is as before.
  fs::remove_all(path);
}

class SpecialFile : public testing::TestWithParam<Where> {};

TEST_P(SpecialFile, IsNamedAtOnceOrIsNothing) {
  for (const Special what : {Special::kFifo, Special::kSocket}) {
    Repo repo;
    expectNobodyWaited(repo, GetParam(), what);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Places, SpecialFile,
    testing::Values(Where{".git/index", kNamed}, Where{".git/packed-refs", kNamed},
                    Where{".git/HEAD", "repository_refused/no_head"},
                    Where{".git/config", "repository_refused/config_unreadable"},
                    Where{".git/refs/heads/main", kNamed}, Where{"@HEAD", kNamed},
                    Where{"@HEAD^{tree}", kNamed}, Where{".git/info/exclude", kNamed},
                    Where{".git/info/attributes", kNamed},
                    Where{".git/objects/info/alternates", "repository_refused/alternates_unreadable"},
                    Where{".gitignore", kNamed}, Where{".gitattributes", kNamed},
                    Where{"folder/.gitignore", kNamed}, Where{"folder/.gitattributes", kNamed},
                    Where{"new/.gitignore", kNamed}, Where{"new/deeper/.gitignore", kNamed}),
    [](const auto& each) { return "Number" + std::to_string(each.index); });

// Of what is not read at all nothing is said.
TEST(SpecialFiles, InTheWorkingTreeAreWhatTheyAreToGit) {
  for (const Special what : {Special::kFifo, Special::kSocket}) {
    Repo repo;
    make(repo.folder() + "/kept.txt", what);
    make(repo.folder() + "/folder/fifo", what);
    make(repo.folder() + "/alone/fifo", what);
    GitWorker worker(repo.broker, repo.folder());
    EXPECT_EQ(worker.status(), porcelain(repo.folder()));
    EXPECT_EQ(worker.status(schema::Untracked::NORMAL), porcelain(repo.folder(), "normal"));
    EXPECT_EQ(worker.status(schema::Untracked::NO), std::vector<std::string>({".M kept.txt"}));
    EXPECT_EQ(worker.lastDenial, "");
    EXPECT_EQ(worker.prepare(fillStageAll), "invalid/neither_file_nor_link");
    EXPECT_EQ(worker.stage({"folder/fifo"}), "nothing_to_do/stage");
    repo.write("folder/inner.txt", "changed\n");
    EXPECT_EQ(GitWorker(repo.broker, repo.folder(), GitWorker::Access::WRITE).stage({"folder/inner.txt"}),
              "");
  }
}

// libgit2 looks at a pack before it opens it, and at its index not at all.
TEST(SpecialFiles, InThePlaceOfAPackAreNamedOrNotThere) {
  for (const auto& [ending, denial] :
       {std::pair(".pack", "not_found/object_or_ref"), std::pair(".idx", kNamed)}) {
    Repo repo;
    git(repo.folder(), {"gc", "-q"});
    for (const auto& entry : fs::directory_iterator(repo.folder() + "/.git/objects/pack"))
      if (entry.path().extension() == ending) make(entry.path(), Special::kFifo);
    GitWorker worker(repo.broker, repo.folder());
    EXPECT_EQ(worker.denial, "");
    EXPECT_EQ(denialOf(worker, worker.repository.logRequest()), denial);
  }
}

// A branch that nobody looks at is in nobody's way.
TEST(SpecialFiles, InThePlaceOfAnotherBranchAreNamedWhereItIsAskedFor) {
  Repo repo;
  make(repo.folder() + "/.git/refs/heads/other", Special::kFifo);
  GitWorker worker(repo.broker, repo.folder(), GitWorker::Access::WRITE);
  worker.status();
  EXPECT_EQ(worker.lastDenial, "");
  auto log = worker.repository.logRequest();
  log.initRequest().setFrom("other");
  EXPECT_EQ(denialOf(worker, log), kNamed);
  EXPECT_EQ(
      worker.change([](schema::GitChange::Builder change) { change.initCheckout().setBranch("other"); }),
      kNamed);
  EXPECT_EQ(
      worker.change([](schema::GitChange::Builder change) { change.initBranchCreate().setBranch("other"); }),
      kNamed);
}

// What comes there between the plan and its run is named, too, not what libgit2 makes of it.
TEST(SpecialFiles, ThatComeAfterThePlanAreNamed) {
  for (const char* place : {".git/refs/heads/side", ".git/packed-refs"}) {
    Repo repo;
    git(repo.folder(), {"branch", "side"});
    GitWorker worker(repo.broker, repo.folder(), GitWorker::Access::WRITE);
    const auto checkOut = [](schema::GitChange::Builder change) { change.initCheckout().setBranch("side"); };
    ASSERT_EQ(worker.prepare(checkOut), "");
    make(repo.folder() + "/" + place, Special::kFifo);
    EXPECT_EQ(worker.run(checkOut), kNamed) << place;
    EXPECT_EQ(git(repo.folder(), {"symbolic-ref", "HEAD"}), "refs/heads/main\n");
  }
}

// Who holds a lease is told of an open that waits, and may take his time: 45 s.
TEST(SpecialFiles, AFileUnderALeaseIsNotWaitedFor) {
  Repo repo;
  std::signal(SIGIO, SIG_IGN);
  const std::string path = repo.folder() + "/.git/refs/heads/main";
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(fcntl(file, F_SETLEASE, F_WRLCK), 0);
  GitWorker worker(repo.broker, repo.folder());
  EXPECT_EQ(denialOf(worker, worker.repository.logRequest()), "locked/lease");
  close(file);
  EXPECT_EQ(denialOf(worker, worker.repository.logRequest()), "");
}

}  // namespace
}  // namespace factionos::test
