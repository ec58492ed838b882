#include "protocol/json/reader.h"

#include <algorithm>
#include <bitset>
#include <cstring>

#include <simdjson.h>
#include <sodium.h>

#include <kj/debug.h>

#include "protocol/json/fill.h"
#include "protocol/json/repair.h"
#include "protocol/json/shapes.h"

namespace factionos::json {
namespace {

// Buffers beyond this are given back after the request: a few large hook events should not keep a front
// large.
constexpr std::size_t kKeptBytes = 256 * 1024;

JsonError parseError(simdjson::error_code error) {
  using schema::ProblemCode;
  switch (error) {
    case simdjson::UTF8_ERROR:
      return {.code = ProblemCode::INVALID_JSON, .field = {}, .detail = "The body is not UTF-8."};
    case simdjson::DEPTH_ERROR:
      return {.field = {}, .detail = "The body is nested too deeply."};
    case simdjson::CAPACITY:
      return {
          .code = ProblemCode::TOO_LARGE, .field = {}, .detail = "The body is larger than this route takes."};
    case simdjson::MEMALLOC:
      return {.code = ProblemCode::UNSPECIFIED, .field = {}, .detail = {}};
    case simdjson::STRING_ERROR:
    case simdjson::UNESCAPED_CHARS:
      return {.code = ProblemCode::INVALID_JSON,
              .field = {},
              .detail = "A string holds what JSON does not allow."};
    case simdjson::NUMBER_ERROR:
      return {
          .code = ProblemCode::INVALID_JSON, .field = {}, .detail = "A number is malformed or too large."};
    default:
      return {
          .code = ProblemCode::INVALID_JSON, .field = {}, .detail = "The body is not one whole JSON value."};
  }
}

bool hasByteOrderMark(kj::ArrayPtr<const kj::byte> body) {
  return body.size() >= 3 && body[0] == 0xEF && body[1] == 0xBB && body[2] == 0xBF;
}

ReadResult fillFromPath(const StructShape& shape, const PathParams& params,
                        capnp::DynamicStruct::Builder request) {
  for (const PathParam& param : params.all()) {
    const FieldShape* field = shape.find(param.name);
    KJ_REQUIRE(field != nullptr && field->place == schema::Place::PATH,
               "the route's template and request differ");
    if (auto error = fillFromText(*field, param.value, request)) {
      error->code = schema::ProblemCode::NOT_FOUND;  // a path names a thing, and there is none of that name
      return error;
    }
  }
  return std::nullopt;
}

ReadResult fillFromQuery(const StructShape& shape, std::string_view raw,
                         capnp::DynamicStruct::Builder request) {
  std::vector<QueryPair> pairs;
  if (auto error = parseQuery(raw, pairs)) return error;
  for (const QueryPair& pair : pairs) {
    const FieldShape* field = shape.find(pair.name);
    if (field == nullptr || field->internal || field->place != schema::Place::QUERY)
      return unknownMember(pair.name);
    if (auto error = fillFromText(*field, pair.value, request)) return error;
  }
  for (const FieldShape& field : shape.fields) {
    if (!field.required || field.place != schema::Place::QUERY) continue;
    bool present =
        std::any_of(pairs.begin(), pairs.end(), [&](const QueryPair& p) { return p.name == field.name; });
    if (!present)
      return JsonError{.field = std::string(field.name), .detail = "A required parameter is missing."};
  }
  return std::nullopt;
}

}  // namespace

struct RequestReader::Impl {
  Shapes shapes;
  simdjson::dom::parser parser;
  std::vector<char> buffer;

  simdjson::simdjson_result<simdjson::dom::element> parse(kj::ArrayPtr<const kj::byte> body,
                                                          std::size_t maxDepth) {
    // simdjson refuses the level that it was told; an empty object or array there is not counted by it.
    std::size_t capacity = std::max(body.size(), parser.capacity());
    if (auto error = parser.allocate(capacity, maxDepth + 1)) return error;
    buffer.resize(body.size() + simdjson::SIMDJSON_PADDING);
    std::memcpy(buffer.data(), body.begin(), body.size());
    return parser.parse(buffer.data(), body.size(), false);
  }

  simdjson::simdjson_result<simdjson::dom::element> parseTolerant(kj::ArrayPtr<const kj::byte> body,
                                                                  std::size_t maxDepth) {
    auto result = parse(body, maxDepth);
    auto error = result.error();
    if (error == simdjson::SUCCESS || error == simdjson::UTF8_ERROR || error == simdjson::DEPTH_ERROR)
      return result;
    if (repairTolerated(kj::arrayPtr(buffer.data(), body.size())) == 0) return result;
    return parser.parse(buffer.data(), body.size(), false);
  }

  ReadResult fillFromBody(const Route& route, const StructShape& shape, kj::ArrayPtr<const kj::byte> body,
                          capnp::DynamicStruct::Builder request) {
    if (body.size() == 0) body = kj::StringPtr("{}").asBytes();
    if (hasByteOrderMark(body)) return parseError(simdjson::TAPE_ERROR);
    auto parsed = shape.tolerant ? parseTolerant(body, route.maxDepth) : parse(body, route.maxDepth);
    if (parsed.error() != simdjson::SUCCESS) return parseError(parsed.error());
    simdjson::dom::element root = parsed.value_unsafe();
    if (!root.is<simdjson::dom::object>())
      return JsonError{.field = {}, .detail = "The body is not an object."};
    return fillStruct(shape, root.get<simdjson::dom::object>().value_unsafe(), request);
  }

  void release(std::size_t bodyBytes) {
    if (bodyBytes <= kKeptBytes) return;
    parser = simdjson::dom::parser();
    buffer = std::vector<char>();
  }
};

RequestReader::RequestReader() : impl_(std::make_unique<Impl>()) {
  KJ_REQUIRE(sodium_init() >= 0, "libsodium");
}
RequestReader::~RequestReader() = default;

ReadResult RequestReader::read(const Route& route, kj::ArrayPtr<const kj::byte> body,
                               const PathParams& params, std::string_view rawQuery,
                               capnp::DynamicStruct::Builder request) {
  const StructShape& shape = impl_->shapes.of(route.request);
  if (body.size() > route.maxBodyBytes) return parseError(simdjson::CAPACITY);
  if (auto error = fillFromPath(shape, params, request)) return error;
  if (auto error = fillFromQuery(shape, rawQuery, request)) return error;
  if (route.method == schema::Method::GET) {
    if (body.size() == 0) return std::nullopt;
    return JsonError{.field = {}, .detail = "This route takes no body."};
  }
  ReadResult error = impl_->fillFromBody(route, shape, body, request);
  impl_->release(body.size());
  if (error) return error;
  for (const FieldShape& field : shape.fields) {
    if (!field.bodyDigest) continue;
    auto digest = request.init(field.field, crypto_generichash_BYTES).as<capnp::Data>();
    crypto_generichash(digest.begin(), digest.size(), body.begin(), body.size(), nullptr, 0);
  }
  return std::nullopt;
}

}  // namespace factionos::json
