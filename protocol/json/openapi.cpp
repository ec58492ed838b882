#include "protocol/json/openapi.h"

#include <map>
#include <vector>

#include <capnp/schema.h>

#include "protocol/json/json_text.h"
#include "protocol/json/openapi_paths.h"
#include "protocol/json/openapi_schemas.h"
#include "protocol/json/routes.h"
#include "protocol/json/writer.h"

namespace factionos::json {
namespace {

constexpr std::string_view kDescription =
    "Local broker for guarded actions of coding agents. Members that a request's schema does not name are "
    "errors, but for "
    "POST /event. Limits of texts are bytes of UTF-8: x-factionos-minBytes and x-factionos-maxBytes are "
    "exact, minLength "
    "and maxLength are what follows from them for code points. A text never holds NUL, a body never a "
    "repeated member. "
    "Integers above 9007199254740991 are written as that number. A reply leaves out what is not known; a "
    "reader ignores "
    "members and values that it does not know.";

constexpr std::string_view kComponents =
    R"("securitySchemes":{"bearer":{"type":"http","scheme":"bearer","description":"A token of 'factionos token create', with )"
    R"(the scope that the operation names. On the unix socket the peer's uid stands for a token with read and propose. An )"
    R"(approval needs the operator key's proof besides."}},)"
    R"("parameters":{"IdempotencyKey":{"name":"Idempotency-Key","in":"header","required":true,"description":"The same key )"
    R"(with the same request gives the first outcome again.","schema":{"type":"string","minLength":1,"maxLength":255,)"
    R"("pattern":"^[!-~]+$"}}},)"
    R"("headers":{"RequestId":{"description":"Names this request in the log.","schema":{"type":"string"}},)"
    R"("IdempotencyReplayed":{"description":"true: the stored reply to the same key and request.",)"
    R"("schema":{"type":"string","enum":["true"]}}})";

struct StatusCodes {
  std::vector<std::string> all;
  std::map<unsigned, std::vector<std::string>> byStatus;
};

StatusCodes statusCodes() {
  StatusCodes codes;
  for (auto enumerant : capnp::Schema::from<schema::ProblemCode>().getEnumerants()) {
    ProblemKind kind = problemKind(static_cast<schema::ProblemCode>(enumerant.getOrdinal()));
    codes.all.push_back(kind.code);
    codes.byStatus[kind.status].push_back(kind.code);
  }
  return codes;
}

void writeStrings(const std::vector<std::string>& values, JsonText& json) {
  json.beginArray();
  for (const std::string& value : values) json.text(value);
  json.endArray();
}

// What writeProblem writes.
std::string problemSchema(const std::vector<std::string>& codes, ComponentSchemas& components) {
  std::string out;
  JsonText json(out);
  json.beginObject();
  json.member("type", "object");
  json.key("properties");
  json.beginObject();
  json.key("type");
  json.raw(R"({"type":"string","format":"uri"})");
  json.key("title");
  json.raw(R"({"type":"string"})");
  json.key("status");
  json.raw(R"({"type":"integer","minimum":400,"maximum":599})");
  json.key("code");
  json.beginObject();
  json.member("type", "string");
  json.key("enum");
  writeStrings(codes, json);
  json.endObject();
  json.key("retryable");
  json.raw(R"({"type":"boolean","description":"Whether the same request may succeed later."})");
  json.key("recovery");
  json.raw(R"({"type":"string","description":"What to do next."})");
  json.key("instance");
  json.raw(R"({"type":"string","format":"uri"})");
  Shapes shapes;
  for (const FieldShape& field : shapes.of(capnp::Schema::from<schema::Problem>()).fields) {
    if (field.internal || field.name == "code" || field.name == "recovery") continue;
    json.key(field.name);
    components.writeField(field, Direction::kReply, json);
  }
  json.endObject();
  json.key("required");
  writeStrings({"type", "title", "status", "code", "retryable", "recovery"}, json);
  json.endObject();
  return out;
}

std::string problemOfStatus(unsigned status, const std::vector<std::string>& codes) {
  std::string out;
  JsonText json(out);
  json.beginObject();
  json.key("allOf");
  json.raw(R"([{"$ref":"#/components/schemas/Problem"}])");
  json.key("properties");
  json.beginObject();
  json.key("status");
  json.beginObject();
  json.key("const");
  json.unsignedInteger(status);
  json.endObject();
  json.key("code");
  json.beginObject();
  json.key("enum");
  writeStrings(codes, json);
  json.endObject();
  json.endObject();
  json.endObject();
  return out;
}

void writeInfo(std::string_view version, JsonText& json) {
  json.member("openapi", "3.1.0");
  json.key("info");
  json.beginObject();
  json.member("title", "FactionOS");
  json.member("version", version);
  json.member("description", kDescription);
  json.key("license");
  json.raw(R"({"name":"Apache-2.0","identifier":"Apache-2.0"})");
  json.endObject();
  json.key("servers");
  json.raw(
      R"([{"url":"http://127.0.0.1:4519","description":"The default address; the unix socket speaks the same."}])");
}

}  // namespace

std::string openApiDocument(std::string_view version, Layout layout) {
  RouteTable table;
  ComponentSchemas components;
  OpenApiPaths paths(components);
  for (const Route& route : table.routes()) paths.add(route);
  for (const UnavailableRow& row : table.unavailable()) paths.add(row);
  for (const ServiceRoute& service : RouteTable::services()) paths.add(service);
  StatusCodes codes = statusCodes();
  components.add("Problem", problemSchema(codes.all, components));
  for (const auto& [status, names] : codes.byStatus) {
    components.add("Problem" + std::to_string(status), problemOfStatus(status, names));
  }

  std::string out;
  JsonText json(out);
  json.beginObject();
  writeInfo(version, json);
  json.key("paths");
  json.beginObject();
  paths.writeAll(json);
  json.endObject();
  json.key("components");
  json.beginObject();
  out += kComponents;
  json.key("responses");
  json.beginObject();
  writeProblemResponses(json);
  json.endObject();
  json.key("schemas");
  json.beginObject();
  components.writeAll(json);
  json.endObject();
  json.endObject();
  json.endObject();
  return layout == Layout::kCompact ? out : indented(out);
}

}  // namespace factionos::json
