#include "broker/api/gate.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "broker/actions/view.h"
#include "broker/api/api_service.h"
#include "broker/api/snapshot.h"
#include "broker/core/log.h"
#include "protocol/rpc/deadline.h"

namespace factionos::broker {
namespace {

// Changes that come closer together than this share a snapshot.
constexpr auto kPublishInterval = 50 * kj::MILLISECONDS;
// After a snapshot that could not be made: the state can't be read.
constexpr auto kPublishRetry = 1 * kj::SECONDS;
// A front that takes no snapshot for so long serves nobody; nor does one that has not asked for its
// listeners.
constexpr auto kPublishLimit = 10 * kj::SECONDS;
// A front that dies at once is not started in a tight loop.
constexpr auto kFirstPause = 100 * kj::MILLISECONDS;
constexpr std::uint64_t kLongestPauseSteps = 50;  // 5 s
// One that has served for so long did not die of its start.
constexpr auto kSteady = 60 * kj::SECONDS;

// Whether `fd` is a connection that was accepted on the unix listener: the front can hand over whatever it
// holds, and the socketpair to us, or the listener itself, bears our own uid.
bool acceptedOn(const std::vector<FrontListener>& listeners, int fd) {
  struct Name {
    explicit Name(int socket) {
      known = ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
              address.sun_family == AF_UNIX && size > sizeof(sa_family_t);
    }
    bool operator==(const Name& other) const {
      return known && other.known && size == other.size &&
             std::string_view(address.sun_path, sizeof address.sun_path) ==
                 std::string_view(other.address.sun_path, sizeof other.address.sun_path);
    }
    sockaddr_un address{};
    socklen_t size = sizeof address;
    bool known = false;
  };
  int listening = 0;
  socklen_t size = sizeof listening;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening != 0) return false;
  return std::ranges::any_of(listeners, [name = Name(fd)](const FrontListener& each) {
    return each.kind == schema::Listener::Kind::UNIX_SOCKET && Name(each.socket.get()) == name;
  });
}

schema::Scope toSchema(identity::Scope scope) {
  switch (scope) {
    case identity::Scope::kIngest:
      return schema::Scope::INGEST;
    case identity::Scope::kRead:
      return schema::Scope::READ;
    case identity::Scope::kPropose:
      return schema::Scope::PROPOSE;
    case identity::Scope::kApprove:
      return schema::Scope::APPROVE;
    case identity::Scope::kAdmin:
      return schema::Scope::ADMIN;
  }
  return schema::Scope::UNSPECIFIED;
}

}  // namespace

class FrontLink::GateServer final : public schema::Gate::Server {
 public:
  explicit GateServer(FrontLink& link) : link_(link) {}

 protected:
  kj::Promise<void> start(StartContext context) override {
    const auto& config = link_.services_.core.config;
    auto results = context.getResults();
    auto front = results.initConfig();
    auto hosts = front.initAllowedHosts(static_cast<unsigned>(config.allowedHosts.size()));
    for (unsigned i = 0; i < config.allowedHosts.size(); ++i) hosts.set(i, config.allowedHosts[i].c_str());
    auto origins = front.initAllowedOrigins(static_cast<unsigned>(config.allowedOrigins.size()));
    for (unsigned i = 0; i < config.allowedOrigins.size(); ++i)
      origins.set(i, config.allowedOrigins[i].c_str());
    front.setVersion("0.1.0");
    auto listeners = results.initListeners(static_cast<unsigned>(link_.listeners_.size()));
    for (unsigned i = 0; i < link_.listeners_.size(); ++i) {
      const int copy = ::fcntl(link_.listeners_[i].socket.get(), F_DUPFD_CLOEXEC, 3);
      KJ_REQUIRE(copy >= 0, "no descriptor left for a listener");
      listeners[i].setSocket(rpc::carryDescriptor<schema::Descriptor>(rpc::OwnFd(copy)));
      listeners[i].setKind(link_.listeners_[i].kind);
    }
    link_.sink_ = context.getParams().getSink();
    link_.publishSoon();
    return kj::READY_NOW;
  }

