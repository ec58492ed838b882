// JSON in: body, path parameters and query become one request struct, by the schema's own reflection.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <capnp/dynamic.h>
#include <kj/common.h>

#include "protocol/json/routes.h"
#include "protocol/schemas/common.capnp.h"

namespace factionos::json {

// Why a request was refused. Neither text ever holds a byte of the sender's.
struct JsonError {
  schema::ProblemCode code = schema::ProblemCode::INVALID_REQUEST;
  std::string field;  // dotted names of the schema: "approval.expectedRevision", "command[]"; empty: the body
                      // as a whole
  std::string detail;  // a fixed sentence
};

using ReadResult = std::optional<JsonError>;  // empty: the request was read

// One reader serves one thread; it keeps its buffers between requests and gives back those of large bodies.
// Construct it before a sandbox is entered: it initialises libsodium.
class RequestReader {
 public:
  RequestReader();
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Fills `request`, a fresh struct of the type route.request. After an error it is half filled: drop it.
  //
  // Refused: JSON that is malformed, not UTF-8, begins with a byte order mark, holds a number beyond 64 bits
  // or double, a lone surrogate or a repeated member (invalid_json); a body above route.maxBodyBytes
  // (too_large); nesting above route.maxDepth, an unknown member, a wrong type (null and 1.0 for an integer
  // too), a limit of the schema broken, NUL in text, a required member missing (invalid_request); a raw field
  // of schema::BLOCKED_FIELDS (blocked_field); a path parameter that breaks its limits (not_found). An empty
  // body counts as {}. A GET takes no body.
  //
  // A $tolerant struct drops unknown members, wrong types and broken limits, cuts long text at a character
  // and long lists, reads a lone surrogate as U+FFFD and ignores numbers of any size; malformed JSON, and a
  // member of its own that is repeated, are errors there too.
  //
  // `rawQuery` is the part of the target after '?', as it was received.
  [[nodiscard]] ReadResult read(const Route& route, kj::ArrayPtr<const kj::byte> body,
                                const PathParams& params, std::string_view rawQuery,
                                capnp::DynamicStruct::Builder request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct QueryPair {
  std::string name;
  std::string value;
};

// Strict: name=value joined by '&', each percent-decoded once, '+' is a plus. Refused: a pair without '=' or
// without a name, a broken escape, a byte outside of printable ASCII, a repeated name, more than 16 pairs.
// Empty gives none.
[[nodiscard]] ReadResult parseQuery(std::string_view raw, std::vector<QueryPair>& pairs);

}  // namespace factionos::json
