// JSON out: structs become JSON by the schema's own reflection; problems become application/problem+json (RFC
// 9457).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <capnp/dynamic.h>

#include "protocol/json/reader.h"
#include "protocol/schemas/common.capnp.h"

namespace factionos::json {

// The largest integer that every JSON reader keeps exactly (RFC 8259, section 6). What lies beyond is written
// as this number, respectively its negative.
inline constexpr std::int64_t kMaxJsonInteger = 9007199254740991;

// Every member that is not null is written under its JSON name, in the schema's order. Not written: $internal
// and $bodyDigest fields, zeros of $omitZero and $time, enums that are `unspecified` or unknown, inactive
// union members. An active Void member of a union is `true` ({"running":true}). Data and capabilities have no
// JSON: a struct that carries one outside of $internal throws kj::Exception. All functions append to `out`.
// One writer serves one thread.
class ReplyWriter {
 public:
  ReplyWriter();
  ~ReplyWriter();
  ReplyWriter(const ReplyWriter&) = delete;
  ReplyWriter& operator=(const ReplyWriter&) = delete;

  // The results of an Api method: all members but `problem` and `meta`.
  void writeReply(capnp::DynamicStruct::Reader results, std::string& out);
  // A struct of any schema.
  void writeStruct(capnp::DynamicStruct::Reader value, std::string& out);
  // {"<field>": value}: a reply made of one field of a Snapshot. A null list is [], a null struct leaves {}.
  void writeMember(capnp::DynamicStruct::Reader holder, std::string_view field, std::string& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct ProblemKind {
  std::uint16_t status = 500;
  std::string
      code;  // "stale_revision"; of `unspecified` and of codes that this build does not know "internal_error"
  std::string_view title;
  bool retryable = false;
  std::string_view recovery;
};

[[nodiscard]] ProblemKind problemKind(schema::ProblemCode code);

// Appends the body. `requestId`, where given, becomes the member "instance" as "urn:factionos:request:ID".
void writeProblem(schema::Problem::Reader problem, std::string& out, std::string_view requestId = {});
void writeProblem(const JsonError& error, std::string& out, std::string_view requestId = {});

}  // namespace factionos::json
