#include "protocol/json/routes.h"

#include <algorithm>
#include <string>
#include <vector>

#include <capnp/message.h>
#include <kj/debug.h>

#include "protocol/json/annotations.h"
#include "protocol/json/shapes.h"
#include "protocol/json/writer.h"
#include "protocol/schemas/api.capnp.h"
#include "protocol/text.h"

namespace factionos::json {
namespace {

constexpr std::array kServices = {
    ServiceRoute{Service::kHealth, "/healthz", schema::Scope::UNSPECIFIED, "text/plain",
                 "Says ok while the front runs"},
    ServiceRoute{Service::kReady, "/readyz", schema::Scope::READ, "application/json",
                 "Whether guarded actions can be taken"},
    ServiceRoute{Service::kMetrics, "/metrics", schema::Scope::READ, "text/plain",
                 "Counters in the Prometheus text format"},
    ServiceRoute{Service::kOpenApi, "/openapi.json", schema::Scope::READ, "application/json",
                 "This document"},
    ServiceRoute{Service::kStream, "/v1/stream", schema::Scope::UNSPECIFIED, "",
                 "WebSocket: the command center as a snapshot, then its changes; the first frame, within 2 "
                 "s, has the token"},
    ServiceRoute{Service::kStreamSse, "/v1/stream/sse", schema::Scope::READ, "text/event-stream",
                 "Server-sent events: the command center as a snapshot, then its changes"}};

// The next segment of `rest`, which begins with '/' or is empty.
std::string_view takeSegment(std::string_view& rest) {
  rest.remove_prefix(1);
  std::string_view segment = rest.substr(0, rest.find('/'));
  rest.remove_prefix(segment.size());
  return segment;
}

bool isParam(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

// What one path leads to. At most one endpoint a method; `any` stands for all of them.
struct Endpoints {
  const Route* get = nullptr;
  const Route* post = nullptr;
  const UnavailableRow* unavailableGet = nullptr;
  const UnavailableRow* unavailablePost = nullptr;
  const UnavailableRow* unavailableAny = nullptr;
  const ServiceRoute* service = nullptr;

  [[nodiscard]] bool takesGet() const {
    return get != nullptr || unavailableGet != nullptr || service != nullptr;
  }
  [[nodiscard]] bool takesPost() const { return post != nullptr || unavailablePost != nullptr; }
  [[nodiscard]] bool empty() const { return !takesGet() && !takesPost() && unavailableAny == nullptr; }
};

struct Node {
  std::string_view segment;
  std::vector<std::unique_ptr<Node>> literals;  // sorted by segment once the table is built
  std::unique_ptr<Node> param;
  std::string_view paramName;
  Endpoints here;
  const UnavailableRow* below = nullptr;  // "*": this path and everything below it
};

Node& literalChild(Node& node, std::string_view segment) {
  auto it = std::lower_bound(node.literals.begin(), node.literals.end(), segment,
                             [](const auto& child, std::string_view s) { return child->segment < s; });
  if (it == node.literals.end() || (*it)->segment != segment) {
    it = node.literals.insert(it, std::make_unique<Node>());
    (*it)->segment = segment;
  }
  return **it;
}

const Node* findLiteral(const Node& node, std::string_view segment) {
  auto it = std::lower_bound(node.literals.begin(), node.literals.end(), segment,
                             [](const auto& child, std::string_view s) { return child->segment < s; });
  return it == node.literals.end() || (*it)->segment != segment ? nullptr : it->get();
}

Node& paramChild(Node& node, std::string_view name) {
  if (node.param == nullptr) {
    node.param = std::make_unique<Node>();
    node.paramName = name;
  }
  KJ_REQUIRE(node.paramName == name, "two names for one path parameter");
  return *node.param;
}

Node& nodeAt(Node& root, std::string_view path) {
  Node* node = &root;
  std::size_t params = 0;
  for (std::string_view rest = path; !rest.empty();) {
    KJ_REQUIRE(rest.front() == '/', "a template begins with a slash");
    std::string_view segment = takeSegment(rest);
    KJ_REQUIRE(!segment.empty(), "a template has no empty segment");
    if (isParam(segment)) {
      KJ_REQUIRE(++params <= kMaxPathParams, "too many path parameters");
      node = &paramChild(*node, segment.substr(1, segment.size() - 2));
    } else {
      node = &literalChild(*node, segment);
    }
  }
  return *node;
}

Match found(const Route* route, const UnavailableRow* row, const ServiceRoute* service,
            const PathParams& params) {
  Match match;
  match.route = route;
  match.unavailable = row;
  match.service = service;
  match.params = params;
  match.kind = route != nullptr ? Match::Kind::kRoute
               : row != nullptr ? Match::Kind::kUnavailable
                                : Match::Kind::kService;
  return match;
}

Match choose(const Endpoints& at, std::string_view method, const PathParams& params) {
  if (method == "GET" || method == "HEAD") {
    if (at.takesGet()) return found(at.get, at.unavailableGet, at.service, params);
  } else if (method == "POST" && at.takesPost()) {
    return found(at.post, at.unavailablePost, nullptr, params);
  }
  if (at.unavailableAny != nullptr) return found(nullptr, at.unavailableAny, nullptr, params);
  Match refused;
  refused.kind = Match::Kind::kMethodNotAllowed;
  refused.allow = !at.takesPost() ? "GET, HEAD" : at.takesGet() ? "GET, HEAD, POST" : "POST";
  return refused;
}

// Literal segments win over parameters, both over "*".
Match walk(const Node& node, std::string_view rest, std::string_view method, PathParams& params) {
  if (rest.empty()) {
    if (!node.here.empty()) return choose(node.here, method, params);
  } else {
    std::string_view below = rest;
    std::string_view segment = takeSegment(below);
    if (const Node* child = findLiteral(node, segment)) {
      if (Match match = walk(*child, below, method, params); match.kind != Match::Kind::kNotFound)
        return match;
    }
    if (node.param != nullptr && !segment.empty() && segment.find('%') == std::string_view::npos) {
      params.push({node.paramName, segment});
      if (Match match = walk(*node.param, below, method, params); match.kind != Match::Kind::kNotFound)
        return match;
      params.pop();
    }
  }
  return node.below != nullptr ? found(nullptr, node.below, nullptr, {}) : Match{};
}

schema::Route::Reader routeAnnotation(capnp::InterfaceSchema::Method method) {
  for (auto note : method.getProto().getAnnotations()) {
    if (note.getId() == annotation::kRoute) return note.getValue().getStruct().getAs<schema::Route>();
  }
  KJ_FAIL_REQUIRE("a method of Api without $route", method.getProto().getName());
}

Route describe(capnp::InterfaceSchema::Method method) {
  auto note = routeAnnotation(method);
  Route route;
  route.method = note.getMethod();
  route.path = view(note.getPath());
  route.scope = note.getScope();
  route.summary = view(note.getSummary());
  route.successStatus = note.getSuccess();
  route.maxBodyBytes = note.getMaxBodyBytes();
  route.maxDepth = note.getMaxDepth();
  route.rpc = method;
  route.request = method.getParamType().getFieldByName("request").getType().asStruct();
  route.result = method.getResultType();
  for (auto other : method.getProto().getAnnotations()) {
    if (other.getId() == annotation::kMutating) route.effect = Effect::kMutating;
    if (other.getId() == annotation::kSnapshot) route.snapshot = view(other.getValue().getText());
  }
  KJ_REQUIRE(route.method == schema::Method::GET || route.method == schema::Method::POST,
             "a route is GET or POST");
  KJ_REQUIRE(route.scope != schema::Scope::UNSPECIFIED && route.maxDepth > 0,
             "a route without scope or depth");
  return route;
}

// The template's parameters are exactly the request's $in(path) fields.
void checkParams(const Route& route, Shapes& shapes) {
  const StructShape& request = shapes.of(route.request);
  std::size_t inPath = 0;
  for (const FieldShape& field : request.fields) {
    if (field.place != schema::Place::PATH) continue;
    ++inPath;
    std::string braces = "/{" + std::string(field.name) + "}";
    KJ_REQUIRE(route.path.find(braces) != std::string_view::npos,
               "a path field that the template does not name");
  }
  auto braces = std::count(route.path.begin(), route.path.end(), '{');
  KJ_REQUIRE(inPath == static_cast<std::size_t>(braces), "a template that names no field of the request");
}

template <typename T>
void place(const T*& slot, const T* value) {
  KJ_REQUIRE(slot == nullptr, "two routes with one method and path");
  slot = value;
}

std::string unavailableEnvelope(const UnavailableRow& row) {
  capnp::MallocMessageBuilder message;
  auto problem = message.initRoot<schema::Problem>();
  problem.setCode(schema::ProblemCode::UNAVAILABLE);
  problem.setFamily(row.family);
  if (!row.operation.empty()) problem.setOperation(std::string(row.operation).c_str());
  std::string body;
  writeProblem(problem.asReader(), body);
  return body;
}

}  // namespace

struct RouteTable::Impl {
  std::vector<Route> routes;
  std::vector<UnavailableRow> unavailable;
  Node root;

