#include "workers/container/engine.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>

#include "protocol/rpc/deadline.h"
#include "protocol/rpc/descriptor.h"
#include "protocol/text.h"
#include "workers/container/exchange.h"
#include "workers/container/json_document.h"

namespace factionos::container {
namespace {

constexpr auto kConnectLimit = 5 * kj::SECONDS;
constexpr auto kAnswerLimit = 10 * kj::SECONDS;
constexpr std::size_t kSmallReply = 65536;

// Between these the fields that we use mean the same (docs.docker.com/reference/api/engine/version-history).
constexpr std::pair kOldest = {1, 41};
constexpr std::pair kNewest = {1, 52};

using ApiVersion = std::pair<int, int>;

std::optional<ApiVersion> parseApiVersion(std::string_view text) {
  ApiVersion version;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, version.first);
  if (error != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [last, second] = std::from_chars(dot + 1, end, version.second);
  if (second != std::errc() || last != end || version.first < 0 || version.second < 0) return std::nullopt;
  return version;
}

bool isPodman(const MaybeElement& root) {
  return std::ranges::any_of(elementsOf(member(root, "Components")),
                             [](Element each) { return textOf(member(each, "Name")) == "Podman Engine"; });
}

const char* choose(const MaybeElement& root, std::string& api) {
  const auto newest = parseApiVersion(textOf(member(root, "ApiVersion")).value_or(""));
  if (!newest) return "not_an_engine";
  // Old ones don't say what they still take.
  const auto oldest =
      parseApiVersion(textOf(member(root, "MinAPIVersion")).value_or("")).value_or(ApiVersion(kOldest));
  const ApiVersion chosen = std::min(*newest, ApiVersion(kNewest));
  if (chosen < ApiVersion(kOldest)) return "engine_too_old";
  if (chosen < oldest) return "engine_too_new";
  api = std::to_string(chosen.first) + "." + std::to_string(chosen.second);
  return nullptr;
}

bool holds(const std::optional<std::vector<std::string_view>>& texts, std::string_view start) {
  return texts && std::ranges::any_of(*texts, [start](auto each) { return each.starts_with(start); });
}

void learnManner(const MaybeElement& info, Version& version) {
  if (version.manner.dialect == Dialect::kDocker) {
    version.manner.rootless = holds(textsOf(member(info, "SecurityOptions")), "name=rootless");
    return;
  }
  const MaybeElement host = member(info, "host");
  const auto controllers = textsOf(member(host, "cgroupControllers"));
  version.manner.rootless = boolOf(member(member(host, "security"), "rootless")).value_or(false);
  version.limits = holds(controllers, "memory") && holds(controllers, "pids") && holds(controllers, "cpu");
}

bool isUnixStream(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return false;
  sockaddr_un peer{};
  size = sizeof peer;
  return getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
         peer.sun_family == AF_UNIX;
}

struct Opened {
  kj::Maybe<kj::Own<Exchange>> exchange;
  Reply refusal;
};

Opened refused(Fault fault, std::string_view rule) {
  return {rpc::kNone, {.fault = fault, .body = {}, .rule = rule}};
}

// Names of ours alone: what the launcher says came by way of other processes.
std::string_view ruleOf(std::string_view told) {
  for (const std::string_view known : {"ENOENT", "ECONNREFUSED", "EACCES", "ENOTSOCK", "EPERM", "EAGAIN"}) {
    if (told == known) return known;
  }
  return "connect";
}

kj::Promise<Opened> open(rpc::Loop& loop, schema::EngineConnector::Client& connector, ReplyParser::Body body,
                         std::size_t bodyBytes) {
  auto opened =
      connector.connectRequest().send().then([&loop, body, bodyBytes](auto&& answer) -> kj::Promise<Opened> {
        if (answer.hasDenial())
          return refused(Fault::kUnreachable, ruleOf(view(answer.getDenial().getRule())));
        return rpc::takeDescriptor(answer.getSocket()).then([&loop, body, bodyBytes](rpc::OwnFd fd) {
          if (!isUnixStream(fd.get())) return refused(Fault::kUnreachable, "socket");
          auto stream =
              loop.lowLevel().wrapSocketFd(fd.release(), kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP);
          return Opened{kj::refcounted<Exchange>(kj::mv(stream), body, bodyBytes), {}};
        });
      });
  return rpc::withDeadline(loop.timer(), kConnectLimit, kj::mv(opened)).catch_([](kj::Exception&& exception) {
    const Fault fault = rpc::isDeadlineExceeded(exception) ? Fault::kTimeout : Fault::kUnreachable;
    return refused(fault, "connect");
  });
}

Fault faultOf(const kj::Exception& exception) {
  return rpc::isDeadlineExceeded(exception) ? Fault::kTimeout : Fault::kUnreachable;
}

constexpr std::string_view kOnce = "Connection: close\r\n";
constexpr std::string_view kUpgrade = "Connection: Upgrade\r\nUpgrade: tcp\r\n";

// The whole of it after its header; the one who waits for that hears of it.
kj::Promise<Reply> awaitReply(Opened opened, Request request, kj::Own<kj::PromiseFulfiller<void>> accepted) {
  FACTIONOS_IF_SOME(exchange, opened.exchange) {
    auto& one = *exchange;
    return one.send(request, kOnce)
        .then([&one]() { return one.readHeader(); })
        .then([&one, accepted = kj::mv(accepted)](Fault fault) mutable -> kj::Promise<Fault> {
          accepted->fulfill();
          if (fault != Fault::kNone) return fault;
          return one.readAll();
        })
        .then([&one](Fault fault) { return one.reply(fault); })
        .attach(kj::mv(exchange));
  }
  accepted->fulfill();
  return kj::mv(opened.refusal);
}

}  // namespace

Engine::Engine(rpc::Loop& loop, schema::EngineConnector::Client connector, Dialect expected)
    : loop_(loop), connector_(kj::mv(connector)), expected_(expected) {}

kj::Promise<Reply> Engine::askPlain(Request request) {
  const kj::Duration limit = request.limit;
  auto asked = open(loop_, connector_, ReplyParser::Body::kCollect, request.replyBytes)
                   .then([request = std::move(request)](Opened opened) -> kj::Promise<Reply> {
                     FACTIONOS_IF_SOME(exchange, opened.exchange) {
                       auto& one = *exchange;
                       return one.send(request, kOnce)
                           .then([&one]() { return one.readAll(); })
                           .then([&one](Fault fault) { return one.reply(fault); })
                           .attach(kj::mv(exchange));
                     }
                     return kj::mv(opened.refusal);
                   });
  return rpc::withDeadline(loop_.timer(), limit, kj::mv(asked)).catch_([](kj::Exception&& exception) {
    return Reply{.fault = faultOf(exception), .body = {}};
  });
}

kj::Promise<Reply> Engine::ask(Request request) {
  return version().then([this, request = std::move(request)](Version version) mutable -> kj::Promise<Reply> {
    if (version.fault != Fault::kNone) return Reply{.fault = version.fault, .body = {}};
    if (version.refusal != nullptr)
      return Reply{.fault = Fault::kBroken, .body = {}, .rule = version.refusal};
    request.target = "/v" + version.api + request.target;
    return askPlain(std::move(request)).then([this](Reply reply) {
      if (reply.fault == Fault::kUnreachable) version_ = rpc::kNone;
      return reply;
    });
  });
}

kj::Promise<Attached> Engine::attach(std::string target) {
  auto attached = version().then([this, target = std::move(target)](Version version) mutable {
    return open(loop_, connector_, ReplyParser::Body::kNone, kSmallReply)
        .then([target = "/v" + version.api + target](Opened opened) -> kj::Promise<Attached> {
          FACTIONOS_IF_SOME(exchange, opened.exchange) {
            auto& one = *exchange;
            return one.send({.method = "POST", .target = target}, kUpgrade)
                .then([&one]() { return one.readHeader(); })
                .then([&one](Fault fault) { return one.detach(fault); })
                .attach(kj::mv(exchange));
          }
          return Attached{kj::mv(opened.refusal), rpc::kNone, {}};
        });
  });
  return rpc::withDeadline(loop_.timer(), kAnswerLimit, kj::mv(attached))
      .catch_([](kj::Exception&& exception) {
        return Attached{{.fault = faultOf(exception), .body = {}}, rpc::kNone, {}};
      });
}

kj::Promise<Waiting> Engine::wait(std::string target) {
  return version().then([this, target = std::move(target)](Version version) mutable {
    auto accepted = kj::newPromiseAndFulfiller<void>();
    Request request{.method = "POST", .target = "/v" + version.api + target};
    auto reply =
        open(loop_, connector_, ReplyParser::Body::kCollect, kSmallReply)
            .then([request = std::move(request),
                   fulfiller = kj::mv(accepted.fulfiller)](Opened opened) mutable {
              return awaitReply(kj::mv(opened), std::move(request), kj::mv(fulfiller));
            })
            .catch_([](kj::Exception&& exception) { return Reply{.fault = faultOf(exception), .body = {}}; })
            .eagerlyEvaluate(nullptr);
    // A fulfiller that is gone has failed; who waits for it goes on and hears the reason from the reply.
    auto heard =
        accepted.promise.exclusiveJoin(loop_.timer().afterDelay(kAnswerLimit)).catch_([](kj::Exception&&) {});
    return Waiting{kj::mv(heard), kj::mv(reply)};
  });
}

kj::Promise<Version> Engine::version() {
  FACTIONOS_IF_SOME(known, version_) {
    return known;
  }
  return learn();
}

// Who it is, and whether it is root.
kj::Promise<Version> Engine::learn() {
  return askPlain({.target = "/version", .replyBytes = kSmallReply, .limit = kAnswerLimit})
      .then([this](Reply reply) -> kj::Promise<Version> {
        Version version;
        version.fault = reply.fault;
        if (reply.fault != Fault::kNone) return version;
        const JsonDocument document(reply.body);
        version.refusal = reply.status == 200 ? choose(document.root(), version.api) : "not_an_engine";
        version.manner.dialect = isPodman(document.root()) ? Dialect::kPodman : Dialect::kDocker;
        if (version.refusal != nullptr) return version;
        // Podman's copy of the other API does not tell.
        const bool podman = version.manner.dialect == Dialect::kPodman;
        Request info{.target = podman ? "/v4.0.0/libpod/info" : "/v" + version.api + "/info",
                     .limit = kAnswerLimit};
        return askPlain(std::move(info)).then([this, version](Reply answer) mutable {
          version.fault = answer.fault;
          learnManner(JsonDocument(answer.body).root(), version);
          if (version.fault == Fault::kNone) version_ = version;
          return version;
        });
      });
}

}  // namespace factionos::container
