#include <algorithm>
#include <utility>

#include "protocol/json/routes.h"
#include "workers/front/credentials.h"
#include "workers/front/frame_codec.h"
#include "workers/front/inlet.h"
#include "workers/front/outlet.h"
#include "workers/front/parser.h"
#include "workers/front/reply_head.h"
#include "workers/front/stream.capnp.h"
#include "workers/front/stream.h"

namespace factionos::front {
namespace {

constexpr kj::Duration kCloseLimit = 1 * kj::SECONDS;  // for the peer's half of the closing handshake

// The hello is read by the same reader as every body, as if it were one.
const json::Route& helloRoute() {
  static const json::Route route = [] {
    json::Route made;
    made.method = schema::Method::POST;
    made.maxBodyBytes = kMaxMessageBytes;
    made.maxDepth = 1;
    made.request = capnp::Schema::from<StreamHello>();
    return made;
  }();
  return route;
}

class WebSocketStream final : public Takeover {
 public:
  WebSocketStream(StreamServices& services, const Request& request, Peer& peer)
      : services_(services),
        request_(request),
        peer_(peer),
        nextTime_(services.timer.now() + services.times.hello) {}

  kj::Promise<void> run(Inlet& inlet, Outlet& outlet) override {
    inlet_ = &inlet;
    outlet_ = &outlet;
    output_ = webSocketHead(request_.field("sec-websocket-key").value, request_.id);
    return flush();
  }

 private:
  enum class State : std::uint8_t { kHello, kLive, kClosing };

  kj::Promise<void> turn() {
    if (!inlet_->bytes().empty()) {
      heard_ = true;
      codec_.receive(inlet_->bytes());
      inlet_->consume(inlet_->bytes().size());
    }
    auto messages = codec_.takeMessages();
    if (state_ == State::kHello && !messages.empty()) return hello(std::move(messages));
    if (state_ == State::kLive && (!messages.empty() || codec_.frames() > kMaxFramesPerPeriod))
      close(CloseCode::kPolicyViolation, "unexpected_input");
    if (state_ != State::kClosing && services_.snapshots.closing())
      close(CloseCode::kGoingAway, "shutting_down");
    if (services_.timer.now() >= nextTime_ && !onTime()) return kj::READY_NOW;
    if (state_ == State::kLive && epoch_ != services_.authenticator.epoch()) return logIn();
    if (state_ == State::kLive) sendNews();
    output_ = codec_.takeOutput();
    if (!output_.empty()) return flush();
    if (codec_.over() || inlet_->ended()) return kj::READY_NOW;
    return rest();
  }

  kj::Promise<void> flush() {
    return outlet_->write(output_).then([this](Written written) -> kj::Promise<void> {
      return written == Written::kLost ? kj::Promise<void>(kj::READY_NOW) : turn();
    });
  }

  kj::Promise<void> rest() {
    return inlet_->beyond(0)
        .exclusiveJoin(services_.snapshots.changed())
        .exclusiveJoin(services_.timer.atTime(nextTime_))
        .then([this] { return turn(); });
  }

  // False: the peer is gone.
  bool onTime() {
    switch (state_) {
      case State::kHello:
        close(CloseCode::kPolicyViolation, "hello_timeout");
        return true;
      case State::kClosing:
        return false;
      case State::kLive:
        break;
    }
    // A live peer has answered the last ping by now.
    if (!std::exchange(heard_, false)) return false;
    codec_.startPeriod();
    codec_.sendPing();
    nextTime_ = services_.timer.now() + services_.times.ping;
    return true;
  }

  void close(CloseCode code, std::string_view reason) {
    state_ = State::kClosing;
    codec_.close(code, reason);
    nextTime_ = services_.timer.now() + kCloseLimit;
  }

  kj::Promise<void> hello(std::vector<FrameCodec::Message> messages) {
    capnp::MallocMessageBuilder message;
    auto parsed = message.initRoot<StreamHello>();
    const std::string& text = messages.front().data;
    const auto body = kj::arrayPtr(reinterpret_cast<const kj::byte*>(text.data()), text.size());
    const bool wellFormed = messages.size() == 1 &&
                            messages.front().kind == FrameCodec::Message::Kind::kText &&
                            !services_.reader.read(helloRoute(), body, {}, {}, capnp::toDynamic(parsed));
    if (!wellFormed) {
      close(CloseCode::kPolicyViolation, "invalid_request");
      return turn();
    }
    token_ = parsed.hasToken() ? std::string(parsed.getToken().cStr()) : std::string();
    return logIn();
  }

  kj::Promise<void> logIn() {
    epoch_ = services_.authenticator.epoch();
    kj::Promise<LoginOutcome> asked = LoginOutcome{};
    if (!token_.empty()) {
      asked = services_.authenticator.token(token_);
    } else if (peer_.transport == Transport::kUnixSocket) {
      asked = services_.authenticator.peer(peer_);
    }
    return asked.then([this](LoginOutcome who) {
      if (who.login == nullptr) {
        close(CloseCode::kPolicyViolation, "unauthenticated");
      } else if (!who.login->allows(schema::Scope::READ)) {
        close(CloseCode::kPolicyViolation, "forbidden");
      } else if (!who.login->shows(kStreamed)) {
        close(CloseCode::kPolicyViolation, "policy_blocked");
      } else if (state_ == State::kHello) {
        state_ = State::kLive;
        codec_.startPeriod();
        nextTime_ = services_.timer.now() + services_.times.ping;
      }
      return turn();
    });
  }

  void sendNews() {
    auto latest = services_.snapshots.latest();
    if (latest == sent_ || latest == nullptr || latest->first == nullptr) return;
    codec_.sendText(sent_ == nullptr ? *latest->first : *latest->change);
    sent_ = std::move(latest);
  }

  StreamServices& services_;
  const Request& request_;
  Peer& peer_;
  Inlet* inlet_ = nullptr;
  Outlet* outlet_ = nullptr;
  FrameCodec codec_;
  State state_ = State::kHello;
  kj::TimePoint nextTime_;  // when something is due: the hello, the next ping, the end of closing
  bool heard_ = true;       // since the last ping
  std::string token_;       // kept to ask again when logins are forgotten
  std::uint64_t epoch_ = 0;
  std::shared_ptr<const SnapshotView> sent_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Takeover> webSocketStream(StreamServices& services, const Request& request, Peer& peer) {
  return std::make_unique<WebSocketStream>(services, request, peer);
}

bool isWebSocketHandshake(const Request& request) {
  const Singleton version = request.field("sec-websocket-version");
  const Singleton key = request.field("sec-websocket-key");
  return request.head.method == "GET" && request.head.minorVersion == 1 &&
         request.semantics.connectionUpgrade && request.semantics.upgrade.presence == Presence::kOnce &&
         equalsIgnoreCase(request.semantics.upgrade.value, "websocket") &&
         version.presence == Presence::kOnce && version.value == "13" && key.presence == Presence::kOnce &&
         isWebSocketKey(key.value);
}

}  // namespace factionos::front
