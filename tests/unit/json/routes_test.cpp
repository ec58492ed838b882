#include "protocol/json/routes.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "protocol/schemas/api.capnp.h"

namespace factionos::json {
namespace {

using Kind = Match::Kind;

const RouteTable& table() {
  static const RouteTable instance;
  return instance;
}

TEST(Routes, EveryMethodOfApiIsFoundUnderItsOwnPathAndMethod) {
  auto methods = capnp::Schema::from<schema::Api>().getMethods();
  ASSERT_EQ(table().routes().size(), methods.size());
  for (const Route& route : table().routes()) {
    std::string path(route.path);
    if (auto at = path.find("{id}"); at != std::string::npos) path.replace(at, 4, "act_1");
    const char* method = route.method == schema::Method::GET ? "GET" : "POST";
    Match match = table().match(method, path);
    ASSERT_EQ(match.kind, Kind::kRoute) << path;
    EXPECT_EQ(match.route, &route) << path;
    EXPECT_EQ(match.params.size(), path == route.path ? 0U : 1U);
  }
}

TEST(Routes, AnnotationsReachTheRoute) {
  Match match = table().match("POST", "/v1/terminal/run");
  ASSERT_EQ(match.kind, Kind::kRoute);
  EXPECT_EQ(match.route->scope, schema::Scope::PROPOSE);
  EXPECT_EQ(match.route->successStatus, 201);
  EXPECT_EQ(match.route->effect, Effect::kMutating);
  EXPECT_EQ(match.route->request, capnp::Schema::from<schema::TerminalRun>());
  EXPECT_EQ(match.route->rpc.getProto().getName(), "terminalRun");
  Match event = table().match("POST", "/event");
  EXPECT_EQ(event.route->maxBodyBytes, 8388608U);
  EXPECT_EQ(event.route->maxDepth, 64);
  EXPECT_EQ(event.route->effect, Effect::kReadOnly);
  EXPECT_EQ(table().match("GET", "/v1/diagnostics").route->snapshot, "diagnostics");
  EXPECT_EQ(table().match("GET", "/v1/actions").route->snapshot, "");
}

TEST(Routes, APathParameterIsAViewIntoThePath) {
  std::string path = "/v1/actions/act_01/approve";
  Match match = table().match("POST", path);
  ASSERT_EQ(match.kind, Kind::kRoute);
  ASSERT_EQ(match.params.size(), 1U);
  EXPECT_EQ(match.params.all()[0].name, "id");
  EXPECT_EQ(match.params.all()[0].value, "act_01");
  EXPECT_EQ(match.params.all()[0].value.data(), path.data() + 12);
}

TEST(Routes, HeadCountsAsGet) {
  EXPECT_EQ(table().match("HEAD", "/v1/actions").route, table().match("GET", "/v1/actions").route);
  EXPECT_EQ(table().match("HEAD", "/healthz").kind, Kind::kService);
}

TEST(Routes, AnotherMethodNamesWhatIsAllowed) {
  EXPECT_EQ(table().match("POST", "/v1/actions").allow, "GET, HEAD");
  EXPECT_EQ(table().match("GET", "/v1/terminal/run").allow, "POST");
  for (const char* method : {"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", ""}) {
    Match match = table().match(method, "/v1/diagnostics");
    EXPECT_EQ(match.kind, Kind::kMethodNotAllowed) << method;
    EXPECT_EQ(match.allow, "GET, HEAD");
  }
  EXPECT_EQ(table().match("GET", "/v1/git/status").kind, Kind::kMethodNotAllowed);
  EXPECT_EQ(table().match("POST", "/healthz").kind, Kind::kMethodNotAllowed);
}

TEST(Routes, PathsThatAreNotOursAreNotFound) {
  for (std::string_view path : {"",
                                "/",
                                "//",
                                "v1/actions",
                                "/v1",
                                "/v1/",
                                "/v1/actions/",
                                "/v1//actions",
                                "/v1/actions/x/",
                                "/v1/actions/x/y",
                                "/V1/actions",
                                "/v1/actions/%61ct",
                                "/v1/%61ctions",
                                "/v1/actions/a b",
                                "/v1/actions/\x7f",
                                "/v1/actions/\xc3\xa9",
                                "/v1/actions#x",
                                "/v1/./actions",
                                "/v1/x/../actions",
                                "/v1/git",
                                "/v1/git/none",
                                "/v1/actions/{id}/none",
                                "/event/",
                                "/events",
                                "/healthz/x"}) {
    EXPECT_EQ(table().match("GET", path).kind, Kind::kNotFound) << path;
    EXPECT_EQ(table().match("POST", path).kind, Kind::kNotFound) << path;
  }
  EXPECT_EQ(table().match("GET", std::string_view("/v1/actions\0", 12)).kind, Kind::kNotFound);
}

TEST(Routes, EveryUnavailableRowIsFound) {
  ASSERT_EQ(table().unavailable().size(), (*schema::UNAVAILABLE_ROUTES).size());
  for (const UnavailableRow& row : table().unavailable()) {
    std::string path(row.path);
    if (path.ends_with("/*")) path.resize(path.size() - 2);
    if (auto at = path.find("{id}"); at != std::string::npos) path.replace(at, 4, "x");
    Match match = table().match(row.method == schema::Method::GET ? "GET" : "POST", path);
    ASSERT_EQ(match.kind, Kind::kUnavailable) << path;
    EXPECT_EQ(match.unavailable, &row) << path;
  }
}

TEST(Routes, AStarTakesItsPathAndEverythingBelowByAnyMethod) {
  for (std::string_view path :
       {"/v1/remote", "/v1/remote/", "/v1/remote/a", "/v1/remote/a/b//c", "/v1/remote/%2e%2e"}) {
    for (std::string_view method : {"GET", "HEAD", "POST", "DELETE", "BREW"}) {
      Match match = table().match(method, path);
      ASSERT_EQ(match.kind, Kind::kUnavailable) << method << ' ' << path;
      EXPECT_EQ(match.unavailable->family, schema::Family::REMOTE);
    }
  }
  EXPECT_EQ(table().match("GET", "/v1/remotely").kind, Kind::kNotFound);
}

TEST(Routes, TheUnavailableEnvelopeIsOneFixedText) {
  RouteTable other;
  for (std::size_t i = 0; i < table().unavailable().size(); ++i) {
    EXPECT_EQ(table().unavailable()[i].envelope, other.unavailable()[i].envelope);
  }
  EXPECT_EQ(
      table().match("POST", "/v1/git/merge").unavailable->envelope,
      R"({"type":"urn:factionos:problem:unavailable","title":"Not implemented","status":501,"code":"unavailable",)"
      R"("retryable":false,"recovery":"See /v1/diagnostics for what is available.","family":"git","operation":"merge"})");
}

TEST(Routes, ServicesOfTheFrontAreInTheTable) {
  std::set<Service> seen;
  for (const ServiceRoute& service : RouteTable::services()) {
    Match match = table().match("GET", service.path);
    ASSERT_EQ(match.kind, Kind::kService) << service.path;
    EXPECT_EQ(match.service->service, service.service);
    seen.insert(service.service);
  }
  EXPECT_EQ(seen.size(), 6U);
}

}  // namespace
}  // namespace factionos::json
