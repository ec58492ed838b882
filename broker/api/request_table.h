#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <capnp/schema.h>

#include "broker/identity/scope.h"
#include "protocol/json/routes.h"
#include "protocol/json/shapes.h"

namespace factionos::broker {

// What a principal may ask through the front, as rows: one a method of Api, made of the schema's own
// annotations. A method that is no row is refused.
struct RequestRow {
  std::string_view name;
  identity::Scope scope;
  json::Effect effect;
  bool byFront;                // served from the snapshot: a front that asks all the same is refused
  std::uint32_t inFlight;      // at most, of one principal on one front
  capnp::StructSchema params;  // with the member `request`
  const json::StructShape* request;
  capnp::StructSchema results;  // with the member `problem`
};

class RequestTable {
 public:
  RequestTable();
  // Null: no such row.
  const RequestRow* find(std::uint16_t method) const;

 private:
  json::RouteTable routes_;
  json::Shapes shapes_;
  std::vector<RequestRow> rows_;  // by ordinal; a hole has no name
};

}  // namespace factionos::broker
