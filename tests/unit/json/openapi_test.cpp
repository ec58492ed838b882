#include "protocol/json/openapi.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "protocol/json/routes.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::json {
namespace {

class OpenApi : public testing::Test {
 protected:
  OpenApi() : text_(openApiDocument("1.2.3")) { document_ = parser_.parse(text_); }

  simdjson::dom::element at(std::string_view pointer) { return document_.at_pointer(pointer).value(); }
  bool has(std::string_view pointer) { return document_.at_pointer(pointer).error() == simdjson::SUCCESS; }

  // Calls `visit` with every string that is the value of a "$ref".
  template <typename Visit>
  void eachReference(simdjson::dom::element element, Visit&& visit) {
    if (element.is_object()) {
      for (auto [key, value] : simdjson::dom::object(element)) {
        if (key == "$ref") visit(std::string_view(value));
        eachReference(value, visit);
      }
    } else if (element.is_array()) {
      for (auto value : simdjson::dom::array(element)) eachReference(value, visit);
    }
  }

  std::string text_;
  simdjson::dom::parser parser_;
  simdjson::dom::element document_;
};

std::string pointerOf(std::string_view path, std::string_view method) {
  std::string escaped;
  for (char c : path) escaped += c == '/' ? "~1" : std::string(1, c);
  return "/paths/" + escaped + "/" + std::string(method);
}

TEST_F(OpenApi, EveryRouteIsThere) {
  RouteTable table;
  for (const Route& route : table.routes()) {
    std::string pointer = pointerOf(route.path, route.method == schema::Method::GET ? "get" : "post");
    ASSERT_TRUE(has(pointer)) << pointer;
    EXPECT_TRUE(has(pointer + "/responses/" + std::to_string(route.successStatus))) << pointer;
    bool keyed = false;
    for (auto parameter : at(pointer + "/parameters").get_array()) {
      std::string_view ref;
      keyed = keyed || (parameter["$ref"].get(ref) == simdjson::SUCCESS && ref.ends_with("IdempotencyKey"));
    }
    EXPECT_EQ(keyed, route.effect == Effect::kMutating) << pointer;
  }
  for (const ServiceRoute& service : RouteTable::services()) EXPECT_TRUE(has(pointerOf(service.path, "get")));
}

TEST_F(OpenApi, EveryUnavailableRouteIs501WithItsEnvelope) {
  RouteTable table;
  for (const UnavailableRow& row : table.unavailable()) {
    std::string path(row.path);
    if (path.ends_with("/*")) path.resize(path.size() - 2);
    std::string pointer = pointerOf(path, row.method == schema::Method::GET ? "get" : "post") +
                          "/responses/501/content/application~1problem+json/example";
    ASSERT_TRUE(has(pointer)) << pointer;
    EXPECT_EQ(simdjson::minify(at(pointer)), row.envelope);
  }
  EXPECT_TRUE(has(pointerOf("/v1/remote/{rest}", "delete")));
}

TEST_F(OpenApi, LimitsAndDefaultsComeFromTheSchemas) {
  std::string run = "/components/schemas/TerminalRunRequest";
  EXPECT_EQ(at(run + "/properties/cols/default").get_int64().value(), 80);
  EXPECT_EQ(at(run + "/properties/cols/maximum").get_int64().value(), 1000);
  EXPECT_EQ(at(run + "/properties/command/maxItems").get_int64().value(), 1024);
  EXPECT_EQ(at(run + "/properties/command/items/x-factionos-maxBytes").get_int64().value(), 131072);
  EXPECT_EQ(at(run + "/required/0").get_string().value(), "workspace");
  EXPECT_FALSE(at(run + "/additionalProperties").get_bool().value());
  EXPECT_FALSE(has("/components/schemas/HookEventRequest/additionalProperties"));
  EXPECT_FALSE(has("/components/schemas/HookEventRequest/properties/contentDigest"));
  EXPECT_TRUE(has("/components/schemas/HookEventRequest/properties/hook_event_name"));
  EXPECT_FALSE(has("/components/schemas/SessionInputRequest/properties/id"))
      << "a path field is no body member";
  std::string query = pointerOf("/v1/terminal/sessions/{id}", "get") + "/parameters/2/schema";
  EXPECT_FALSE(has(query + "/default")) << "an absent `after` is not something to send";
}

TEST_F(OpenApi, NoEnumShowsUnspecified) {
  EXPECT_EQ(text_.find("\"unspecified\""), std::string::npos);
  EXPECT_EQ(at("/components/schemas/ActionState/enum/7").get_string().value(), "timed_out");
}

TEST_F(OpenApi, EveryReferenceLeadsSomewhereAndEveryComponentIsUsed) {
  std::set<std::string> used;
  eachReference(document_, [&](std::string_view reference) {
    ASSERT_TRUE(reference.starts_with("#/"));
    EXPECT_TRUE(has(reference.substr(1))) << reference;
    used.emplace(reference);
  });
  for (auto [name, schema] : at("/components/schemas").get_object()) {
    EXPECT_TRUE(used.contains("#/components/schemas/" + std::string(name))) << name;
  }
}

TEST_F(OpenApi, OperationIdsAreUnique) {
  std::set<std::string_view> ids;
  for (auto [path, methods] : at("/paths").get_object()) {
    for (auto [method, operation] : simdjson::dom::object(methods)) {
      EXPECT_TRUE(ids.insert(operation["operationId"].get_string().value()).second) << path << ' ' << method;
    }
  }
}

TEST_F(OpenApi, TheSameInputGivesTheSameBytes) {
  EXPECT_EQ(openApiDocument("1.2.3"), text_);
  EXPECT_EQ(simdjson::minify(parser_.parse(openApiDocument("1.2.3", Layout::kIndented)).value()), text_);
}

TEST(OpenApiDocument, TheCommittedOneIsCurrent) {
  std::ifstream file(FACTIONOS_OPENAPI_JSON);
  std::stringstream committed;
  committed << file.rdbuf();
  EXPECT_TRUE(committed.str() == openApiDocument(FACTIONOS_VERSION, Layout::kIndented))
      << "docs/openapi.json is stale: factionos-openapi > docs/openapi.json";
}

}  // namespace
}  // namespace factionos::json
