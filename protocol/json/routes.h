// The route table of the REST surface, read by reflection from the annotations of schema::Api. There is no
// other list of routes: the front dispatches by it, openapi.json is printed from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <capnp/schema.h>

#include "protocol/schemas/common.capnp.h"
#include "protocol/schemas/http.capnp.h"

namespace factionos::json {

enum class Effect { kReadOnly, kMutating };

// One method of schema::Api. All views point into the compiled schema or into the table and live as long as
// the table.
struct Route {
  schema::Method method = schema::Method::UNSPECIFIED;  // get or post
  std::string_view path;                                // template, "/v1/actions/{id}"
  schema::Scope scope = schema::Scope::UNSPECIFIED;
  std::string_view summary;
  std::string_view
      snapshot;  // field of schema::Snapshot that the front serves by itself; empty: ask the broker
  std::uint16_t successStatus = 200;
  std::uint32_t maxBodyBytes = 0;
  std::uint8_t maxDepth = 0;  // the outermost object is 1
  Effect effect = Effect::kReadOnly;
  capnp::InterfaceSchema::Method rpc;  // for DynamicCapability::Client::newRequest
  capnp::StructSchema request;         // type of the parameter "request"
  capnp::StructSchema result;          // with the members "problem" and "meta"
};

// A route that is declared and answered 501.
struct UnavailableRow {
  schema::Method method = schema::Method::UNSPECIFIED;
  std::string_view path;  // a last segment "*" stands for the path itself and everything below it
  schema::Family family = schema::Family::UNSPECIFIED;
  std::string_view operation;
  std::string envelope;  // the whole problem+json body, the same bytes every time
};

// What the front answers without the broker's Api.
enum class Service { kHealth, kReady, kMetrics, kOpenApi, kStream, kStreamSse };

struct ServiceRoute {
  Service service;
  std::string_view path;  // GET alone
  schema::Scope
      scope;  // unspecified: no token is asked for by HTTP (health, and the stream whose first frame has it)
  std::string_view contentType;
  std::string_view summary;
};

struct PathParam {
  std::string_view name;   // as in the template
  std::string_view value;  // a piece of the path that was matched
};

// More than any template has; the table refuses to be built from a template with more.
inline constexpr std::size_t kMaxPathParams = 4;

class PathParams {
 public:
  void push(PathParam param) { params_[size_++] = param; }
  void pop() { --size_; }
  [[nodiscard]] std::span<const PathParam> all() const { return {params_.data(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::array<PathParam, kMaxPathParams> params_;
  std::size_t size_ = 0;
};

struct Match {
  enum class Kind { kNotFound, kMethodNotAllowed, kRoute, kUnavailable, kService };
  Kind kind = Kind::kNotFound;
  const Route* route = nullptr;                 // kRoute
  const UnavailableRow* unavailable = nullptr;  // kUnavailable
  const ServiceRoute* service = nullptr;        // kService
  PathParams params;                            // kRoute
  std::string_view allow;  // kMethodNotAllowed: value of the Allow header, such as "GET, HEAD"
};

// Immutable once built, so any number of threads may match.
class RouteTable {
 public:
  // Throws kj::Exception when the schema contradicts itself (a template names a field that is not there, two
  // routes collide): a mistake of ours, found by the first test that runs.
  RouteTable();
  ~RouteTable();
  RouteTable(const RouteTable&) = delete;
  RouteTable& operator=(const RouteTable&) = delete;

  // `path` is the request target up to '?', as it was received: nothing is decoded or normalised. HEAD counts
  // as GET. A path with bytes outside of printable ASCII, an empty segment, or '%' in a parameter is not
  // found. Allocates nothing; the views of the result live as long as `path` and the table.
  [[nodiscard]] Match match(std::string_view method, std::string_view path) const;

  [[nodiscard]] std::span<const Route> routes() const;
  [[nodiscard]] std::span<const UnavailableRow> unavailable() const;
  [[nodiscard]] static std::span<const ServiceRoute> services();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace factionos::json