  void readSchema() {
    Shapes shapes;
    for (auto method : capnp::Schema::from<schema::Api>().getMethods()) {
      routes.push_back(describe(method));
      checkParams(routes.back(), shapes);
    }
    capnp::List<schema::UnavailableRoute>::Reader rows = *schema::UNAVAILABLE_ROUTES;
    for (auto row : rows) {
      unavailable.push_back({.method = row.getMethod(),
                             .path = view(row.getPath()),
                             .family = row.getFamily(),
                             .operation = view(row.getOperation()),
                             .envelope = {}});
      unavailable.back().envelope = unavailableEnvelope(unavailable.back());
    }
  }

  void enter(const UnavailableRow& row) {
    constexpr std::string_view kBelow = "/*";
    if (row.path.ends_with(kBelow)) {
      KJ_REQUIRE(row.method == schema::Method::ANY, "\"*\" is for any method");
      return place(nodeAt(root, row.path.substr(0, row.path.size() - kBelow.size())).below, &row);
    }
    Endpoints& here = nodeAt(root, row.path).here;
    switch (row.method) {
      case schema::Method::GET:
        KJ_REQUIRE(!here.takesGet());
        return place(here.unavailableGet, &row);
      case schema::Method::POST:
        KJ_REQUIRE(!here.takesPost());
        return place(here.unavailablePost, &row);
      case schema::Method::ANY:
        return place(here.unavailableAny, &row);
      case schema::Method::UNSPECIFIED:
        KJ_FAIL_REQUIRE("an unavailable route without a method");
    }
  }
};

RouteTable::RouteTable() : impl_(std::make_unique<Impl>()) {
  impl_->readSchema();
  for (const Route& route : impl_->routes) {
    Endpoints& here = nodeAt(impl_->root, route.path).here;
    place(route.method == schema::Method::GET ? here.get : here.post, &route);
  }
  for (const UnavailableRow& row : impl_->unavailable) impl_->enter(row);
  for (const ServiceRoute& service : kServices) {
    Endpoints& here = nodeAt(impl_->root, service.path).here;
    KJ_REQUIRE(!here.takesGet(), "two routes with one method and path");
    here.service = &service;
  }
}

RouteTable::~RouteTable() = default;

Match RouteTable::match(std::string_view method, std::string_view path) const {
  bool printable = std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (path.empty() || path.front() != '/' || !printable) return {};
  PathParams params;
  return walk(impl_->root, path, method, params);
}

std::span<const Route> RouteTable::routes() const {
  return impl_->routes;
}
std::span<const UnavailableRow> RouteTable::unavailable() const {
  return impl_->unavailable;
}
std::span<const ServiceRoute> RouteTable::services() {
  return kServices;
}

}  // namespace factionos::json
