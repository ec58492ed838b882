// What the JSON boundary needs to know of a struct, read once from its schema and annotations.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <capnp/schema.h>

#include "protocol/schemas/http.capnp.h"

namespace factionos::json {

// kOpaque: Data, capabilities and floats, which have no JSON here.
enum class ValueKind { kVoid, kBool, kSigned, kUnsigned, kEnum, kText, kStruct, kList, kOpaque };

struct EnumShape {
  std::string name;                // "ActionState"
  std::vector<std::string> names;  // by ordinal; empty for `unspecified`, which JSON never shows
};

struct StructShape;

// A value, or an element of a list.
struct ValueShape {
  ValueKind kind = ValueKind::kOpaque;
  std::int64_t min = 0;  // of a number: the narrower of its type and its $range
  std::uint64_t max = 0;
  std::uint32_t minBytes = 0;  // of a text
  std::uint32_t maxBytes = 256;
  const EnumShape* names = nullptr;        // kEnum
  const StructShape* structure = nullptr;  // kStruct
};

struct FieldShape {
  capnp::StructSchema::Field field;
  std::string_view name;  // as a JSON member
  ValueShape value;
  ValueShape element;  // of a list
  std::uint32_t maxItems = 64;
  schema::Place place = schema::Place::BODY;
  bool required = false;
  bool hasRange = false;
  bool time = false;
  bool omitZero = false;
  bool internal = false;  // $internal or $bodyDigest: never a member
  bool bodyDigest = false;
  bool inUnion = false;

  // Whether a body may have a member of this name.
  [[nodiscard]] bool isBodyMember() const { return !internal && place == schema::Place::BODY; }
};

// More fields than any struct of ours has; a reader keeps what it has seen in one word.
inline constexpr std::size_t kMaxFields = 64;

struct StructShape {
  capnp::StructSchema schema;
  std::string name;  // "TerminalRun"
  std::vector<FieldShape> fields;
  bool tolerant = false;
  bool hasUnion = false;

  [[nodiscard]] const FieldShape* find(std::string_view jsonName) const;
};

// Grows by what it is asked for; addresses stay good as long as it lives. For one thread.
class Shapes {
 public:
  // Throws kj::Exception for a schema that the boundary can't carry (a list of lists, too many fields).
  const StructShape& of(capnp::StructSchema schema);
  const EnumShape& of(capnp::EnumSchema schema);

 private:
  void describe(FieldShape& shape);
  void annotate(FieldShape& shape);
  ValueShape value(capnp::Type type);

  std::map<std::uint64_t, std::unique_ptr<StructShape>> structs_;  // by type id
  std::map<std::uint64_t, std::unique_ptr<EnumShape>> enums_;
};

}  // namespace factionos::json