  kj::Promise<void> token(TokenContext context) override {
    const auto token = context.getParams().getToken();
    const std::string_view text(reinterpret_cast<const char*>(token.begin()), token.size());
    auto principal = link_.services_.tokens.find(text, audit::systemNow());
    answer(context.getResults().initLogin(), std::move(principal), schema::ProblemCode::UNAUTHENTICATED);
    return kj::READY_NOW;
  }

  kj::Promise<void> peer(PeerContext context) override {
    return rpc::takeDescriptor(context.getParams().getConnection())
        .then([this, context](rpc::OwnFd&& fd) mutable {
          ucred credentials{};
          socklen_t size = sizeof credentials;
          std::optional<identity::Principal> principal;
          if (acceptedOn(link_.listeners_, fd.get()) &&
              ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 &&
              credentials.pid != 0)
            principal = link_.services_.uids.find(credentials.uid);
          answer(context.getResults().initLogin(), std::move(principal), schema::ProblemCode::FORBIDDEN);
        });
  }

 private:
  void answer(schema::Login::Builder login, std::optional<identity::Principal> principal,
              schema::ProblemCode otherwise) {
    if (!principal) {
      login.initProblem().setCode(otherwise);
      return;
    }
    login.setPrincipal(principal->id().c_str());
    std::vector<schema::Scope> scopes;
    for (const auto scope : identity::kAllScopes) {
      if (principal->scopes.has(scope)) scopes.push_back(toSchema(scope));
    }
    auto list = login.initScopes(static_cast<unsigned>(scopes.size()));
    for (unsigned i = 0; i < scopes.size(); ++i) list.set(i, scopes[i]);
    // The command center shows rows of sessions and of runs, so it goes with both lists.
    const RuleBook& rules = link_.services_.rules;
    const bool sessions = rules.mayList(policy::Family::kTerminal, principal->name);
    const bool runs = rules.mayList(policy::Family::kContainer, principal->name);
    std::vector<const char*> withheld;
    if (!sessions) withheld.push_back("sessions");
    if (!sessions || !runs) withheld.push_back("commandCenter");
    auto names = login.initWithheld(static_cast<unsigned>(withheld.size()));
    for (unsigned i = 0; i < names.size(); ++i) names.set(i, withheld[i]);
    Caller caller{.principal = std::move(*principal)};
    login.setRefusals(link_.refusals_.of(caller));
    login.setApi(kj::heap<ApiService>(link_.services_, link_.table_, std::move(caller)));
  }

  FrontLink& link_;
};

FrontLink::FrontLink(Services& services, Workers& workers, const std::vector<FrontListener>& listeners)
    : services_(services),
      workers_(workers),
      listeners_(listeners),
      refusals_(services.core, table_),
      tasks_(*this) {
  services_.core.changes.onTouch([this]() { publishSoon(); });
}

FrontLink::~FrontLink() noexcept(false) {
  services_.core.changes.onTouch([]() {});
}

schema::Gate::Client FrontLink::gate() {
  return kj::heap<GateServer>(*this);
}

kj::Promise<void> FrontLink::run() {
  return startOnce().then([this, begun = services_.core.timer.now()]() -> kj::Promise<void> {
    if (closing_) return kj::READY_NOW;
    log(Level::kWarning, "front_lost", {{"starts", starts_}});
    const bool steady = services_.core.timer.now() - begun >= kSteady;
    pauseSteps_ = steady ? 1 : std::min(pauseSteps_ + 1, kLongestPauseSteps);
    return services_.core.timer.afterDelay(kFirstPause * static_cast<std::int64_t>(pauseSteps_))
        .then([this]() { return run(); });
  });
}

