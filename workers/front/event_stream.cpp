#include <utility>

#include "workers/front/credentials.h"
#include "workers/front/inlet.h"
#include "workers/front/outlet.h"
#include "workers/front/reply_head.h"
#include "workers/front/stream.h"

namespace factionos::front {
namespace {

class EventStream final : public Takeover {
 public:
  EventStream(StreamServices& services, const Request& request, Peer& peer, std::string headers)
      : services_(services),
        request_(request),
        peer_(peer),
        epoch_(services.authenticator.epoch()),
        headers_(std::move(headers)) {}

  kj::Promise<void> run(Inlet& inlet, Outlet& outlet) override {
    inlet_ = &inlet;
    outlet_ = &outlet;
    inlet.discard();
    Reply reply;
    reply.contentType = "text/event-stream";
    reply.headers = headers_;
    head_ = streamHead(reply, request_.id);
    return write(head_, {});
  }

 private:
  kj::Promise<void> turn() {
    if (inlet_->ended() || services_.snapshots.closing()) return kj::READY_NOW;
    if (epoch_ != services_.authenticator.epoch()) return askAgain();
    auto latest = services_.snapshots.latest();
    if (latest == sent_) return rest();
    head_ = sent_ == nullptr ? "event: snapshot" : "event: change";
    head_.append("\nid: ").append(std::to_string(latest->revision)).append("\ndata: ");
    const auto& message = sent_ == nullptr ? latest->first : latest->change;
    sent_ = std::move(latest);
    return outlet_->write(head_, *message).then([this](Written written) -> kj::Promise<void> {
      if (written == Written::kLost) return kj::READY_NOW;
      return write("\n\n", {});
    });
  }

  kj::Promise<void> write(std::string_view head, std::string_view body) {
    return outlet_->write(head, body).then([this](Written written) -> kj::Promise<void> {
      return written == Written::kLost ? kj::Promise<void>(kj::READY_NOW) : turn();
    });
  }

  kj::Promise<void> rest() {
    auto news = services_.snapshots.changed().exclusiveJoin(inlet_->whenEnded()).then([] { return false; });
    auto late = services_.timer.afterDelay(services_.times.heartbeat).then([] { return true; });
    return news.exclusiveJoin(kj::mv(late)).then([this](bool silent) {
      return silent ? write(":\n\n", {}) : turn();
    });
  }

  kj::Promise<void> askAgain() {
    epoch_ = services_.authenticator.epoch();
    return loginOf(services_.authenticator, request_, peer_)
        .then([this](LoginOutcome who) -> kj::Promise<void> {
          const bool good =
              who.login != nullptr && who.login->allows(schema::Scope::READ) && who.login->shows(kStreamed);
          return good ? turn() : kj::READY_NOW;
        });
  }

  StreamServices& services_;
  const Request& request_;
  Peer& peer_;
  Inlet* inlet_ = nullptr;
  Outlet* outlet_ = nullptr;
  std::uint64_t epoch_;  // of the login that this stream goes by
  std::string headers_;
  std::shared_ptr<const SnapshotView> sent_;
  std::string head_;
};

}  // namespace

std::unique_ptr<Takeover> eventStream(StreamServices& services, const Request& request, Peer& peer,
                                      std::string headers) {
  return std::make_unique<EventStream>(services, request, peer, std::move(headers));
}

}  // namespace factionos::front
