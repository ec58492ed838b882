#include "protocol/json/openapi_paths.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

#include "protocol/json/names.h"
#include "protocol/json/writer.h"

namespace factionos::json {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kProblemJson = "application/problem+json";
constexpr std::array<std::string_view, 5> kAnyMethod = {"get", "post", "put", "patch", "delete"};

void writeRef(std::string_view kind, std::string_view name, JsonText& json) {
  json.beginObject();
  json.member("$ref", "#/components/" + std::string(kind) + "/" + std::string(name));
  json.endObject();
}

void memberRef(std::string_view member, std::string_view kind, std::string_view name, JsonText& json) {
  json.key(member);
  writeRef(kind, name, json);
}

std::string scopeName(schema::Scope scope) {
  auto enumerants = capnp::Schema::from<schema::Scope>().getEnumerants();
  return snakeCase(enumerants[static_cast<unsigned>(scope)].getProto().getName().cStr());
}

// No scope named: any valid token will do.
void writeSecurity(schema::Scope scope, JsonText& json) {
  json.key("security");
  json.beginArray();
  json.beginObject();
  json.key("bearer");
  json.beginArray();
  if (scope != schema::Scope::UNSPECIFIED) json.text(scopeName(scope));
  json.endArray();
  json.endObject();
  json.endArray();
  if (scope != schema::Scope::UNSPECIFIED) json.member("x-factionos-scope", scopeName(scope));
}

void writeNoSecurity(JsonText& json) {
  json.key("security");
  json.beginArray();
  json.endArray();
}

void writeProblems(std::initializer_list<unsigned> statuses, JsonText& json) {
  for (unsigned status : statuses) {
    memberRef(std::to_string(status), "responses", "Problem" + std::to_string(status), json);
  }
}

void writeContent(std::string_view type, std::string_view schema, JsonText& json) {
  json.key("content");
  json.beginObject();
  json.key(type);
  json.beginObject();
  memberRef("schema", "schemas", schema, json);
  json.endObject();
  json.endObject();
}

// "post /v1/git/branch-create" is "post_v1_git_branch_create".
std::string operationId(std::string_view method, std::string_view path) {
  std::string id = std::string(method) + std::string(path);
  id.erase(std::remove_if(id.begin(), id.end(), [](char c) { return c == '{' || c == '}'; }), id.end());
  std::replace_if(
      id.begin(), id.end(), [](char c) { return c == '/' || c == '-' || c == '.'; }, '_');
  return id;
}

void writeTextParameter(std::string_view name, std::string_view description, JsonText& json) {
  json.beginObject();
  json.member("name", name);
  json.member("in", "path");
  json.key("required");
  json.boolean(true);
  json.member("description", description);
  json.key("schema");
  json.raw(R"({"type":"string"})");
  json.endObject();
}

std::string unavailableOperation(const UnavailableRow& row, std::string_view method, std::string_view path) {
  std::string out;
  JsonText json(out);
  json.beginObject();
  json.member("operationId", operationId(method, path));
  json.member("summary",
              "Not implemented: " + std::string(row.operation == "any" ? row.path : row.operation));
  writeSecurity(schema::Scope::UNSPECIFIED, json);
  json.member("x-factionos-posture", "unavailable");
  if (path.find('{') != std::string_view::npos) {
    json.key("parameters");
    json.beginArray();
    bool isRest = path.ends_with("/{rest}");
    writeTextParameter(isRest ? "rest" : "id", isRest ? "One or more segments." : "An id.", json);
    json.endArray();
  }
  json.key("responses");
  json.beginObject();
  writeProblems({401, 403, 429}, json);
  json.key("501");
  json.beginObject();
  json.member("description", "The same bytes every time, whatever was sent.");
  json.key("content");
  json.beginObject();
  json.key(kProblemJson);
  json.beginObject();
  memberRef("schema", "schemas", "Problem", json);
  json.key("example");
  json.raw(row.envelope);
  json.endObject();
  json.endObject();
  json.endObject();
  memberRef("default", "responses", "Problem", json);
  json.endObject();
  json.endObject();
  return out;
}

bool hasAction(const Route& route) {
  for (auto field : route.result.getFields()) {
    if (field.getProto().getName() == "action") return true;
  }
  return false;
}

std::string replyName(const Route& route) {
  std::string name = route.rpc.getProto().getName().cStr();
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name + "Reply";
}

void writeSuccess(const Route& route, unsigned status, std::string_view description, JsonText& json) {
  json.key(std::to_string(status));
  json.beginObject();
  json.member("description", description);
  json.key("headers");
  json.beginObject();
  memberRef("X-Request-Id", "headers", "RequestId", json);
  if (route.effect == Effect::kMutating)
    memberRef("Idempotency-Replayed", "headers", "IdempotencyReplayed", json);
  json.endObject();
  writeContent(kJson, replyName(route), json);
  json.endObject();
}

void writeServiceReply(const ServiceRoute& service, JsonText& json) {
  bool isSocket = service.service == Service::kStream;
  json.key(isSocket ? "101" : "200");
  json.beginObject();
  json.member("description", isSocket ? "The WebSocket is open." : "The reply.");
  if (!isSocket) {
    bool isJson = service.contentType == kJson;
    json.key("content");
    json.beginObject();
    json.key(service.contentType);
    json.raw(isJson ? R"({"schema":{"type":"object"}})" : R"({"schema":{"type":"string"}})");
    json.endObject();
  }
  json.endObject();
}

}  // namespace