kj::Promise<void> FrontLink::startOnce() {
  ++starts_;
  return workers_.start(schema::Role::FRONT, nullptr, capnp::Capability::Client(gate()))
      .then([this](kj::OneOf<StartedWorker, LaunchDenied>&& started) -> kj::Promise<void> {
        if (!started.is<StartedWorker>()) KJ_FAIL_REQUIRE("the launcher refused to start the front");
        front_ = kj::mv(started.get<StartedWorker>());
        FACTIONOS_IF_SOME(front, front_) {
          tasks_.add(services_.core.timer.afterDelay(kPublishLimit).then([this, start = starts_]() {
            if (start == starts_ && sink_ == rpc::kNone) giveUp();
          }));
          return front.line->onDisconnect().then([this](rpc::DisconnectCause cause) { return lost(cause); });
        }
        return kj::READY_NOW;
      })
      .catch_([this](kj::Exception&& exception) {
        // Where one has run before, the next fails for what passes: no process or no time left on the
        // machine. Sessions live on meanwhile. A lost launcher is for others to notice.
        if (starts_ == 1) kj::throwFatalException(kj::mv(exception));
      });
}

kj::Promise<void> FrontLink::lost(rpc::DisconnectCause cause) {
  sink_ = rpc::kNone;
  FACTIONOS_IF_SOME(front, front_) {
    return judgeEnd(services_.core.timer, front.process, cause).then([this](WorkerEnd end) {
      front_ = rpc::kNone;
      if (end.kind == WorkerEnd::Kind::kMisbehaved) logMisbehaved("front", audit::Label::of("none"), end);
    });
  }
  return kj::READY_NOW;
}

void FrontLink::publishSoon() {
  dirty_ = true;
  if (publishing_) return;
  publishing_ = true;
  auto published = kj::evalLater([this]() { return publish(); })
                       .then([]() { return kPublishInterval; },
                             [this](kj::Exception&&) {
                               log(Level::kError, "snapshot_failed");
                               dirty_ = true;  // readers keep the last one meanwhile
                               return kPublishRetry;
                             });
  tasks_.add(published.then([this](kj::Duration pause) { return services_.core.timer.afterDelay(pause); })
                 .then([this]() {
                   publishing_ = false;
                   if (dirty_) publishSoon();
                 }));
}

// One at a time: a front that takes none of them can't make us queue them.
kj::Promise<void> FrontLink::publish() {
  dirty_ = false;
  FACTIONOS_IF_SOME(sink, sink_) {
    auto request = sink.publishRequest();
    fillSnapshot(services_, ++revision_, OutgoingSnapshot(request.initSnapshot()));
    // Rises with either, and each makes logins void.
    request.setLoginEpoch(services_.loginEpoch + services_.rules.revision());
    auto taken = kj::Promise<capnp::Response<schema::SnapshotSink::PublishResults>>(request.send());
    return rpc::withDeadline(services_.core.timer, kPublishLimit, kj::mv(taken))
        .then([](capnp::Response<schema::SnapshotSink::PublishResults>&&) {},
              [this, start = starts_](kj::Exception&& exception) {
                if (rpc::isDeadlineExceeded(exception) && start == starts_) giveUp();
              });
  }
  return kj::READY_NOW;
}

// The line's end, by our own hand, is judged as any other.
void FrontLink::giveUp() {
  FACTIONOS_IF_SOME(front, front_) {
    front.line->close();
  }
}

kj::Promise<void> FrontLink::shutdown() {
  closing_ = true;
  FACTIONOS_IF_SOME(sink, sink_) {
    auto request = sink.shutdownRequest();
    request.setGraceMs(500);
    return request.send().then([](capnp::Response<schema::SnapshotSink::ShutdownResults>&&) {},
                               [](kj::Exception&&) {});
  }
  return kj::READY_NOW;
}

void FrontLink::taskFailed(kj::Exception&&) {
  log(Level::kError, "front_task_failed");
}

}  // namespace factionos::broker
