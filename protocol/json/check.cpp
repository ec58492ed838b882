#include "protocol/json/check.h"

#include <string_view>

#include <simdjson.h>

#include <capnp/message.h>

namespace factionos::json {
namespace {

bool holds(const ValueShape& shape, capnp::DynamicValue::Reader value);

bool textHolds(const ValueShape& shape, capnp::Text::Reader text) {
  const std::string_view bytes(text.begin(), text.size());
  return bytes.size() >= shape.minBytes && bytes.size() <= shape.maxBytes &&
         bytes.find('\0') == std::string_view::npos && simdjson::validate_utf8(bytes.data(), bytes.size());
}

bool numberHolds(const ValueShape& shape, capnp::DynamicValue::Reader value) {
  if (shape.kind == ValueKind::kUnsigned) {
    const auto number = value.as<std::uint64_t>();
    return (shape.min <= 0 || number >= static_cast<std::uint64_t>(shape.min)) && number <= shape.max;
  }
  const auto number = value.as<std::int64_t>();
  return number >= shape.min && (number < 0 || static_cast<std::uint64_t>(number) <= shape.max);
}

// The schema's own default, which stands for absence.
bool isDefault(const FieldShape& field, capnp::DynamicValue::Reader value) {
  capnp::MallocMessageBuilder message;
  const auto empty = message.initRoot<capnp::DynamicStruct>(field.field.getContainingStruct()).asReader();
  const auto absent = empty.get(field.field);
  return field.value.kind == ValueKind::kUnsigned ? absent.as<std::uint64_t>() == value.as<std::uint64_t>()
                                                  : absent.as<std::int64_t>() == value.as<std::int64_t>();
}

bool isPointer(ValueKind kind) {
  return kind == ValueKind::kText || kind == ValueKind::kStruct || kind == ValueKind::kList;
}

bool listHolds(const FieldShape& field, capnp::DynamicList::Reader list) {
  if (list.size() > field.maxItems) return false;
  for (const auto element : list) {
    if (!holds(field.element, element)) return false;
  }
  return true;
}

bool fieldHolds(const FieldShape& field, capnp::DynamicStruct::Reader container) {
  if (field.internal || field.inUnion) return true;
  if (isPointer(field.value.kind) && !container.has(field.field)) return !field.required;
  const auto value = container.get(field.field);
  const bool number = field.value.kind == ValueKind::kUnsigned || field.value.kind == ValueKind::kSigned;
  if (field.value.kind == ValueKind::kList) return listHolds(field, value.as<capnp::DynamicList>());
  return holds(field.value, value) || (number && !field.required && isDefault(field, value));
}

bool holds(const ValueShape& shape, capnp::DynamicValue::Reader value) {
  switch (shape.kind) {
    case ValueKind::kText:
      return textHolds(shape, value.as<capnp::Text>());
    case ValueKind::kSigned:
    case ValueKind::kUnsigned:
      return numberHolds(shape, value);
    case ValueKind::kEnum:
      return value.as<capnp::DynamicEnum>().getRaw() < shape.names->names.size();
    case ValueKind::kStruct:
      return outOfLimits(*shape.structure, value.as<capnp::DynamicStruct>()) == nullptr;
    default:
      return true;
  }
}

}  // namespace

const FieldShape* outOfLimits(const StructShape& shape, capnp::DynamicStruct::Reader value) {
  for (const auto& field : shape.fields) {
    if (!fieldHolds(field, value)) return &field;
  }
  return nullptr;
}

}  // namespace factionos::json
