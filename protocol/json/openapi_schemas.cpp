#include "protocol/json/openapi_schemas.h"

#include <algorithm>
#include <vector>

#include <capnp/dynamic.h>
#include <capnp/message.h>
#include <kj/debug.h>

#include "protocol/json/writer.h"

namespace factionos::json {
namespace {

constexpr std::uint64_t kMaxUnsigned = static_cast<std::uint64_t>(kMaxJsonInteger);

void writeRef(std::string_view name, JsonText& json) {
  json.beginObject();
  json.member("$ref", "#/components/schemas/" + std::string(name));
  json.endObject();
}

void number(std::string_view name, std::uint64_t value, JsonText& json) {
  json.key(name);
  json.unsignedInteger(value);
}

void writeIntegerLimits(const ValueShape& value, JsonText& json) {
  json.key("minimum");
  json.integer(std::max(value.min, -kMaxJsonInteger));
  number("maximum", std::min(value.max, kMaxUnsigned), json);
}

// JSON Schema counts code points, we count bytes: a code point has 1 to 4 of them, so these bounds are
// necessary and the members of ours are exact.
void writeTextLimits(const ValueShape& value, JsonText& json) {
  number("minLength", (value.minBytes + 3) / 4, json);
  number("maxLength", value.maxBytes, json);
  number("x-factionos-minBytes", value.minBytes, json);
  number("x-factionos-maxBytes", value.maxBytes, json);
}

// The default of a number that may be left out, where it is not zero and one could send it as well.
void writeDefault(const FieldShape& field, JsonText& json) {
  bool isNumber = field.value.kind == ValueKind::kSigned || field.value.kind == ValueKind::kUnsigned;
  if (!isNumber || field.time || field.required) return;
  capnp::MallocMessageBuilder message;
  auto empty = message.initRoot<capnp::DynamicStruct>(field.field.getContainingStruct()).asReader();
  auto value = empty.get(field.field).as<std::int64_t>();
  if (value <= 0 || value < field.value.min || static_cast<std::uint64_t>(value) > field.value.max) return;
  json.key("default");
  json.integer(value);
}

bool isShown(const FieldShape& field, Direction direction) {
  if (field.internal) return false;
  bool unionless = field.value.kind == ValueKind::kVoid && (!field.inUnion || field.name == "unspecified");
  return !unionless && (direction == Direction::kReply || field.isBodyMember());
}

bool isRequired(const FieldShape& field, Direction direction) {
  if (direction == Direction::kRequest) return field.required;
  if (field.inUnion || field.omitZero || field.time) return false;
  ValueKind kind = field.value.kind;
  return kind == ValueKind::kBool || kind == ValueKind::kSigned || kind == ValueKind::kUnsigned;
}

// Exactly one of a union's members, unless none is one of the possibilities.
void writeAlternatives(const StructShape& shape, JsonText& json) {
  auto isNone = [](const FieldShape& f) { return f.inUnion && f.name == "unspecified"; };
  if (!shape.hasUnion || std::any_of(shape.fields.begin(), shape.fields.end(), isNone)) return;
  json.key("oneOf");
  json.beginArray();
  for (const FieldShape& field : shape.fields) {
    if (!field.inUnion) continue;
    json.beginObject();
    json.key("required");
    json.beginArray();
    json.text(field.name);
    json.endArray();
    json.endObject();
  }
  json.endArray();
}

void writeRequired(const std::vector<std::string_view>& names, JsonText& json) {
  if (names.empty()) return;
  json.key("required");
  json.beginArray();
  for (std::string_view name : names) json.text(name);
  json.endArray();
}

}  // namespace

void ComponentSchemas::writeEnumReference(const EnumShape& shape, JsonText& json) {
  std::string schema;
  JsonText text(schema);
  text.beginObject();
  text.member("type", "string");
  text.key("enum");
  text.beginArray();
  for (const std::string& name : shape.names) {
    if (!name.empty()) text.text(name);
  }
  text.endArray();
  text.endObject();
  add(shape.name, std::move(schema));
  writeRef(shape.name, json);
}

void ComponentSchemas::writeReference(const StructShape& shape, Direction direction, JsonText& json) {
  if (shape.schema.getProto().getStruct().getIsGroup()) return json.raw(object(shape, direction, {}));
  std::string name = direction == Direction::kRequest ? shape.name + "Request" : shape.name;
  if (components_.try_emplace(name).second) {  // entered before it is described: a struct may hold itself
    std::string schema = object(shape, direction, {});
    components_[name] = std::move(schema);
  }
  writeRef(name, json);
}

void ComponentSchemas::writeValue(const ValueShape& value, Direction direction, JsonText& json) {
  if (value.kind == ValueKind::kEnum) return writeEnumReference(*value.names, json);
  if (value.kind == ValueKind::kStruct) return writeReference(*value.structure, direction, json);
  json.beginObject();
  switch (value.kind) {
    case ValueKind::kBool:
      json.member("type", "boolean");
      break;
    case ValueKind::kSigned:
    case ValueKind::kUnsigned:
      json.member("type", "integer");
      writeIntegerLimits(value, json);
      break;
    case ValueKind::kText:
      json.member("type", "string");
      if (direction == Direction::kRequest) writeTextLimits(value, json);
      break;
    case ValueKind::kVoid:
      json.member("type", "boolean");
      json.key("const");
      json.boolean(true);
      break;
    default:
      KJ_FAIL_REQUIRE("a value of this type has no JSON");
  }
  json.endObject();
}

void ComponentSchemas::writeField(const FieldShape& field, Direction direction, JsonText& json) {
  std::string schema;
  JsonText text(schema);
  if (field.value.kind == ValueKind::kList) {
    text.beginObject();
    text.member("type", "array");
    text.key("items");
    writeValue(field.element, direction, text);
    if (direction == Direction::kRequest) number("maxItems", field.maxItems, text);
    text.endObject();
  } else if (field.time) {
    text.beginObject();
    text.member("type", "string");
    text.member("format", "date-time");
    text.endObject();
  } else {
    writeValue(field.value, direction, text);
    if (direction == Direction::kRequest) {
      schema.pop_back();
      writeDefault(field, text);
      schema += '}';
    }
  }
  json.raw(schema);
}

void ComponentSchemas::add(const std::string& name, std::string schema) {
  auto [entry, isNew] = components_.try_emplace(name, schema);
  KJ_REQUIRE(isNew || entry->second == schema, "two components of one name", name.c_str());
}

std::string ComponentSchemas::object(const StructShape& shape, Direction direction,
                                     std::initializer_list<std::string_view> skipped) {
  std::string schema;
  JsonText json(schema);
  std::vector<std::string_view> required;
  json.beginObject();
  json.member("type", "object");
  json.key("properties");
  json.beginObject();
  for (const FieldShape& field : shape.fields) {
    bool isSkipped = std::find(skipped.begin(), skipped.end(), field.name) != skipped.end();
    if (isSkipped || !isShown(field, direction)) continue;
    json.key(field.name);
    writeField(field, direction, json);
    if (isRequired(field, direction)) required.push_back(field.name);
  }
  json.endObject();
  writeRequired(required, json);
  writeAlternatives(shape, json);
  if (direction == Direction::kRequest && !shape.tolerant) {
    json.key("additionalProperties");
    json.boolean(false);
  }
  json.endObject();
  return schema;
}

void ComponentSchemas::writeAll(JsonText& json) const {
  for (const auto& [name, schema] : components_) {
    json.key(name);
    json.raw(schema);
  }
}

}  // namespace factionos::json
