#include "workers/front/dispatch.h"

#include <utility>

#include <capnp/dynamic.h>
#include <capnp/message.h>
#include <kj/exception.h>

#include "protocol/rpc/deadline.h"
#include "workers/front/problem_reply.h"

namespace factionos::front {
namespace {

constexpr std::uint32_t kLostBrokerRetryMs = 1000;

Reply failure(const kj::Exception& exception) {
  // Its text is the peer's, or tells of our insides: nobody outside gets it.
  if (rpc::isDeadlineExceeded(exception)) return problemReply(schema::ProblemCode::TIMED_OUT);
  if (exception.getType() == kj::Exception::Type::DISCONNECTED)
    return problemReply(schema::ProblemCode::NOT_READY, kLostBrokerRetryMs);
  return problemReply(schema::ProblemCode::UNSPECIFIED);
}

kj::ArrayPtr<const kj::byte> asBytes(const std::string& text) {
  return kj::arrayPtr(reinterpret_cast<const kj::byte*>(text.data()), text.size());
}

}  // namespace

class Dispatcher::Call final : public Work {
 public:
  Call(Dispatcher& dispatcher, const Request& request, const json::Match& match, std::shared_ptr<Login> login,
       std::string idempotencyKey)
      : dispatcher_(dispatcher),
        request_(request),
        route_(*match.route),
        params_(match.params),
        login_(std::move(login)),
        idempotencyKey_(std::move(idempotencyKey)) {}

  kj::Promise<Reply> run(std::string body) override {
    return kj::evalNow([this, &body] { return send(body); }).catch_([this](kj::Exception&& exception) {
      return labelled(failure(exception));
    });
  }

  [[nodiscard]] Departure departure() const override {
    return route_.effect == json::Effect::kMutating || route_.method != schema::Method::GET
               ? Departure::kFinish
               : Departure::kCancel;
  }

 private:
  kj::Promise<Reply> send(const std::string& body) {
    schema::Api::Client api = login_->api;
    auto call = capnp::DynamicCapability::Client(kj::mv(api)).newRequest(route_.rpc);
    auto context = call.init("call").as<capnp::DynamicStruct>().as<schema::Call>();
    if (!idempotencyKey_.empty()) context.setIdempotencyKey(idempotencyKey_);
    context.setRequestId(request_.id);
    const auto refused = dispatcher_.reader_.read(route_, asBytes(body), params_, request_.query,
                                                  call.init("request").as<capnp::DynamicStruct>());
    if (refused) {
      if (refused->code == schema::ProblemCode::BLOCKED_FIELD) tellOfBlocked(refused->field);
      return labelled(problemReply(*refused));
    }
    kj::Promise<capnp::Response<capnp::DynamicStruct>> answered = call.send();
    return rpc::withDeadline(dispatcher_.timer_, kCallLimit, kj::mv(answered))
        .then([this](capnp::Response<capnp::DynamicStruct>&& results) { return labelled(replyOf(results)); });
  }

  // The sender has its answer whether the broker hears of it or not.
  void tellOfBlocked(const std::string& field) {
    auto told = login_->refusals.blockedFieldRequest();
    told.setMethod(route_.rpc.getOrdinal());
    told.setField(field);
    told.send().ignoreResult().detach([](kj::Exception&&) {});
  }

  Reply replyOf(capnp::DynamicStruct::Reader results) {
    const auto meta = results.get("meta").as<capnp::DynamicStruct>().as<schema::ReplyMeta>();
    Reply reply;
    if (results.has("problem")) {
      reply = problemReply(results.get("problem").as<capnp::DynamicStruct>().as<schema::Problem>());
    } else {
      std::string text;
      dispatcher_.writer_.writeReply(results, text);
      reply.body = std::make_shared<const std::string>(std::move(text));
      reply.status = meta.getStatus() == 0 ? route_.successStatus : meta.getStatus();
    }
    if (meta.getReplayed()) reply.headers += "Idempotency-Replayed: true\r\n";
    return reply;
  }

  Reply labelled(Reply reply) const {
    reply.route = route_.path;
    return reply;
  }

  Dispatcher& dispatcher_;
  const Request& request_;
  const json::Route& route_;
  json::PathParams params_;
  std::shared_ptr<Login> login_;
  std::string idempotencyKey_;
};

std::unique_ptr<Work> Dispatcher::call(const Request& request, const json::Match& match,
                                       std::shared_ptr<Login> login, std::string idempotencyKey) {
  return std::make_unique<Call>(*this, request, match, std::move(login), std::move(idempotencyKey));
}

json::ReadResult Dispatcher::checkQuery(const Request& request, const json::Match& match) {
  if (request.query.empty()) return std::nullopt;
  capnp::MallocMessageBuilder scratch;
  return reader_.read(*match.route, {}, match.params, request.query,
                      scratch.initRoot<capnp::DynamicStruct>(match.route->request));
}

}  // namespace factionos::front
