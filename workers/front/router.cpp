#include "workers/front/router.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "workers/front/credentials.h"
#include "workers/front/problem_reply.h"

namespace factionos::front {
namespace {

using Kind = json::Match::Kind;
using Code = schema::ProblemCode;

constexpr std::size_t kMaxKeyBytes = 255;
constexpr std::uint32_t kNotReadyRetryMs = 500;

Reply closing(Reply reply) {
  reply.after = Persistence::kClose;
  return reply;
}

Reply textReply(std::string_view contentType, std::shared_ptr<const std::string> body) {
  Reply reply;
  reply.contentType = contentType;
  reply.body = std::move(body);
  return reply;
}

bool isVisible(char c) {
  return c > 0x20 && c < 0x7f;
}

// The key, empty where none was sent; nothing where what was sent is no key.
std::optional<std::string> idempotencyKey(const Request& request) {
  const Singleton field = request.field("idempotency-key");
  if (field.presence == Presence::kAbsent) return std::string();
  const bool wellFormed = field.presence == Presence::kOnce && !field.value.empty() &&
                          field.value.size() <= kMaxKeyBytes && std::ranges::all_of(field.value, isVisible);
  if (!wellFormed) return std::nullopt;
  return std::string(field.value);
}

// application/json, alone or with charset=utf-8.
bool isJson(const Request& request) {
  const Singleton field = request.field("content-type");
  if (field.presence != Presence::kOnce) return false;
  const std::size_t semicolon = field.value.find(';');
  std::string_view type = field.value.substr(0, semicolon);
  type.remove_suffix(type.size() - (type.find_last_not_of(" \t") + 1));
  if (!equalsIgnoreCase(type, "application/json")) return false;
  if (semicolon == std::string_view::npos) return true;
  std::string_view parameter = field.value.substr(semicolon + 1);
  parameter.remove_prefix(std::min(parameter.find_first_not_of(" \t"), parameter.size()));
  return equalsIgnoreCase(parameter, "charset=utf-8") || equalsIgnoreCase(parameter, "charset=\"utf-8\"");
}

// Answered before anybody says who they are: health, and a WebSocket, which says it in its first frame.
bool isOpen(const Request& request, const json::Match& match) {
  if (match.kind != Kind::kService || match.service->scope != schema::Scope::UNSPECIFIED) return false;
  return match.service->service != json::Service::kStream || isWebSocketHandshake(request);
}

bool isRead(const Request& request) {
  return request.head.method == "GET" || request.head.method == "HEAD";
}

std::string corsHeaders(std::string_view origin) {
  std::string lines = "Access-Control-Allow-Origin: ";
  lines.append(origin).append("\r\nVary: Origin\r\n");
  return lines + "Access-Control-Expose-Headers: Idempotency-Replayed, Retry-After, X-Request-Id\r\n";
}

}  // namespace

Router::Router(const RouterParts& parts, std::string openApi, std::function<ConnectionCounts()> connections)
    : parts_(parts),
      rules_({}, {}),
      openApi_(std::make_shared<const std::string>(std::move(openApi))),
      connections_(std::move(connections)) {}

kj::Promise<Plan> Router::plan(const Request& request, Peer& peer) {
  switch (rules_.host(request.semantics.host)) {
    case HostVerdict::kAllowed:
      break;
    case HostVerdict::kMalformed:
      return Plan(closing(problemReply(Code::INVALID_HEADER)));
    case HostVerdict::kRefused:
      return Plan(closing(problemReply(Code::HOST_REFUSED)));
  }
  const Cross cross = crossOrigin(request);
  if (cross == Cross::kMalformed) return Plan(closing(problemReply(Code::INVALID_HEADER)));
  if (cross == Cross::kRefused) return Plan(closing(problemReply(Code::ORIGIN_REFUSED)));
  // Nothing may hide in the body of a request that has none: not every reader in between would step over it.
  if (isRead(request) && request.semantics.contentLength > 0)
    return Plan(closing(problemReply(Code::INVALID_REQUEST)));
  if (cross == Cross::kListed && request.head.method == "OPTIONS") return preflight(request);

  const json::Match match = parts_.routes.match(request.head.method, request.path);
  kj::Promise<LoginOutcome> asked = LoginOutcome{};
  if (!isOpen(request, match)) asked = loginOf(parts_.authenticator, request, peer);
  return asked.then([this, &request, &peer, match, cross](LoginOutcome who) {
    Plan plan = judge(request, peer, match, who);
    if (auto* reply = std::get_if<Reply>(&plan)) {
      if (cross == Cross::kListed) reply->headers += corsHeaders(request.field("origin").value);
      // An Upgrade that is not taken up: what follows may be of the other protocol.
      if (request.semantics.upgrade.presence != Presence::kAbsent) reply->after = Persistence::kClose;
    }
    return plan;
  });
}

Reply Router::refuse(Code code, std::string_view) {
  return closing(problemReply(code));
}

void Router::answered(const Reply& reply) {
  parts_.metrics.count(reply.route, reply.status);
}

// ---- Before the route

Router::Cross Router::crossOrigin(const Request& request) const {
  const Singleton origin = request.field("origin");
  if (origin.presence == Presence::kAbsent) return Cross::kNo;
  if (origin.presence == Presence::kRepeated) return Cross::kMalformed;
  switch (rules_.origin(origin.value, request.semantics.host)) {
    case OriginVerdict::kSame:
      return Cross::kNo;
    case OriginVerdict::kListed:
      return Cross::kListed;
    case OriginVerdict::kRefused:
      break;
  }
  return Cross::kRefused;
}

Plan Router::preflight(const Request& request) const {
  Reply reply;
  reply.status = 204;
  reply.headers = corsHeaders(request.field("origin").value);
  reply.headers += "Access-Control-Allow-Methods: GET, HEAD, POST\r\n";
  reply.headers += "Access-Control-Allow-Headers: Authorization, Content-Type, Idempotency-Key\r\n";
  reply.headers += "Access-Control-Max-Age: 600\r\n";
  return reply;
}

Plan Router::judge(const Request& request, Peer& peer, const json::Match& match, const LoginOutcome& who) {
  if (isOpen(request, match)) return service(request, peer, *match.service);
  if (who.login == nullptr) return problemReply(who.code, who.retryAfterMs);
  switch (match.kind) {
    case Kind::kNotFound:
      return problemReply(Code::NOT_FOUND);
    case Kind::kMethodNotAllowed:
      return methodNotAllowed(match.allow);
    case Kind::kUnavailable: {
      Reply reply = problemReply(Code::UNAVAILABLE);
      reply.body = std::make_shared<const std::string>(match.unavailable->envelope);
      reply.route = match.unavailable->path;
      return reply;
    }
    case Kind::kService:
      // A stream that came without the handshake of a WebSocket; with it, it is let in by its first frame.
      if (match.service->scope == schema::Scope::UNSPECIFIED) return problemReply(Code::INVALID_REQUEST);
      if (!who.login->allows(match.service->scope)) return problemReply(Code::FORBIDDEN);
      if (match.service->service == json::Service::kStreamSse && !who.login->shows(kStreamed))
        return problemReply(Code::POLICY_BLOCKED);
      return service(request, peer, *match.service);
    case Kind::kRoute:
      return route(request, match, who.login);
  }
  KJ_UNREACHABLE;
}

// ---- Routes of the broker

Plan Router::route(const Request& request, const json::Match& match, const std::shared_ptr<Login>& who) {
  const json::Route& route = *match.route;
  const auto labelled = [&route](Reply reply) {
    reply.route = route.path;
    return reply;
  };
  if (!who->allows(route.scope)) return labelled(problemReply(Code::FORBIDDEN));
  if (!route.snapshot.empty()) {
    if (!who->shows(route.snapshot)) return labelled(problemReply(Code::POLICY_BLOCKED));
    return labelled(snapshot(request, match));
  }
  auto key = idempotencyKey(request);
  if (!key || (key->empty() && route.effect == json::Effect::kMutating))
    return labelled(problemReply(Code::IDEMPOTENCY_KEY_REQUIRED));
  if (request.semantics.contentLength > 0 && !isJson(request))
    return labelled(problemReply(Code::UNSUPPORTED_MEDIA_TYPE));
  if (request.semantics.contentLength > route.maxBodyBytes)
    return labelled(closing(problemReply(Code::TOO_LARGE)));
  return parts_.dispatcher.call(request, match, who, std::move(*key));
}

Reply Router::snapshot(const Request& request, const json::Match& match) {
  if (const auto refused = parts_.dispatcher.checkQuery(request, match)) return problemReply(*refused);
  const auto latest = parts_.snapshots.latest();
  if (latest == nullptr) return problemReply(Code::NOT_READY, kNotReadyRetryMs);
  Reply reply;
  reply.body = latest->bodies.at(match.route->snapshot);
  return reply;
}

// ---- What the front answers by itself

Plan Router::service(const Request& request, Peer& peer, const json::ServiceRoute& service) {
  static const auto kOk = std::make_shared<const std::string>("ok\n");
  const auto labelled = [&service](Reply reply) {
    reply.route = service.path;
    return reply;
  };
  switch (service.service) {
    case json::Service::kHealth:
      return labelled(textReply(service.contentType, kOk));
    case json::Service::kReady:
      return labelled(ready());
    case json::Service::kMetrics:
      return labelled(metrics());
    case json::Service::kOpenApi:
      return labelled(textReply(service.contentType, openApi_));
    case json::Service::kStream:
      parts_.metrics.count(service.path, 101);
      return webSocketStream(parts_.streams, request, peer);
    case json::Service::kStreamSse:
      if (request.head.method == "HEAD") return labelled(textReply(service.contentType, nullptr));
      parts_.metrics.count(service.path, 200);
      return eventStream(parts_.streams, request, peer,
                         crossOrigin(request) == Cross::kListed ? corsHeaders(request.field("origin").value)
                                                                : std::string());
  }
  KJ_UNREACHABLE;
}

Reply Router::metrics() {
  const auto latest = parts_.snapshots.latest();
  auto text = std::make_shared<const std::string>(parts_.metrics.render(connections_(), latest.get()));
  return textReply("text/plain; version=0.0.4", std::move(text));
}

Reply Router::ready() const {
  static const auto kReady = std::make_shared<const std::string>(R"({"ready":true})");
  const auto latest = parts_.snapshots.latest();
  if (latest == nullptr || !latest->ready) return problemReply(Code::NOT_READY, kNotReadyRetryMs);
  return textReply("application/json", kReady);
}

}  // namespace factionos::front
