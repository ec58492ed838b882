// One call to the broker, made by reflection: the route table says which method, the JSON reader fills its
// request. There is no code here for any route.
#pragma once

#include <memory>
#include <string>

#include <kj/timer.h>

#include "protocol/json/reader.h"
#include "protocol/json/routes.h"
#include "protocol/json/writer.h"
#include "workers/front/login.h"
#include "workers/front/request.h"

namespace factionos::front {

// The longest wait that a route takes (60 s) and what an answer may cost on top.
inline constexpr kj::Duration kCallLimit = 75 * kj::SECONDS;

class Dispatcher {
 public:
  // Both outlive this.
  Dispatcher(kj::Timer& timer, json::RequestReader& reader) : timer_(timer), reader_(reader) {}
  KJ_DISALLOW_COPY(Dispatcher);

  // `match` is kRoute and was made from `request`, which outlives the work. `idempotencyKey` is empty where
  // none was sent.
  std::unique_ptr<Work> call(const Request& request, const json::Match& match, std::shared_ptr<Login> login,
                             std::string idempotencyKey);

  // Whether `query` is what the route takes, for routes that are answered without the broker.
  json::ReadResult checkQuery(const Request& request, const json::Match& match);

 private:
  class Call;

  kj::Timer& timer_;
  json::RequestReader& reader_;
  json::ReplyWriter writer_;
};

}  // namespace factionos::front
