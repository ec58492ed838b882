#include "workers/launcher/service.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <kj/debug.h>

#include "protocol/rpc/descriptor.h"
#include "workers/common/namespace_support.h"
#include "workers/launcher/child.h"
#include "workers/launcher/roles.h"
#include "workers/launcher/session_proxy.h"
#include "workers/launcher/spawn.h"

namespace factionos::launcher {
namespace {

void deny(schema::Denial::Builder denial, std::string_view code, std::string_view rule) {
  denial.setCode(kj::heapString(code.data(), code.size()));
  denial.setRule(kj::heapString(rule.data(), rule.size()));
}

void tell(schema::WorkerExit::Builder exit, const ChildExit& ended) {
  if (WIFSIGNALED(ended.waitStatus)) {
    exit.setSignal(static_cast<std::uint8_t>(WTERMSIG(ended.waitStatus)));
  } else {
    exit.setCode(static_cast<std::uint8_t>(WEXITSTATUS(ended.waitStatus)));
  }
  exit.setSyscall(ended.refusedCall);
  exit.setBrokeEvents(ended.brokeEvents);
}

// A process as the broker holds it: dropping this ends it.
class WorkerServer final : public schema::Worker::Server {
 public:
  WorkerServer(kj::Own<Child> child, kj::Maybe<kj::Own<SessionProcess>> session)
      : child_(kj::mv(child)), session_(kj::mv(session)) {}

  ~WorkerServer() noexcept(false) {
    FACTIONOS_IF_SOME(session, session_) {
      session->end();
    }
    else {
      child_->kill();
    }
  }
  KJ_DISALLOW_COPY(WorkerServer);

  kj::Promise<void> kill(KillContext) override {
    child_->kill();
    return child_->exited().ignoreResult();
  }

  kj::Promise<void> exited(ExitedContext context) override {
    rpc::allowCancellation(context);
    return child_->exited().then(
        [context](const ChildExit& ended) mutable { tell(context.getResults().initExit(), ended); });
  }

  kj::Promise<void> end(EndContext context) override {
    return child_->stop().then([this, context](bool lived) mutable {
      child_->kill();
      return child_->exited().then([context, lived](const ChildExit& ended) mutable {
        context.getResults().setLived(lived);
        tell(context.getResults().initExit(), ended);
      });
    });
  }

