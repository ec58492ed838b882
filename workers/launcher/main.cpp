// The launcher: starts known workers, each under its own profile, and ends them all when the broker is gone.
// Executed by the broker before that reads any input: `launcher --home-fd 5`, with the line on 3, events on 4
// and the home on 5; and with `--audit` the kernel's records on 6.
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "sandbox/descriptors.h"
#include "sandbox/enter.h"
#include "sandbox/environment.h"
#include "workers/common/start.h"
#include "workers/launcher/audit_reader.h"
#include "workers/launcher/audit_routes.h"
#include "workers/launcher/policy.h"
#include "workers/launcher/service.h"

namespace {

using namespace factionos;

// The directory that this executable lies in: workers are looked for nowhere else.
sandbox::Fd openPrograms() {
  const sandbox::Fd self = sandbox::openFile("/proc/self/exe", O_PATH);
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0 || static_cast<std::size_t>(size) >= sizeof path) {
    throw sandbox::SetupError(sandbox::Step::kIdentity, errno, "own_path_unknown");
  }
  const std::string_view whole(path, static_cast<std::size_t>(size));
  return sandbox::openFile(std::string(whole.substr(0, whole.rfind('/'))).c_str(), O_PATH | O_DIRECTORY);
}

std::vector<std::string> workerEnvironment() {
  std::vector<const char*> present;
  for (char** variable = environ; *variable != nullptr; ++variable) present.push_back(*variable);
  return sandbox::buildEnvironment(present, {});
}

// Serves until the broker closes the line or dies, then leaves nothing behind.
void serve(const launcher::Setup& setup, launcher::AuditReader auditReader) {
  rpc::Loop loop;
  launcher::Reaper reaper(loop);
  std::optional<launcher::AuditRoutes> audit;
  if (auditReader.line) audit.emplace(loop, reaper, std::move(auditReader));
  {
    rpc::Connection connection(loop, rpc::OwnFd(worker::kLine), {.role = rpc::Role::kServer},
                               launcher::makeService(loop, reaper, setup, audit ? &*audit : nullptr));
    connection.onDisconnect().wait(loop.waitScope());
    reaper.endAll();
  }
  loop.waitScope().cancelAllDetached();  // calls that are still under way hold children, and these the reaper
}

}  // namespace

int main(int argumentCount, char** arguments) {
  const bool reads = argumentCount == 4 && std::string_view(arguments[3]) == "--audit";
  const bool told = (argumentCount == 3 || reads) && std::string_view(arguments[1]) == "--home-fd" &&
                    std::string_view(arguments[2]) == "5";
  if (reads) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // others of this user could take the socket
  worker::mustBeStarted("launcher", {told ? worker::kScope : -1});
  return worker::guarded([reads]() {
    setsid();  // ^C on the broker's terminal reaches the broker alone
    const sandbox::Fd programs = openPrograms();
    const launcher::Setup setup{programs.get(), workerEnvironment(),
                                sandbox::WorkspaceRules::gather(worker::kScope), sandbox::probeKernel()};

    sandbox::Policy policy = launcher::policy(programs.get(), setup.support.namespaces);
    if (reads) policy.keep.push_back(worker::kAuditSocket);
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);

    launcher::AuditReader auditReader;
    if (reads) auditReader = launcher::startAuditReader(sandbox::Fd(worker::kAuditSocket));

    serve(setup, std::move(auditReader));
  });
}
