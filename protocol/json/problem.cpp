#include <kj/debug.h>

#include "protocol/json/annotations.h"
#include "protocol/json/names.h"
#include "protocol/json/value_writer.h"
#include "protocol/json/writer.h"
#include "protocol/text.h"

namespace factionos::json {
namespace {

constexpr std::string_view kUnknownCode = "internal_error";

void beginProblem(const ProblemKind& kind, std::string_view recovery, std::string_view requestId,
                  JsonText& json) {
  json.beginObject();
  json.member("type", "urn:factionos:problem:" + kind.code);
  json.member("title", kind.title);
  json.key("status");
  json.unsignedInteger(kind.status);
  json.member("code", kind.code);
  json.key("retryable");
  json.boolean(kind.retryable);
  json.member("recovery", recovery.empty() ? kind.recovery : recovery);
  if (!requestId.empty()) json.member("instance", "urn:factionos:request:" + std::string(requestId));
}

}  // namespace

ProblemKind problemKind(schema::ProblemCode code) {
  auto enumerants = capnp::Schema::from<schema::ProblemCode>().getEnumerants();
  auto ordinal = static_cast<unsigned>(code);
  auto proto = enumerants[ordinal < enumerants.size() ? ordinal : 0].getProto();
  std::string_view name = proto.getName().cStr();
  for (auto note : proto.getAnnotations()) {
    if (note.getId() != annotation::kProblem) continue;
    auto kind = note.getValue().getStruct().getAs<schema::ProblemKind>();
    return {.status = kind.getStatus(),
            .code = name == "unspecified" ? std::string(kUnknownCode) : snakeCase(name),
            .title = view(kind.getTitle()),
            .retryable = kind.getRetryable(),
            .recovery = view(kind.getRecovery())};
  }
  KJ_FAIL_REQUIRE("a problem code without $problem", proto.getName());
}

void writeProblem(schema::Problem::Reader problem, std::string& out, std::string_view requestId) {
  JsonText json(out);
  beginProblem(problemKind(problem.getCode()), view(problem.getRecovery()), requestId, json);
  Shapes shapes;
  capnp::DynamicStruct::Reader value = problem;
  writeMembers(shapes.of(value.getSchema()), value, {"code", "recovery"}, json);
  json.endObject();
}

void writeProblem(const JsonError& error, std::string& out, std::string_view requestId) {
  JsonText json(out);
  beginProblem(problemKind(error.code), {}, requestId, json);
  if (!error.field.empty()) json.member("field", error.field);
  if (!error.detail.empty()) json.member("detail", error.detail);
  json.endObject();
}

}  // namespace factionos::json