 private:
  kj::Own<Child> child_;
  kj::Maybe<kj::Own<SessionProcess>> session_;
};

std::string reasonText(std::string_view what, int error) {
  const char* name = strerrorname_np(error);
  return std::string(what) + ":" + (name != nullptr ? name : "unknown");
}

void fill(schema::KernelSupport::Builder result, const sandbox::KernelSupport& support) {
  std::vector<std::string> reasons;
  const auto works = [&reasons](std::string_view what, int error) {
    if (error != 0) reasons.push_back(reasonText(what, error));
    return error == 0;
  };
  result.setLandlockAbi(static_cast<std::uint32_t>(support.landlockAbi));
  if (support.landlockAbi == 0) reasons.emplace_back("landlock_missing");
  result.setSeccomp(support.seccompFilter);
  if (!support.seccompFilter) reasons.emplace_back("seccomp_missing");
  result.setUserNotification(support.seccompNotify);
  result.setUserNamespaces(works("user_namespace", support.namespaces.user));
  result.setPidNamespace(works("pid_namespace", support.namespaces.pid));
  result.setMountNamespace(works("mount_namespace", support.namespaces.mount));
  result.setNetworkNamespace(works("network_namespace", support.namespaces.network));
  result.setPty(works("pty", support.pty));
  result.setCgroup(!support.cgroupDirectory.empty());
  auto list = result.initReasons(static_cast<unsigned>(reasons.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, reasons[i].c_str());
}

bool isStreamSocket(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

class Service final : public schema::Launcher::Server, private kj::TaskSet::ErrorHandler {
 public:
  Service(rpc::Loop& loop, Reaper& reaper, const Setup& setup)
      : loop_(loop), reaper_(reaper), setup_(setup), tasks_(*this) {}

  kj::Promise<void> start(StartContext context) override {
    const auto params = context.getParams();
    const RoleRow* row = findRole(params.getRole());
    if (row == nullptr || row->line != LineKind::kGiven) return refuse(context, "role_unknown", "role_table");
    if (!params.getScope().isNone()) return refuse(context, "scope_refused", "role_table");
    return rpc::takeDescriptor(params.getLine())
        .then([this, context, row](rpc::OwnFd line) mutable {
          if (!isStreamSocket(line.get()))
            return deny(context.getResults().initDenial(), "line_refused", "stream_socket");
          auto child = launch(*row, line.get(), -1);
          context.getResults().setWorker(kj::heap<WorkerServer>(kj::mv(child), rpc::kNone));
        })
        .catch_([context](kj::Exception&&) mutable {
          deny(context.getResults().initDenial(), "start_failed", "process_or_descriptor");
        });
  }

  kj::Promise<void> startSession(StartSessionContext context) override {
    const auto scope = context.getParams().getScope();
    const RoleRow* row = findRole(schema::Role::SESSION);
    if (!scope.isWorkspace()) return refuse(context, "scope_refused", "role_table");
    const std::string path(scope.getWorkspace().begin(), scope.getWorkspace().size());
    const std::variant<sandbox::Fd, sandbox::WorkspaceRule> workspace = setup_.workspaces.open(path);
    if (const auto* rule = std::get_if<sandbox::WorkspaceRule>(&workspace)) {
      return refuse(context, "workspace_refused", label(*rule));
    }
    try {
      startSession(context, *row, std::get<sandbox::Fd>(workspace).get());
    } catch (const std::system_error&) {
      return refuse(context, "start_failed", "process_or_descriptor");
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> support(SupportContext context) override {
    fill(context.getResults().initSupport(), setup_.support);
    return kj::READY_NOW;
  }

 private:
  template <typename Context>
  static kj::Promise<void> refuse(Context& context, std::string_view code, std::string_view rule) {
    deny(context.getResults().initDenial(), code, rule);
    return kj::READY_NOW;
  }

  kj::Own<Child> launch(const RoleRow& row, int line, int scope, std::vector<std::string> arguments = {}) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
    rpc::OwnFd read(ends[0]);
    const rpc::OwnFd write(ends[1]);
    const pid_t pid = spawn({setup_.programs, row.executable, line, write.get(), scope, setup_.environment,
                             std::move(arguments)});
    auto child = kj::refcounted<Child>(loop_, reaper_, pid, kj::mv(read));
    // Holds it until it has been reaped, whoever lets go of it before.
    tasks_.add(child->exited().ignoreResult().attach(kj::addRef(*child)));
    return child;
  }

  void startSession(StartSessionContext& context, const RoleRow& row, int workspace) {
    rpc::SocketPair line = rpc::socketPair();
    auto child = launch(row, line.second.get(), workspace,
                        {std::string(worker::kNamespacesOption), worker::encode(setup_.support.namespaces)});
    auto process = kj::refcounted<SessionProcess>(loop_, kj::addRef(*child), kj::mv(line.first));
    tasks_.add(process->ended().attach(kj::addRef(*process)));
    auto results = context.getResults();
    results.setSession(makeProxy(kj::addRef(*process)));
    results.setWorker(kj::heap<WorkerServer>(kj::mv(child), kj::mv(process)));
  }

  // Nothing that is waited for here fails but by a bug; the process behind it is killed by its holder.
  void taskFailed(kj::Exception&&) override {}

  rpc::Loop& loop_;
  Reaper& reaper_;
  const Setup& setup_;
  kj::TaskSet tasks_;
};

}  // namespace

schema::Launcher::Client makeService(rpc::Loop& loop, Reaper& reaper, const Setup& setup) {
  return kj::heap<Service>(loop, reaper, setup);
}

}  // namespace factionos::launcher
