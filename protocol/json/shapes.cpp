#include "protocol/json/shapes.h"

#include <algorithm>
#include <limits>

#include <kj/debug.h>

#include "protocol/json/annotations.h"
#include "protocol/json/names.h"

namespace factionos::json {
namespace {

template <typename Signed>
ValueShape signedShape() {
  return {.kind = ValueKind::kSigned,
          .min = std::numeric_limits<Signed>::min(),
          .max = static_cast<std::uint64_t>(std::numeric_limits<Signed>::max())};
}

template <typename Unsigned>
ValueShape unsignedShape() {
  return {.kind = ValueKind::kUnsigned, .min = 0, .max = std::numeric_limits<Unsigned>::max()};
}

void narrow(ValueShape& value, schema::Range::Reader range) {
  KJ_REQUIRE(value.kind == ValueKind::kSigned || value.kind == ValueKind::kUnsigned,
             "$range of what is no number");
  KJ_REQUIRE(range.getMax() >= range.getMin() && range.getMin() >= value.min, "impossible $range");
  KJ_REQUIRE(range.getMax() < 0 || static_cast<std::uint64_t>(range.getMax()) <= value.max,
             "impossible $range");
  value.min = range.getMin();
  value.max = range.getMax() < 0 ? 0 : static_cast<std::uint64_t>(range.getMax());
  KJ_REQUIRE(range.getMax() >= 0, "a $range that ends below zero is not supported");
}

void narrow(ValueShape& value, schema::TextLimit::Reader limit) {
  KJ_REQUIRE(value.kind == ValueKind::kText && limit.getMin() <= limit.getMax(), "impossible $text");
  value.minBytes = limit.getMin();
  value.maxBytes = limit.getMax();
}

}  // namespace

const FieldShape* StructShape::find(std::string_view jsonName) const {
  auto it = std::find_if(fields.begin(), fields.end(),
                         [jsonName](const FieldShape& f) { return f.name == jsonName; });
  return it == fields.end() ? nullptr : &*it;
}

const StructShape& Shapes::of(capnp::StructSchema schema) {
  auto proto = schema.getProto();
  auto& slot = structs_[proto.getId()];
  if (slot != nullptr) return *slot;
  slot = std::make_unique<StructShape>();  // entered before its fields are read: structs may hold themselves
  StructShape& shape = *slot;
  shape.schema = schema;
  shape.name = schema.getShortDisplayName().cStr();
  for (auto note : proto.getAnnotations()) {
    if (note.getId() == annotation::kTolerant) shape.tolerant = true;
  }
  auto fields = schema.getFields();
  KJ_REQUIRE(fields.size() <= kMaxFields, "too many fields", shape.name.c_str());
  for (auto field : fields) {
    FieldShape fieldShape;
    fieldShape.field = field;
    describe(fieldShape);
    shape.hasUnion = shape.hasUnion || fieldShape.inUnion;
    shape.fields.push_back(fieldShape);
  }
  return shape;
}

const EnumShape& Shapes::of(capnp::EnumSchema schema) {
  auto& slot = enums_[schema.getProto().getId()];
  if (slot != nullptr) return *slot;
  slot = std::make_unique<EnumShape>();
  slot->name = schema.getShortDisplayName().cStr();
  for (auto enumerant : schema.getEnumerants()) {
    std::string_view name = enumerant.getProto().getName().cStr();
    slot->names.push_back(name == "unspecified" ? std::string() : snakeCase(name));
  }
  return *slot;
}

void Shapes::describe(FieldShape& shape) {
  auto proto = shape.field.getProto();
  shape.name = proto.getName().cStr();
  shape.inUnion = proto.getDiscriminantValue() != capnp::schema::Field::NO_DISCRIMINANT;
  capnp::Type type = shape.field.getType();
  if (type.isList()) {
    capnp::Type element = type.asList().getElementType();
    KJ_REQUIRE(!element.isList(), "a list of lists has no JSON here", proto.getName());
    shape.value.kind = ValueKind::kList;
    shape.element = value(element);
  } else {
    shape.value = value(type);
  }
  annotate(shape);
}

ValueShape Shapes::value(capnp::Type type) {
  switch (type.which()) {
    case capnp::schema::Type::VOID:
      return {.kind = ValueKind::kVoid};
    case capnp::schema::Type::BOOL:
      return {.kind = ValueKind::kBool};
    case capnp::schema::Type::INT8:
      return signedShape<std::int8_t>();
    case capnp::schema::Type::INT16:
      return signedShape<std::int16_t>();
    case capnp::schema::Type::INT32:
      return signedShape<std::int32_t>();
    case capnp::schema::Type::INT64:
      return signedShape<std::int64_t>();
    case capnp::schema::Type::UINT8:
      return unsignedShape<std::uint8_t>();
    case capnp::schema::Type::UINT16:
      return unsignedShape<std::uint16_t>();
    case capnp::schema::Type::UINT32:
      return unsignedShape<std::uint32_t>();
    case capnp::schema::Type::UINT64:
      return unsignedShape<std::uint64_t>();
    case capnp::schema::Type::TEXT:
      return {.kind = ValueKind::kText};
    case capnp::schema::Type::ENUM:
      return {.kind = ValueKind::kEnum, .names = &of(type.asEnum())};
    case capnp::schema::Type::STRUCT:
      return {.kind = ValueKind::kStruct, .structure = &of(type.asStruct())};
    default:
      return {.kind = ValueKind::kOpaque};
  }
}

void Shapes::annotate(FieldShape& shape) {
  ValueShape& bounded = shape.value.kind == ValueKind::kList ? shape.element : shape.value;
  for (auto note : shape.field.getProto().getAnnotations()) {
    auto value = note.getValue();
    switch (note.getId()) {
      case annotation::kIn:
        shape.place = static_cast<schema::Place>(value.getEnum());
        break;
      case annotation::kRequired:
        shape.required = true;
        break;
      case annotation::kText:
        narrow(bounded, value.getStruct().getAs<schema::TextLimit>());
        break;
      case annotation::kItems:
        shape.maxItems = value.getUint32();
        break;
      case annotation::kRange:
        narrow(bounded, value.getStruct().getAs<schema::Range>());
        shape.hasRange = true;
        break;
      case annotation::kTime:
        shape.time = true;
        break;
      case annotation::kOmitZero:
        shape.omitZero = true;
        break;
      case annotation::kInternal:
        shape.internal = true;
        break;
      case annotation::kJsonName:
        shape.name = value.getText().cStr();
        break;
      case annotation::kBodyDigest:
        shape.internal = shape.bodyDigest = true;
        break;
      default:
        KJ_FAIL_REQUIRE("an annotation that the JSON boundary does not know", shape.name.data());
    }
  }
}

}  // namespace factionos::json
