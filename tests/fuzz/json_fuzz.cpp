// The JSON boundary under libFuzzer. Input: one byte for the route, one for the length of the query, the
// query, the body; the same bytes are matched as a path.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <capnp/message.h>

#include "protocol/json/canonical.h"
#include "protocol/json/reader.h"
#include "protocol/json/routes.h"
#include "protocol/json/shapes.h"
#include "protocol/json/writer.h"

namespace {

namespace json = factionos::json;

void require(bool truth) {
  if (!truth) std::abort();
}

struct Boundary {
  json::RouteTable table;
  json::RequestReader reader;
  json::ReplyWriter writer;
  json::Shapes shapes;
};

Boundary& boundary() {
  static Boundary instance;
  return instance;
}

json::PathParams pathOf(const json::Route& route) {
  json::PathParams params;
  if (route.path.find("{id}") != std::string_view::npos)
    params.push({"id", "act_01234567890123456789012345"});
  return params;
}

// An error speaks of the schema alone.
void checkError(const json::JsonError& error) {
  for (char c : error.field) {
    bool isName = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    require(isName || c == '_' || c == '.' || c == '[' || c == ']');
  }
  require(!json::problemKind(error.code).code.empty());
}

void clearAllButBody(const json::StructShape& shape, capnp::DynamicStruct::Builder request) {
  for (const json::FieldShape& field : shape.fields) {
    if (!field.isBodyMember()) request.clear(field.field);
  }
}

// What was read is written, read again, and is the same.
void checkRoundTrip(const json::Route& route, capnp::DynamicStruct::Builder request) {
  Boundary& b = boundary();
  if (route.method == factionos::schema::Method::GET) return;
  const json::StructShape& shape = b.shapes.of(route.request);
  clearAllButBody(shape, request);
  std::string text;
  b.writer.writeStruct(request.asReader(), text);
  json::Route roomy = route;
  roomy.maxBodyBytes = UINT32_MAX;  // escapes may have made it longer
  capnp::MallocMessageBuilder message;
  auto copy = message.initRoot<capnp::DynamicStruct>(route.request);
  auto body = kj::arrayPtr(text.data(), text.size()).asBytes();
  require(!b.reader.read(roomy, body, pathOf(route), {}, copy));
  clearAllButBody(shape, copy);
  require(json::canonicalBytes(request.asReader()) == json::canonicalBytes(copy.asReader()));
}

void checkMatch(std::string_view path) {
  auto match = boundary().table.match("GET", path);
  for (const json::PathParam& param : match.params.all()) {
    require(param.value.data() >= path.data() &&
            param.value.data() + param.value.size() <= path.data() + path.size());
    require(!param.value.empty() && param.value.find_first_of("/%") == std::string_view::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  Boundary& b = boundary();
  auto routes = b.table.routes();
  const json::Route& route = routes[data[0] % routes.size()];
  std::string input(data + 2, data + size);
  std::string_view query = std::string_view(input).substr(0, data[1]);
  std::string_view body = std::string_view(input).substr(query.size());
  checkMatch(input);

  capnp::MallocMessageBuilder message;
  auto request = message.initRoot<capnp::DynamicStruct>(route.request);
  auto bytes = kj::arrayPtr(body.data(), body.size()).asBytes();
  auto error = b.reader.read(route, bytes, pathOf(route), query, request);
  if (error) {
    checkError(*error);
  } else {
    checkRoundTrip(route, request);
  }
  return 0;
}
