#include "workers/launcher/service.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <kj/debug.h>

#include "protocol/rpc/descriptor.h"
#include "sandbox/errno_name.h"
#include "workers/common/audited_denial.h"
#include "workers/common/namespace_support.h"
#include "workers/launcher/child.h"
#include "workers/launcher/engines.h"
#include "workers/launcher/roles.h"
#include "workers/launcher/scope.h"
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
  return std::string(what) + ":" + std::string(sandbox::errnoName(error));
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

rpc::OwnFd duplicate(int descriptor) {
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw std::system_error(errno, std::generic_category(), "fcntl");
  return rpc::OwnFd(copy);
}

bool isStreamSocket(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

class Service final : public schema::Launcher::Server, private kj::TaskSet::ErrorHandler {
 public:
  Service(rpc::Loop& loop, Reaper& reaper, const Setup& setup, AuditRoutes* audit)
      : loop_(loop), reaper_(reaper), setup_(setup), audit_(audit), engines_(loop.timer()), tasks_(*this) {}

  kj::Promise<void> start(StartContext context) override {
    engines_.fix();
    const auto params = context.getParams();
    const RoleRow* row = findRole(params.getRole());
    if (row == nullptr || row->line != LineKind::kGiven) return refuse(context, "role_unknown", "role_table");
    auto scope = std::make_unique<OpenScope>();
    if (const char* rule = openScope(params.getScope(), row->scope, setup_.workspaces, *scope))
      return refuse(context, rule == kNotOfThisRole ? "scope_refused" : "workspace_refused", rule);
    if (row->scope == ScopeKind::kProgram) {
      if (const char* code = openProgram(engines_.appleProgram(), *scope))
        return refuse(context, code, "engine_sockets");
    }
    return rpc::takeDescriptor(params.getLine())
        .then([this, context, row, scope = std::move(scope)](rpc::OwnFd line) mutable {
          if (!isStreamSocket(line.get()))
            return deny(context.getResults().initDenial(), "line_refused", "stream_socket");
          auto child = launch(*row, line.get(), scope->arguments, scope->numbers());
          context.getResults().setWorker(kj::heap<WorkerServer>(kj::mv(child), rpc::kNone));
        })
        .catch_([context](kj::Exception&&) mutable {
          deny(context.getResults().initDenial(), "start_failed", "process_or_descriptor");
        });
  }

  kj::Promise<void> startSession(StartSessionContext context) override {
    engines_.fix();
    const auto scope = context.getParams().getScope();
    if (!scope.isWorkspace()) return refuse(context, "scope_refused", "role_table");
    const std::string path(scope.getWorkspace().begin(), scope.getWorkspace().size());
    const std::variant<sandbox::Fd, sandbox::WorkspaceRule> workspace = setup_.workspaces.open(path);
    if (const auto* rule = std::get_if<sandbox::WorkspaceRule>(&workspace)) {
      return refuse(context, "workspace_refused", label(*rule));
    }
    return kj::evalNow([&]() { return hand(context, std::get<sandbox::Fd>(workspace)); })
        .catch_([context](kj::Exception&&) mutable {
          deny(context.getResults().initDenial(), "start_failed", "process_or_descriptor");
        });
  }

  kj::Promise<void> support(SupportContext context) override {
    fill(context.getResults().initSupport(), setup_.support);
    return kj::READY_NOW;
  }

  kj::Promise<void> setEngines(SetEnginesContext context) override {
    if (const char* code =
            engines_.set(context.getParams().getEngines(), context.getParams().getAppleProgram()))
      return refuse(context, code, "engine_sockets");
    return kj::READY_NOW;
  }

  kj::Promise<void> engine(EngineContext context) override {
    auto found = engines_.connector(context.getParams().getEngine());
    FACTIONOS_IF_SOME(connector, found) {
      context.getResults().setConnector(kj::mv(connector));
      return kj::READY_NOW;
    }
    return refuse(context, "engine_unknown", "engine_sockets");
  }

  kj::Promise<void> look(LookContext context) override {
    const auto params = context.getParams();
    const std::string path(params.getPath().begin(), params.getPath().size());
    const bool workspace = params.getRole() == schema::MountRole::WORKSPACE;
    const auto opened = workspace ? setup_.workspaces.open(path) : setup_.workspaces.openReadable(path);
    if (const auto* rule = std::get_if<sandbox::WorkspaceRule>(&opened))
      return refuse(context, "mount_refused", label(*rule));
    struct stat status {};
    if (::fstat(std::get<sandbox::Fd>(opened).get(), &status) != 0)
      return refuse(context, "mount_refused", "unreadable");
    auto found = context.getResults().initFound();
    found.setUid(status.st_uid);
    found.setGid(status.st_gid);
    return kj::READY_NOW;
  }

 private:
  template <typename Context>
  static kj::Promise<void> refuse(Context& context, std::string_view code, std::string_view rule) {
    deny(context.getResults().initDenial(), code, rule);
    return kj::READY_NOW;
  }

  kj::Own<Child> launch(const RoleRow& row, int line, std::vector<std::string> arguments = {},
                        std::vector<int> scopes = {}) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
    rpc::OwnFd read(ends[0]);
    const rpc::OwnFd write(ends[1]);
    const pid_t pid = spawn({setup_.programs, row.executable, line, write.get(), std::move(scopes),
                             setup_.environment, std::move(arguments)});
    auto child = kj::refcounted<Child>(loop_, reaper_, pid, kj::mv(read));
    // Holds it until it has been reaped, whoever lets go of it before.
    tasks_.add(child->exited().ignoreResult().attach(kj::addRef(*child)));
    return child;
  }

  kj::Own<SessionProcess> launchSession() {
    rpc::SocketPair line = rpc::socketPair();
    std::vector<std::string> arguments = {std::string(worker::kNamespacesOption),
                                          worker::encode(setup_.support.namespaces)};
    worker::AuditedLine audited;
    const bool areRead = audit_ != nullptr && audit_->areRead();
    if (areRead) {
      audited = worker::makeAuditedLine();
      arguments.emplace_back(worker::kAuditedOption);
    }
    const std::vector<int> more = audited.to ? std::vector{audited.to.get()} : std::vector<int>{};
    auto child = launch(*findRole(schema::Role::SESSION), line.second.get(), std::move(arguments), more);
    if (areRead) audit_->add(child->process(), rpc::OwnFd(audited.from.release()));
    auto process = kj::refcounted<SessionProcess>(loop_, kj::mv(child), kj::mv(line.first));
    tasks_.add(process->ended()
                   .then([this, &started = *process]() { forget(started); })
                   .attach(kj::addRef(*process)));
    return process;
  }

  // A supervisor takes longer to start than most commands to run: one waits, and knows of nothing, for
  // whoever is next. Without it the next start is slower, no more.
  void prepareSpare() {
    if (spare_ != rpc::kNone) return;
    try {
      spare_ = launchSession();
    } catch (const std::system_error&) {
    }
  }

  void forget(SessionProcess& ended) {
    if (audit_ != nullptr) audit_->remove(ended.child().process());
    FACTIONOS_IF_SOME(spare, spare_) {
      if (spare.get() == &ended) spare_ = rpc::kNone;
    }
  }

  // A spare that died while it waited costs its caller nothing but time.
  kj::Promise<void> hand(StartSessionContext context, const sandbox::Fd& workspace) {
    kj::Maybe<kj::Own<SessionProcess>> spare = kj::mv(spare_);
    spare_ = rpc::kNone;
    FACTIONOS_IF_SOME(process, spare) {
      return open(context, kj::mv(process), duplicate(workspace.get()))
          .catch_([this, context, own = duplicate(workspace.get())](kj::Exception&&) mutable {
            return open(context, launchSession(), kj::mv(own));
          });
    }
    return open(context, launchSession(), duplicate(workspace.get()));
  }

  // Whoever stops waiting for the answer drops the worker, which ends the process.
  kj::Promise<void> open(StartSessionContext context, kj::Own<SessionProcess> process, rpc::OwnFd workspace) {
    auto opened = process->open(kj::mv(workspace));
    auto child = kj::addRef(process->child());
    schema::Worker::Client worker = kj::heap<WorkerServer>(kj::mv(child), kj::addRef(*process));
    return opened.then([this, context, worker = kj::mv(worker),
                        process = kj::mv(process)](schema::Session::Client session) mutable {
      auto results = context.getResults();
      results.setSession(makeProxy(kj::mv(process), kj::mv(session)));
      results.setWorker(kj::mv(worker));
      tasks_.add(kj::evalLast([this]() { prepareSpare(); }));  // once the answer is on its way
    });
  }

  // Nothing that is waited for here fails but by a bug; the process behind it is killed by its holder.
  void taskFailed(kj::Exception&&) override {}

  rpc::Loop& loop_;
  Reaper& reaper_;
  const Setup& setup_;
  AuditRoutes* audit_;
  Engines engines_;
  kj::Maybe<kj::Own<SessionProcess>> spare_;
  kj::TaskSet tasks_;
};

}  // namespace

schema::Launcher::Client makeService(rpc::Loop& loop, Reaper& reaper, const Setup& setup,
                                     AuditRoutes* audit) {
  return kj::heap<Service>(loop, reaper, setup, audit);
}

}  // namespace factionos::launcher
