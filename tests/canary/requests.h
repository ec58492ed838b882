#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "http.h"
#include "protocol/json/routes.h"
#include "protocol/json/shapes.h"
#include "tests/canary/canaries.h"

namespace factionos::test {

struct Request {
  std::string method;
  std::string target;
  std::string body;
  Headers headers;
  std::string planted;  // where the canary lies, for a failure's message
};

// The id of something real that the path is about, so that a request gets as far as it can.
using IdFor = std::function<std::string(std::string_view path)>;

// Every request that plants a canary in a place of a route: each member of its request struct, found by
// reflection, in path, query and body; members that the route does not know; its headers, its key, its
// credentials; and bodies that are no JSON.
class Requests {
 public:
  Requests(Canaries& canaries, IdFor idFor) : canaries_(canaries), idFor_(std::move(idFor)) {}

  std::vector<Request> of(const json::Route& route);
  std::vector<Request> of(const json::UnavailableRow& row);
  std::vector<Request> of(const json::ServiceRoute& route);

 private:
  using Path = std::vector<const json::FieldShape*>;
  void ofMember(const json::Route& route, const Path& path);
  void walk(const json::Route& route, const json::StructShape& shape, Path& path);
  void around(const std::string& method, const std::string& path);
  void aroundBody(const std::string& method, const std::string& target, const std::string& origin);
  std::string body(const json::StructShape& shape, const Path& path, std::size_t depth,
                   const std::string& canary) const;
  std::string target(std::string path, std::string_view name, const std::string& value) const;
  std::vector<Request> take() { return std::exchange(requests_, {}); }

  Canaries& canaries_;
  IdFor idFor_;
  json::Shapes shapes_;
  std::vector<Request> requests_;
};

}  // namespace factionos::test
