#pragma once

#include <string>
#include <string_view>

#include <capnp/message.h>
#include <kj/common.h>

#include "protocol/json/reader.h"
#include "protocol/json/routes.h"

namespace factionos::json {

inline kj::ArrayPtr<const kj::byte> bytes(std::string_view text) {
  return kj::arrayPtr(text.data(), text.size()).asBytes();
}

// A POST route of a request type that no real route has.
template <typename Request>
Route routeOf() {
  Route route;
  route.method = schema::Method::POST;
  route.path = "/sample";
  route.maxBodyBytes = 1 << 20;
  route.maxDepth = 6;
  route.request = capnp::Schema::from<Request>();
  return route;
}

// One request read into a message of its own.
template <typename Request>
struct Read {
  capnp::MallocMessageBuilder message;
  ReadResult error;
  typename Request::Reader value;

  Read(const Route& route, std::string_view body, std::string_view query = {},
       const PathParams& params = {}) {
    RequestReader reader;
    auto root = message.initRoot<Request>();
    error = reader.read(route, bytes(body), params, query, root);
    value = root.asReader();
  }
  explicit Read(std::string_view body) : Read(routeOf<Request>(), body) {}
};

}  // namespace factionos::json
