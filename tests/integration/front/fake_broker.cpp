#include "tests/integration/front/fake_broker.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <future>
#include <stdexcept>
#include <system_error>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <capnp/message.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"

namespace factionos::front::test {
namespace {

constexpr int kBacklog = 1024;

void must(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
}

rpc::OwnFd duplicate(int descriptor) {
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  must(copy, "dup");
  return rpc::OwnFd(copy);
}

}  // namespace

bool Asked::eventually(const std::function<bool()>& holds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(10), holds);
}

void Asked::note(std::atomic<int>& number, int by) {
  const std::lock_guard lock(mutex_);
  number += by;
  changed_.notify_all();
}

struct FakeBroker::Thread {
  const kj::Executor* executor = nullptr;
  rpc::Connection* connection = nullptr;
  kj::Maybe<schema::SnapshotSink::Client> sink;
  kj::Own<kj::PromiseFulfiller<void>> stop;
  std::promise<void> started;
};

// One principal. Only what the tests call is served; the rest fails as a bug of the broker would.
class FakeBroker::Api final : public schema::Api::Server {
 public:
  explicit Api(Asked& asked) : asked_(asked) {}

  kj::Promise<void> eventPost(EventPostContext context) override {
    asked_.note(asked_.calls);
    auto results = context.getResults();
    results.setAccepted(true);
    results.setEventId("evt_0000000000000000000000000");
    return kj::READY_NOW;
  }

  // The key tells what is answered.
  kj::Promise<void> terminalRun(TerminalRunContext context) override {
    asked_.note(asked_.calls);
    asked_.note(asked_.mutations);
    const std::string key = context.getParams().getCall().getIdempotencyKey().cStr();
    auto results = context.getResults();
    if (key == "busy") {
      auto problem = results.initProblem();
      problem.setCode(schema::ProblemCode::IN_FLIGHT);
      problem.setRetryAfterMs(1500);
      return kj::READY_NOW;
    }
    if (key == "broken") KJ_FAIL_REQUIRE("canary-of-the-broker");
    results.initAction().setId("act_0000000000000000000000000");
    results.initMeta().setStatus(key == "waits" ? 202 : 0);
    results.getMeta().setReplayed(key == "again");
    return kj::READY_NOW;
  }

  // With waitMs: for ever.
  kj::Promise<void> actionGet(ActionGetContext context) override {
    asked_.note(asked_.calls);
    const auto request = context.getParams().getRequest();
    context.getResults().initAction().setId(request.getId());
    if (request.getWaitMs() == 0) return kj::READY_NOW;
    rpc::allowCancellation(context);
    asked_.note(asked_.waiting);
    return kj::Promise<void>(kj::NEVER_DONE).attach(kj::defer([&asked = asked_] {
      asked.note(asked.waiting, -1);
    }));
  }

 private:
  Asked& asked_;
};

class FakeBroker::Gate final : public schema::Gate::Server {
 public:
  explicit Gate(FakeBroker& broker) : broker_(broker) {}

  kj::Promise<void> start(StartContext context) override {
    broker_.shared_->sink = context.getParams().getSink();
    auto results = context.getResults();
    fill(results.initConfig());
    auto listeners = results.initListeners(2);
    listeners[0].setKind(schema::Listener::Kind::TCP);
    listeners[0].setSocket(rpc::carryDescriptor<schema::Descriptor>(duplicate(broker_.tcp_.get())));
    listeners[1].setKind(schema::Listener::Kind::UNIX_SOCKET);
    listeners[1].setSocket(rpc::carryDescriptor<schema::Descriptor>(duplicate(broker_.unix_.get())));
    broker_.shared_->started.set_value();
    return kj::READY_NOW;
  }

  kj::Promise<void> token(TokenContext context) override {
    broker_.asked_.note(broker_.asked_.logins);
    const auto token = context.getParams().getToken();
    const auto found = broker_.options_.tokens.find(std::string(token.asChars().begin(), token.size()));
    answer(context.getResults().initLogin(),
           found == broker_.options_.tokens.end() ? nullptr : &found->second,
           schema::ProblemCode::UNAUTHENTICATED);
    return kj::READY_NOW;
  }

