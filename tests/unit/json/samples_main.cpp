// Prints what the writer writes, one {"schema", "value"} a line, for a check against the schemas of
// openapi.json: requests that the reader takes, replies of every route, problems of every code.
#include <cstdio>
#include <string>

#include <capnp/message.h>

#include "protocol/json/routes.h"
#include "protocol/json/writer.h"
#include "tests/unit/json/fixture.h"
#include "tests/unit/json/random_fill.h"

namespace factionos::json {
namespace {

constexpr std::uint32_t kSeeds = 40;

void print(const std::string& schema, const std::string& value) {
  std::printf("{\"schema\":\"%s\",\"value\":%s}\n", schema.c_str(), value.c_str());
}

void printReplies(const Route& route, Shapes& shapes, ReplyWriter& writer) {
  std::string name = route.rpc.getProto().getName().cStr();
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    capnp::MallocMessageBuilder message;
    auto results = message.initRoot<capnp::DynamicStruct>(route.result);
    RandomFill(seed).fill(shapes.of(route.result), results);
    std::string out;
    writer.writeReply(results.asReader(), out);
    print(name + "Reply", out);
  }
}

// The members of the body alone: path and query fields are cleared.
void printRequests(const Route& route, Shapes& shapes, ReplyWriter& writer) {
  const StructShape& shape = shapes.of(route.request);
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    capnp::MallocMessageBuilder message;
    auto request = message.initRoot<capnp::DynamicStruct>(route.request);
    RandomFill(seed).fill(shape, request);
    for (const FieldShape& field : shape.fields) {
      if (!field.isBodyMember()) request.clear(field.field);
    }
    std::string out;
    writer.writeStruct(request.asReader(), out);
    print(shape.name + "Request", out);
  }
}

void printProblems() {
  Shapes shapes;
  auto schema = capnp::Schema::from<schema::Problem>();
  for (auto enumerant : capnp::Schema::from<schema::ProblemCode>().getEnumerants()) {
    capnp::MallocMessageBuilder message;
    auto problem = message.initRoot<schema::Problem>();
    RandomFill(enumerant.getOrdinal()).fill(shapes.of(schema), problem);
    problem.setCode(static_cast<schema::ProblemCode>(enumerant.getOrdinal()));
    std::string out;
    writeProblem(problem.asReader(), out, "req_1");
    print("Problem" + std::to_string(problemKind(problem.getCode()).status), out);
  }
}

}  // namespace
}  // namespace factionos::json

int main() {
  using namespace factionos::json;
  RouteTable table;
  Shapes shapes;
  ReplyWriter writer;
  for (const Route& route : table.routes()) {
    printReplies(route, shapes, writer);
    if (route.method == factionos::schema::Method::POST) printRequests(route, shapes, writer);
  }
  printProblems();
  return 0;
}
