#include "tests/canary/requests.h"

#include <algorithm>
#include <array>

#include "protocol/schemas/api.capnp.h"

namespace factionos::test {
namespace {

using json::FieldShape;
using json::StructShape;
using json::ValueKind;

constexpr std::size_t kDeepest = 3;  // hook events hold themselves

// Names of things in a repository, which are labels on a card as those of files are.
constexpr std::array<std::string_view, 10> kNamesOfGit{"file", "files",     "filesBase64", "branch", "name",
                                                       "from", "directory", "remote",      "commit", "to"};

Category categoryOf(std::string_view route, const FieldShape& field) {
  if (route.starts_with("/v1/git/") && std::ranges::find(kNamesOfGit, field.name) != kNamesOfGit.end())
    return Category::kFileName;
  if (field.name == "command" || field.name == "shell") return Category::kCommand;
  if (field.name == "data") return Category::kTerminalInput;
  if (field.name == "path") return Category::kFileName;
  if (field.name == "content" || field.name == "oldText" || field.name == "newText")
    return Category::kFileContents;
  if (field.name == "name") return Category::kQueueEntry;
  if (field.name == "reason") return Category::kProposalRationale;
  if (field.name == "proof") return Category::kAuthorizationValue;
  return Category::kRequestBody;
}

std::string methodOf(schema::Method method) {
  return method == schema::Method::GET ? "GET" : "POST";
}

std::string plainStruct(const StructShape& shape);

// A valid value, so that what is planted elsewhere gets as far as it can.
std::string plain(const FieldShape& field) {
  if (field.time) return "\"2030-01-01T00:00:00.000Z\"";
  switch (field.value.kind) {
    case ValueKind::kText:
      if (field.name == "workspace") return "\"demo\"";
      if (field.name == "kind") return "\"container\"";
      if (field.name == "template") return "\"echo\"";
      return '"' + std::string(std::max<std::size_t>(field.value.minBytes, 4), 'x') + '"';
    case ValueKind::kSigned:
    case ValueKind::kUnsigned:
      return std::to_string(std::max<std::int64_t>(field.value.min, 1));
    case ValueKind::kBool:
      return "true";
    case ValueKind::kEnum:
      return '"' +
             *std::ranges::find_if(field.value.names->names, [](const auto& name) { return !name.empty(); }) +
             '"';
    case ValueKind::kList:
      return field.element.kind == ValueKind::kStruct ? '[' + plainStruct(*field.element.structure) + ']'
                                                      : "[]";
    case ValueKind::kStruct:
      return plainStruct(*field.value.structure);
    default:
      return "{}";
  }
}

std::string plainStruct(const StructShape& shape) {
  std::string members;
  for (const auto& field : shape.fields) {
    if (field.required)
      members += (members.empty() ? "\"" : ",\"") + std::string(field.name) + "\":" + plain(field);
  }
  return '{' + members + '}';
}

// What a struct needs beside its required members before the others are looked at.
bool isNeeded(const StructShape& shape, const FieldShape& field, const FieldShape* planted) {
  const auto plants = [planted](std::string_view one, std::string_view other) {
    return planted != nullptr && (planted->name == one || planted->name == other);
  };
  if (shape.name.starts_with("File") && field.name == "path") return !plants("path", "pathBase64");
  if (shape.name == "FileWrite" && field.name == "content") return !plants("content", "contentBase64");
  if (shape.name == "GitStage" && field.name == "all") return !plants("files", "filesBase64");
  return shape.name == "TerminalRun" && field.name == "shell" &&
         (planted == nullptr || (planted->name != "shell" && planted->name != "command"));
}

}  // namespace

// The path with `value` in the place of `name`, and real ids in all the others.
std::string Requests::target(std::string path, std::string_view name, const std::string& value) const {
  const auto whole = path;
  for (auto open = path.find('{'); open != path.npos; open = path.find('{')) {
    const auto close = path.find('}', open);
    const bool here = path.substr(open + 1, close - open - 1) == name;
    path.replace(open, close - open + 1, here ? value : idFor_(whole));
  }
  return path;
}

std::string Requests::body(const StructShape& shape, const Path& path, std::size_t depth,
                           const std::string& canary) const {
  std::string members;
  const auto* planted = depth < path.size() ? path[depth] : nullptr;
  for (const auto& field : shape.fields) {
    const bool onPath = planted == &field;
    if (!field.isBodyMember() || !(onPath || field.required || isNeeded(shape, field, planted))) continue;
    std::string value;
    if (!onPath) {
      value = plain(field);
    } else if (depth + 1 == path.size()) {
      value = field.value.kind == ValueKind::kList ? "[\"" + canary + "\"]" : '"' + canary + '"';
    } else if (field.value.kind == ValueKind::kList) {
      value = '[' + body(*field.element.structure, path, depth + 1, canary) + ']';
    } else {
      value = body(*field.value.structure, path, depth + 1, canary);
    }
    members += (members.empty() ? "\"" : ",\"") + std::string(field.name) + "\":" + value;
  }
  return '{' + members + '}';
}

void Requests::ofMember(const json::Route& route, const Path& path) {
  const auto& field = *path.front();
  std::string origin = methodOf(route.method) + ' ' + std::string(route.path) + ' ';
  for (const auto* each : path) origin += '.' + std::string(each->name);
  const auto canary = canaries_.plant(categoryOf(route.path, *path.back()), origin);
  Request request{.method = methodOf(route.method), .planted = origin};
  request.target =
      target(std::string(route.path), field.place == schema::Place::PATH ? field.name : "", canary);
  if (field.place == schema::Place::QUERY) request.target += '?' + std::string(field.name) + '=' + canary;
  if (route.method != schema::Method::GET)
    request.body =
        body(shapes_.of(route.request), field.place == schema::Place::BODY ? path : Path{}, 0, canary);
  request.headers.emplace_back("Idempotency-Key", "sweep-" + std::to_string(canaries_.planted()));
  requests_.push_back(std::move(request));
}

void Requests::walk(const json::Route& route, const StructShape& shape, Path& path) {
  for (const auto& field : shape.fields) {
    if (field.internal || field.bodyDigest) continue;
    const auto& value = field.value.kind == ValueKind::kList ? field.element : field.value;
    path.push_back(&field);
    // Numbers, enums and Booleans too: a text in their place is an error that must not repeat it.
    ofMember(route, path);
    if (value.kind == ValueKind::kStruct && path.size() < kDeepest) walk(route, *value.structure, path);
    path.pop_back();
  }
}

void Requests::around(const std::string& method, const std::string& path) {
  const auto at = target(path.ends_with("/*") ? path.substr(0, path.size() - 2) : path, "", "");
  const auto origin = method + ' ' + path + ' ';
  const auto with = [&](std::string where, Category category, auto make) {
    auto request = make(canaries_.plant(category, origin + where));
    request.method = method;
    request.planted = origin + where;
    requests_.push_back(std::move(request));
  };
  for (const char* name :
       {"User-Agent", "Cookie", "Origin", "Referer", "X-Request-Id", "Host", "X-Forwarded-For",
        "Content-Type", "Accept", "If-None-Match", "Sec-WebSocket-Protocol"}) {
    with(name, Category::kRequestBody, [&](const std::string& canary) {
      return Request{.target = at, .headers = {{name, canary}}};
    });
  }
  with("credentials", Category::kAuthorizationValue, [&](const std::string& canary) {
    return Request{.target = at, .headers = {{"Authorization", "Bearer " + canary}}};
  });
  with("scheme", Category::kAuthorizationValue, [&](const std::string& canary) {
    return Request{.target = at, .headers = {{"Authorization", canary + " x"}}};
  });
  with("query name", Category::kRequestBody,
       [&](const std::string& canary) { return Request{.target = at + "?" + canary + "=1"}; });
  with("path", Category::kRequestBody,
       [&](const std::string& canary) { return Request{.target = at + "/" + canary}; });
  if (method != "GET") aroundBody(method, at, origin);
}

void Requests::aroundBody(const std::string& method, const std::string& target, const std::string& origin) {
  const auto plant = [&](const std::string& where) {
    return canaries_.plant(Category::kRequestBody, origin + where);
  };
  const auto raw = [&](const std::string& before, const std::string& after, const std::string& where) {
    requests_.push_back({.method = method,
                         .target = target,
                         .body = before + plant(where) + after,
                         .headers = {{"Idempotency-Key", "sweep-" + std::to_string(canaries_.planted())}},
                         .planted = origin + where});
  };
  raw("{\"", "\":1}", "member name");
  raw("", "", "body that is no JSON");
  raw("{\"workspace\":\"", "", "body that ends early");
  raw("[\"", "\"]", "body that is a list");
  raw("{\"workspace\":\"demo\",\"workspace\":\"", "\"}", "member that comes twice");
  raw("{\"workspace\":\"\xff", "\"}", "text that is no UTF-8");
  // Raw names are refused by name.
  capnp::List<capnp::Text>::Reader blocked = *schema::BLOCKED_FIELDS;
  for (const auto name : blocked) raw("{\"" + std::string(name.cStr()) + "\":\"", "\"}", name.cStr());
  // Last: a body that is empty may be a whole request, and end what the id names.
  requests_.push_back({.method = method,
                       .target = target,
                       .body = "{}",
                       .headers = {{"Idempotency-Key", plant("key")}},
                       .planted = origin + "key"});
}

std::vector<Request> Requests::of(const json::Route& route) {
  Path path;
  walk(route, shapes_.of(route.request), path);
  around(methodOf(route.method), std::string(route.path));
  return take();
}

std::vector<Request> Requests::of(const json::UnavailableRow& row) {
  around(methodOf(row.method), std::string(row.path));
  return take();
}

std::vector<Request> Requests::of(const json::ServiceRoute& route) {
  around("GET", std::string(route.path));
  return take();
}

}  // namespace factionos::test