  kj::Promise<void> peer(PeerContext context) override {
    broker_.asked_.note(broker_.asked_.peers);
    return rpc::takeDescriptor(context.getParams().getConnection())
        .then([this, context](rpc::OwnFd socket) mutable {
          ucred user{};
          socklen_t size = sizeof user;
          must(getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &user, &size), "SO_PEERCRED");
          broker_.asked_.lastUser = user.uid;
          static const std::vector<schema::Scope> scopes = {schema::Scope::READ, schema::Scope::PROPOSE};
          answer(context.getResults().initLogin(),
                 broker_.options_.users.contains(user.uid) ? &scopes : nullptr,
                 schema::ProblemCode::FORBIDDEN);
        });
  }

 private:
  void fill(schema::FrontConfig::Builder config) {
    const BrokerOptions& options = broker_.options_;
    config.setHeaderTimeoutMs(options.headerTimeoutMs);
    config.setBodyTimeoutMs(options.bodyTimeoutMs);
    config.setIdleTimeoutMs(options.idleTimeoutMs);
    config.setWriteTimeoutMs(options.writeTimeoutMs);
    config.setMaxConnections(options.maxConnections);
    config.setVersion("0.0.0-test");
    auto hosts = config.initAllowedHosts(static_cast<unsigned>(options.allowedHosts.size()));
    for (unsigned i = 0; i < hosts.size(); ++i) hosts.set(i, options.allowedHosts[i]);
    auto origins = config.initAllowedOrigins(static_cast<unsigned>(options.allowedOrigins.size()));
    for (unsigned i = 0; i < origins.size(); ++i) origins.set(i, options.allowedOrigins[i]);
  }

  void answer(schema::Login::Builder login, const std::vector<schema::Scope>* granted,
              schema::ProblemCode refusal) {
    if (granted == nullptr) {
      login.initProblem().setCode(refusal);
      return;
    }
    login.setApi(kj::heap<Api>(broker_.asked_));
    login.setPrincipal("tester");
    auto scopes = login.initScopes(static_cast<unsigned>(granted->size()));
    for (unsigned i = 0; i < scopes.size(); ++i) scopes.set(i, (*granted)[i]);
  }

  FakeBroker& broker_;
};

FakeBroker::FakeBroker(sandbox::Fd line, BrokerOptions options)
    : options_(std::move(options)), shared_(std::make_unique<Thread>()) {
  bindListeners();
  auto started = shared_->started.get_future();
  thread_ = std::thread([this, descriptor = line.release()] { run(descriptor); });
  if (started.wait_for(std::chrono::seconds(20)) != std::future_status::ready)
    throw std::runtime_error("the front did not ask for its configuration");
}

FakeBroker::~FakeBroker() {
  onThread([this]() -> kj::Promise<void> {
    shared_->stop->fulfill();
    return kj::READY_NOW;
  });
  thread_.join();
  unlink(socketPath_.c_str());
  rmdir(directory_.c_str());
}

void FakeBroker::run(int line) {
  rpc::Loop loop;
  auto stop = kj::newPromiseAndFulfiller<void>();
  shared_->stop = kj::mv(stop.fulfiller);
  shared_->executor = &kj::getCurrentThreadExecutor();
  {
    rpc::Connection connection(loop, rpc::OwnFd(line), {.role = rpc::Role::kServer, .maxFdsPerMessage = 8},
                               schema::Gate::Client(kj::heap<Gate>(*this)));
    shared_->connection = &connection;
    stop.promise.wait(loop.waitScope());
    loop.waitScope().poll();  // whoever asked for it is told
    shared_->sink = rpc::kNone;
  }
}

void FakeBroker::bindListeners() {
  tcp_ = sandbox::Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  must(bind(tcp_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
  must(listen(tcp_.get(), kBacklog), "listen");
  socklen_t size = sizeof address;
  must(getsockname(tcp_.get(), reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  port_ = ntohs(address.sin_port);

  char directory[] = "/tmp/factionos-front-XXXXXX";
  if (mkdtemp(directory) == nullptr) must(-1, "mkdtemp");
  directory_ = directory;
  chmod(directory, 0755);
  socketPath_ = directory_ + "/api.sock";
  unix_ = sandbox::Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, socketPath_.c_str(), sizeof name.sun_path - 1);
  must(bind(unix_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), "bind");
  must(listen(unix_.get(), kBacklog), "listen");
  chmod(socketPath_.c_str(), 0666);
}

void FakeBroker::onThread(const std::function<kj::Promise<void>()>& what) {
  shared_->executor->executeSync([&what] { return what(); });
}

void FakeBroker::publish(const std::function<void(schema::Snapshot::Builder)>& fill,
                         std::uint64_t loginEpoch) {
  onThread([this, &fill, loginEpoch]() -> kj::Promise<void> {
    auto request = KJ_ASSERT_NONNULL(shared_->sink).publishRequest();
    fill(request.initSnapshot());
    request.setLoginEpoch(loginEpoch);
    return request.send().ignoreResult();
  });
}

void FakeBroker::publishRevision(std::uint64_t revision, std::uint64_t loginEpoch) {
  publish(
      [revision](schema::Snapshot::Builder snapshot) {
        snapshot.setRevision(revision);
        snapshot.initDiagnostics().setReady(true);
        snapshot.getDiagnostics().initCounts().setActionsWaiting(3);
        snapshot.initCommandCenter().setRevision(revision);
        snapshot.initSessions(0);
      },
      loginEpoch);
}

void FakeBroker::shutdownFront(std::uint32_t graceMs) {
  onThread([this, graceMs]() -> kj::Promise<void> {
    auto request = KJ_ASSERT_NONNULL(shared_->sink).shutdownRequest();
    request.setGraceMs(graceMs);
    return request.send().ignoreResult();
  });
}

void FakeBroker::change(const std::function<void(BrokerOptions&)>& how) {
  onThread([this, &how]() -> kj::Promise<void> {
    how(options_);
    return kj::READY_NOW;
  });
}

void FakeBroker::loseLine() {
  onThread([this]() -> kj::Promise<void> {
    shared_->connection->close();
    return kj::READY_NOW;
  });
}

}  // namespace factionos::front::test
