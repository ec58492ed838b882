// Plays the broker to a git worker, and a developer to its repository.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness.h"
#include "protocol/schemas/git.capnp.h"

namespace factionos::test {

// What the real git prints, and how it ended.
struct GitRun {
  int status = -1;
  std::string output;  // both streams
};

// Runs a program in `folder` with nothing in its environment but what git needs to be the same everywhere.
// `time`: of author and committer.
GitRun runIn(const std::string& folder, const std::vector<std::string>& argv, long time = 1'700'000'000);

// The same for git, which must succeed; its output.
std::string git(const std::string& folder, std::vector<std::string> arguments, long time = 1'700'000'000);

// The branch that HEAD is on; the commit of a name.
std::string branchNow(const std::string& folder);
std::string tip(const std::string& folder, const std::string& name = "HEAD");

// What GitWorker::change() and prepare() are asked for.
std::function<void(schema::GitChange::Builder)> checkOut(const std::string& branch);
std::function<void(schema::GitChange::Builder)> addTree(const std::string& name, const std::string& directory,
                                                        const std::string& branch = {});
std::function<void(schema::GitChange::Builder)> removeTree(const std::string& name);

// A worker with a repository.
class GitWorker {
 public:
  using Access = schema::RepositoryAccess;

  GitWorker(Broker& broker, const std::string& workspace, Access access = Access::READ,
            const std::vector<std::string>& roots = {});

  // What start or open() said; empty if there is a repository.
  std::string denial;
  schema::Repository::Client repository = nullptr;
  kj::Maybe<schema::Worker::Client> process;

  // One call, until its answer.
  template <typename Request>
  auto call(Request&& request) {
    return broker_.wait(request.send().then([](auto&& response) { return kj::mv(response); }));
  }

  // prepare() and run() of one change, under an action of its own; the denial of whichever refused.
  using Fill = std::function<void(schema::GitChange::Builder)>;
  std::string change(const Fill& fill);
  std::string prepare(const Fill& fill);
  // With the state that prepare() gave.
  std::string run(const Fill& fill);
  std::string lastAction;
  std::map<std::string, std::string> snapshots;  // by action, as a broker keeps them
  std::string state;
  std::uint32_t files = 0;  // of the last preview
  std::string commit;       // of the last outcome

  std::string stage(const std::vector<std::string>& files);
  std::string stageAll();
  std::string commitAs(const std::string& message);
  std::string rollback(const std::string& actionId);
  // By an object that somebody else says is the snapshot.
  std::string rollbackBy(const std::string& actionId, const std::string& snapshot);
  schema::GitVerdict reconcile(const std::string& actionId);

  // Canonical lines: "XY path", "R. old -> new", "UU path", "?? path"; sorted.
  std::vector<std::string> status(schema::Untracked untracked = schema::Untracked::ALL);
  std::string lastDenial;

 private:
  Broker& broker_;
  kj::Own<rpc::Connection> line_;
};

// A broker, and a repository with one commit in its workspace. On the stack, as the broker's loop.
class Repo {
 public:
  Repo();

  Broker broker;
  [[nodiscard]] const std::string& folder() const { return broker.world.workspace; }
  void write(const std::string& path, const std::string& content, mode_t mode = 0644) const;
  // Everything that there is.
  void commit(const std::string& message, long time = 1'700'000'000) const;
  void config(const std::string& key, const std::string& value) const;
  // The denial with which a worker that only reads opens it; empty: none.
  std::string opened();
};

// The same lines from `git status --porcelain=2 -z`.
std::vector<std::string> porcelain(const std::string& folder, const std::string& untracked = "all");

// Exact bytes of a name.
std::string bytesOf(schema::GitPath::Reader path);

}  // namespace factionos::test
