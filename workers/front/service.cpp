#include "workers/front/service.h"

#include <memory>
#include <utility>
#include <vector>

#include <sodium.h>

#include "protocol/json/openapi.h"
#include "protocol/rpc/connection.h"
#include "protocol/rpc/descriptor.h"
#include "workers/front/dispatch.h"
#include "workers/front/metrics.h"
#include "workers/front/router.h"
#include "workers/front/server.h"
#include "workers/front/sink.h"
#include "workers/front/snapshots.h"
#include "workers/front/stream.h"

namespace factionos::front {
namespace {

constexpr std::uint64_t kBodiesInFlight = 64U << 20U;  // eight of the largest
// As the broker's table of lines has it for the front's.
constexpr rpc::ConnectionOptions kLineOptions{.role = rpc::Role::kClient,
                                              .maxFdsPerMessage = 4,
                                              .traversalLimitInWords = 2U << 20U,  // 16 MiB
                                              .nestingLimit = 64,
                                              .flowLimitInWords = 4U << 20U};

std::string randomPrefix() {
  unsigned char random[5];
  char hex[2 * sizeof random + 1];
  randombytes_buf(random, sizeof random);
  return std::string("req_") + sodium_bin2hex(hex, sizeof hex, random, sizeof random) + "_";
}

std::vector<std::string> strings(capnp::List<capnp::Text>::Reader list) {
  std::vector<std::string> all;
  for (const auto text : list) all.emplace_back(text.begin(), text.size());
  return all;
}

Deadlines deadlinesOf(schema::FrontConfig::Reader config) {
  return {config.getHeaderTimeoutMs() * kj::MILLISECONDS, config.getBodyTimeoutMs() * kj::MILLISECONDS,
          config.getIdleTimeoutMs() * kj::MILLISECONDS, config.getWriteTimeoutMs() * kj::MILLISECONDS};
}

class Front {
 public:
  Front(rpc::Loop& loop, rpc::OwnFd line, Prepared& prepared)
      : loop_(loop),
        prepared_(prepared),
        connection_(loop, kj::mv(line), kLineOptions),
        authenticator_(loop.timer(), prepared.hashKey),
        snapshots_(prepared.routes),
        dispatcher_(loop.timer(), prepared.reader),
        streams_{loop.timer(), authenticator_, snapshots_, prepared.reader, {}},
        bodies_(kBodiesInFlight) {}

  Ending run() {
    auto shutdown = kj::newPromiseAndFulfiller<kj::Duration>();
    auto gate = connection_.bootstrapAs<schema::Gate>();
    authenticator_.connect(gate);
    auto request = gate.startRequest();
    request.setSink(kj::heap<Sink>(snapshots_, authenticator_, kj::mv(shutdown.fulfiller)));
    const auto started = request.send().wait(loop_.waitScope());
    configure(started.getConfig());
    for (const auto listener : started.getListeners()) listen(listener);
    auto asked = shutdown.promise.then([this](kj::Duration grace) { return finish(grace); });
    auto lost = connection_.onDisconnect().then([](rpc::DisconnectCause) { return Ending::kBrokerLost; });
    return asked.exclusiveJoin(kj::mv(lost)).wait(loop_.waitScope());
  }

 private:
  void configure(schema::FrontConfig::Reader config) {
    const RouterParts parts{prepared_.routes, authenticator_, dispatcher_, snapshots_, metrics_, streams_};
    const auto version = config.getVersion();
    router_ = std::make_unique<Router>(parts, json::openApiDocument({version.begin(), version.size()}),
                                       [this] { return connectionCounts(); });
    router_->setHostRules(HostRules(strings(config.getAllowedHosts()), strings(config.getAllowedOrigins())));
    services_ = std::make_unique<ConnectionServices>(ConnectionServices{
        loop_.timer(), *router_, deadlinesOf(config), bodies_, 1, prepared_.requestIdPrefix, 0});
    server_ = std::make_unique<Server>(*services_, config.getMaxConnections());
  }

  void listen(schema::Listener::Reader listener) {
    const bool unixSocket = listener.getKind() == schema::Listener::Kind::UNIX_SOCKET;
    auto socket = rpc::takeDescriptor(listener.getSocket()).wait(loop_.waitScope());
    auto receiver =
        loop_.lowLevel().wrapListenSocketFd(socket.release(), kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP);
    server_->listen(kj::mv(receiver), unixSocket ? Transport::kUnixSocket : Transport::kTcp);
  }

  kj::Promise<Ending> finish(kj::Duration grace) {
    snapshots_.close();
    return server_->drain(grace).then([] { return Ending::kShutDown; });
  }

  [[nodiscard]] ConnectionCounts connectionCounts() const {
    return {server_->connections(), server_->accepted(), server_->turnedAway(), services_->failures};
  }

  rpc::Loop& loop_;
  Prepared& prepared_;
  rpc::Connection connection_;
  Authenticator authenticator_;
  SnapshotStore snapshots_;
  Dispatcher dispatcher_;
  Metrics metrics_;
  StreamServices streams_;
  BodyBudget bodies_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<ConnectionServices> services_;
  std::unique_ptr<Server> server_;  // last: its connections use all the rest
};

}  // namespace

Prepared::Prepared() : requestIdPrefix(randomPrefix()) {}

Ending serve(rpc::Loop& loop, rpc::OwnFd line, Prepared& prepared) {
  return Front(loop, kj::mv(line), prepared).run();
}

}  // namespace factionos::front
