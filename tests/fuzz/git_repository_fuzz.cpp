// What a git worker reads of a repository that somebody else made: one of its files is the fuzzer's, or one
// of its objects. It is opened, and every read is asked for. The answer is a reply or a refusal; nothing else
// is one.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <git2.h>

#include <capnp/message.h>

#include "sandbox/descriptors.h"
#include "tests/fuzz/scratch_folder.h"
#include "workers/git/locate.h"
#include "workers/git/operations.h"
#include "workers/git/plain_files.h"

namespace {

using namespace factionos;

// The first byte of an input says which.
constexpr std::string_view kFiles[] = {
    ".git/index",
    ".git/HEAD",
    ".git/packed-refs",
    ".git/refs/heads/main",
    ".git/config",
    ".git/objects/info/alternates",
    ".git/objects/info/commit-graph",
    ".git/objects/pack/pack-1111111111111111111111111111111111111111.pack",
    ".git/objects/pack/pack-1111111111111111111111111111111111111111.idx",
    ".git/objects/pack/multi-pack-index",
    ".git/commondir",
    ".git/info/attributes",
    ".git/info/exclude",
    ".gitattributes",
    ".gitignore",
    ".git/worktrees/side/gitdir",
    ".git/MERGE_HEAD",
};
// Beyond them: an object's content, well packed and named, as HEAD's commit or what that names.
enum class Object { kCommit, kTree, kBlob };
constexpr std::size_t kChoices = std::size(kFiles) + 3;

git_oid put(git_odb* database, std::string_view content, git_object_t type) {
  git_oid id{};
  if (git_odb_write(&id, database, content.data(), content.size(), type) < 0) std::abort();
  return id;
}

std::string hex(const git_oid& id) {
  char text[GIT_OID_HEXSZ + 1];
  git_oid_tostr(text, sizeof text, &id);
  return text;
}

std::string treeOf(const git_oid& blob) {
  return std::string("100644 f\0", 9) + std::string(reinterpret_cast<const char*>(blob.id), GIT_OID_RAWSZ);
}

std::string commitOf(const git_oid& tree) {
  return "tree " + hex(tree) +
         "\nauthor A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\nfirst\n";
}

void write(const std::string& root, std::string_view path, std::string_view content) {
  const std::filesystem::path file = root + "/" + std::string(path);
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
}

// What each object is: the ordinary one, or the input's.
void makeObjects(const std::string& root, std::string_view mutated, const Object* which) {
  git_odb* database = nullptr;
  if (git_odb_open(&database, (root + "/.git/objects").c_str()) < 0) std::abort();
  const auto content = [&](Object object, std::string ordinary) {
    return which != nullptr && *which == object ? std::string(mutated) : ordinary;
  };
  const git_oid blob = put(database, content(Object::kBlob, "one\ntwo\n"), GIT_OBJECT_BLOB);
  const git_oid tree = put(database, content(Object::kTree, treeOf(blob)), GIT_OBJECT_TREE);
  const git_oid commit = put(database, content(Object::kCommit, commitOf(tree)), GIT_OBJECT_COMMIT);
  git_odb_free(database);
  write(root, ".git/refs/heads/main", hex(commit) + "\n");
}

void fill(const std::string& root, std::string_view input) {
  const std::size_t choice = input.empty() ? 0 : static_cast<unsigned char>(input.front()) % kChoices;
  const std::string_view rest = input.substr(input.empty() ? 0 : 1);
  std::filesystem::create_directories(root + "/.git/refs/heads");
  std::filesystem::create_directories(root + "/.git/objects");
  write(root, ".git/HEAD", "ref: refs/heads/main\n");
  write(root, ".git/config", "[core]\n\trepositoryformatversion = 0\n[user]\n\tname = A\n");
  write(root, "f", "one\nTWO\n");
  write(root, "untracked", "x");
  const auto object = static_cast<Object>(choice < std::size(kFiles) ? 0 : choice - std::size(kFiles));
  makeObjects(root, rest, choice < std::size(kFiles) ? nullptr : &object);
  if (choice < std::size(kFiles)) write(root, kFiles[choice], rest);
}

class Briefly final : public git::Patience {
 public:
  bool over() override { return ++asked_ > 10'000; }

 private:
  int asked_ = 0;
};

// As the service does: what is refused is an answer, and so is too little memory.
template <typename Work>
void answered(Work work) {
  try {
    work();
  } catch (const git::Refusal&) {
  } catch (const std::bad_alloc&) {
  }
}

template <typename Request, typename Reply, typename Operation>
void ask(const git::Opened& opened, Operation operation, std::string_view file = {}) {
  answered([&]() {
    capnp::MallocMessageBuilder question;
    capnp::MallocMessageBuilder answer;
    auto request = question.initRoot<Request>();
    if constexpr (requires { request.setFile("f"); }) {
      if (!file.empty()) request.setFile(std::string(file).c_str());
    }
    if constexpr (requires { request.setCommit("HEAD"); }) request.setCommit("HEAD");
    Briefly patience;
    operation(opened, request.asReader(), answer.initRoot<Reply>(), patience);
  });
}

void readAll(const git::Opened& opened) {
  ask<schema::GitStatusRequest, schema::GitStatus>(opened, git::status);
  ask<schema::GitDiffRequest, schema::GitDiff>(opened, git::diff);
  ask<schema::GitDiffRequest, schema::GitDiff>(opened, git::diff, "f");
  ask<schema::GitLogRequest, schema::GitLog>(opened, git::log);
  ask<schema::GitShowRequest, schema::GitShow>(opened, git::show, "f");
  ask<schema::GitBranchesRequest, schema::GitBranches>(opened, git::branches);
  answered([&]() { (void)git::worktrees(opened); });
}

}  // namespace

// libgit2 1.5 loses the patterns of a built-in diff driver that an attribute names; a worker ends when idle.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libgit2\nleak:libpcre2\n";
}

// As under the worker's RLIMIT_DATA (workers/git/policy.cpp): more than all that it may have is refused,
// which libgit2 answers as an error.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=2047";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool ready = (git::startLibrary(), true);
  if (!ready) std::abort();
  const fuzz::ScratchFolder folder;
  fill(folder.path(), {reinterpret_cast<const char*>(data), size});
  const sandbox::Fd workspace = sandbox::openFile(folder.path().c_str(), O_PATH | O_DIRECTORY);
  const git::Place place = git::locate(folder.path(), {workspace.get()});
  answered([&]() {
    const git::PlainFilesOnly met;
    const git::Repository repository = git::openRepository(place);
    readAll({place, repository.get()});
  });
  return 0;
}
