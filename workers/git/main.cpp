// The git worker: libgit2 on one repository, without a program, a network or a configuration of its own.
// `git ACCESS N`: descriptors 5 and up are the working tree and N - 1 directories more.
#include <cstdlib>
#include <ctime>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "sandbox/enter.h"
#include "workers/common/lifetime.h"
#include "workers/common/repository_scope.h"
#include "workers/common/start.h"
#include "workers/git/files.h"
#include "workers/git/handles.h"
#include "workers/git/locate.h"
#include "workers/git/policy.h"
#include "workers/git/programs.h"
#include "workers/git/service.h"

namespace {

using namespace factionos;

// Serves until the broker closes the line or the launcher is gone.
void serve(git::Place place) {
  rpc::Loop loop;
  loop.startBlockingPool();
  rpc::Connection connection(loop, rpc::OwnFd(worker::kLine),
                             {.role = rpc::Role::kServer, .maxFdsPerMessage = 0},
                             git::makeService(loop, std::move(place)));
  worker::serveUntilGone(loop, connection);
}

std::vector<int> directoriesOf(const std::optional<worker::RepositoryScope>& scope) {
  std::vector<int> directories;
  const unsigned count = scope ? scope->directories : 1;
  for (unsigned i = 0; i < count; ++i) directories.push_back(worker::kScope + static_cast<int>(i));
  return directories;
}

}  // namespace

int main(int count, char** arguments) {
  const auto scope = worker::parseRepositoryScope({arguments + 1, static_cast<std::size_t>(count - 1)});
  const std::vector<int> directories = directoriesOf(scope);
  worker::mustBeStarted("git", scope ? directories : std::vector<int>{-1});
  return worker::guarded([&]() {
    const git::Access access = scope->access;
    setenv("UV_THREADPOOL_SIZE", "1", 1);  // one job at a time: libgit2's objects are not shared by threads
    tzset();                               // the zone of signatures, before its file is out of reach
    git::startLibrary();
    const std::string workspace = git::pathOf(directories.front());
    sandbox::useBuiltPrograms(git::kPrograms);
    const sandbox::Policy policy = git::policy(access, directories);
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);
    // What the repository says of itself is read behind the walls, and then the walls close around it.
    git::Place place = git::locate(workspace, directories);
    sandbox::restrictByLandlock(git::repositoryFiles(access, place.own(access), place.readOnly(access)));
    if (access != git::Access::kRead && !place.refusal) git::makeFilesAsIn(place.commonDir.handle.get());
    serve(std::move(place));
  });
}