void OpenApiPaths::writeParameters(const Route& route, const StructShape& request, JsonText& json) {
  json.key("parameters");
  json.beginArray();
  for (const FieldShape& field : request.fields) {
    if (field.internal || field.place == schema::Place::BODY) continue;
    json.beginObject();
    json.member("name", field.name);
    json.member("in", field.place == schema::Place::PATH ? "path" : "query");
    json.key("required");
    json.boolean(field.required || field.place == schema::Place::PATH);
    json.key("schema");
    components_.writeField(field, Direction::kRequest, json);
    json.endObject();
  }
  if (route.effect == Effect::kMutating) writeRef("parameters", "IdempotencyKey", json);
  json.endArray();
}

void OpenApiPaths::writeRequestBody(const Route& route, const StructShape& request, JsonText& json) {
  bool required = std::any_of(request.fields.begin(), request.fields.end(),
                              [](const FieldShape& f) { return f.isBodyMember() && f.required; });
  json.key("requestBody");
  json.beginObject();
  json.key("required");
  json.boolean(required);
  json.key("content");
  json.beginObject();
  json.key(kJson);
  json.beginObject();
  json.key("schema");
  components_.writeReference(request, Direction::kRequest, json);
  json.endObject();
  json.endObject();
  json.key("x-factionos-maxBodyBytes");
  json.unsignedInteger(route.maxBodyBytes);
  json.key("x-factionos-maxDepth");
  json.unsignedInteger(route.maxDepth);
  json.endObject();
}

void OpenApiPaths::writeResponses(const Route& route, JsonText& json) {
  bool mutating = route.effect == Effect::kMutating;
  json.key("responses");
  json.beginObject();
  writeSuccess(route, route.successStatus, "The reply.", json);
  // A guarded request that policy answers with "ask" is a proposed action first.
  if (mutating && route.successStatus == 201 && hasAction(route)) {
    writeSuccess(route, 202, "The action waits for a decision.", json);
  }
  writeProblems({400, 401, 403}, json);
  if (route.path.find('{') != std::string_view::npos) writeProblems({404}, json);
  if (mutating) writeProblems({409}, json);
  if (route.method == schema::Method::POST) writeProblems({413, 415}, json);
  if (mutating) writeProblems({422}, json);
  writeProblems({429, 503}, json);
  if (mutating) writeProblems({504}, json);
  memberRef("default", "responses", "Problem", json);
  json.endObject();
}

void OpenApiPaths::add(const Route& route) {
  const StructShape& request = shapes_.of(route.request);
  components_.add(replyName(route),
                  components_.object(shapes_.of(route.result), Direction::kReply, {"problem", "meta"}));
  std::string out;
  JsonText json(out);
  json.beginObject();
  json.member("operationId", route.rpc.getProto().getName().cStr());
  json.member("summary", route.summary);
  writeSecurity(route.scope, json);
  writeParameters(route, request, json);
  if (route.method == schema::Method::POST) writeRequestBody(route, request, json);
  writeResponses(route, json);
  json.endObject();
  operations_[std::string(route.path)][route.method == schema::Method::GET ? "get" : "post"] = out;
}

void OpenApiPaths::add(const UnavailableRow& row) {
  std::string path(row.path);
  if (row.method != schema::Method::ANY) {
    std::string method = row.method == schema::Method::GET ? "get" : "post";
    operations_[path][method] = unavailableOperation(row, method, path);
    return;
  }
  if (path.ends_with("/*")) path.resize(path.size() - 2);
  for (std::string_view method : kAnyMethod) {
    for (const std::string& each : {path, path + "/{rest}"}) {
      operations_[each][std::string(method)] = unavailableOperation(row, method, each);
      if (!row.path.ends_with("/*")) break;
    }
  }
}

void OpenApiPaths::add(const ServiceRoute& service) {
  std::string out;
  JsonText json(out);
  json.beginObject();
  json.member("operationId", operationId("get", service.path));
  json.member("summary", service.summary);
  if (service.scope == schema::Scope::UNSPECIFIED) {
    writeNoSecurity(json);
  } else {
    writeSecurity(service.scope, json);
  }
  json.key("responses");
  json.beginObject();
  writeServiceReply(service, json);
  if (service.service != Service::kHealth) writeProblems({400, 401, 403, 429, 503}, json);
  memberRef("default", "responses", "Problem", json);
  json.endObject();
  json.endObject();
  operations_[std::string(service.path)]["get"] = out;
}

void OpenApiPaths::writeAll(JsonText& json) const {
  for (const auto& [path, methods] : operations_) {
    json.key(path);
    json.beginObject();
    for (const auto& [method, operation] : methods) {
      json.key(method);
      json.raw(operation);
    }
    json.endObject();
  }
}

void writeProblemResponses(JsonText& json) {
  std::map<unsigned, std::set<std::string>> codes;
  for (auto enumerant : capnp::Schema::from<schema::ProblemCode>().getEnumerants()) {
    ProblemKind kind = problemKind(static_cast<schema::ProblemCode>(enumerant.getOrdinal()));
    codes[kind.status].insert(kind.code);
  }
  json.key("Problem");
  json.beginObject();
  json.member("description", "A problem of any status.");
  writeContent(kProblemJson, "Problem", json);
  json.endObject();
  for (const auto& [status, names] : codes) {
    json.key("Problem" + std::to_string(status));
    json.beginObject();
    std::string description;
    for (const std::string& name : names) description += (description.empty() ? "" : ", ") + name;
    json.member("description", description);
    writeContent(kProblemJson, "Problem" + std::to_string(status), json);
    json.endObject();
  }
}

}  // namespace factionos::json
