// The order in which a request is judged, as one reads it: Host and Origin, who asks, 501, method, scope,
// then the route.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <kj/async.h>
#include <kj/timer.h>

#include "protocol/json/routes.h"
#include "workers/front/authenticator.h"
#include "workers/front/dispatch.h"
#include "workers/front/host_rules.h"
#include "workers/front/metrics.h"
#include "workers/front/request.h"
#include "workers/front/snapshots.h"
#include "workers/front/stream.h"

namespace factionos::front {

struct RouterParts {
  const json::RouteTable& routes;
  Authenticator& authenticator;
  Dispatcher& dispatcher;
  SnapshotStore& snapshots;
  Metrics& metrics;
  StreamServices& streams;
};

class Router final : public Handler {
 public:
  // `connections` is asked when metrics are rendered. `openApi` is the document. All parts outlive this.
  Router(const RouterParts& parts, std::string openApi, std::function<ConnectionCounts()> connections);

  // Until it is called every Host but the loopback names, and every foreign Origin, is refused.
  void setHostRules(HostRules rules) { rules_ = std::move(rules); }

  kj::Promise<Plan> plan(const Request& request, Peer& peer) override;
  Reply refuse(schema::ProblemCode code, std::string_view requestId) override;
  void answered(const Reply& reply) override;

 private:
  enum class Cross : std::uint8_t { kNo, kListed, kRefused, kMalformed };

  [[nodiscard]] Cross crossOrigin(const Request& request) const;
  Plan preflight(const Request& request) const;
  Plan judge(const Request& request, Peer& peer, const json::Match& match, const LoginOutcome& who);
  Plan route(const Request& request, const json::Match& match, const std::shared_ptr<Login>& who);
  Plan service(const Request& request, Peer& peer, const json::ServiceRoute& service);
  Reply snapshot(const Request& request, const json::Match& match);
  Reply metrics();
  [[nodiscard]] Reply ready() const;

  RouterParts parts_;
  HostRules rules_;
  std::shared_ptr<const std::string> openApi_;
  std::function<ConnectionCounts()> connections_;
};

}  // namespace factionos::front
