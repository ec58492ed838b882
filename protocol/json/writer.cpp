#include "protocol/json/writer.h"

#include <algorithm>

#include <kj/debug.h>

#include "protocol/json/scalars.h"
#include "protocol/json/value_writer.h"

namespace factionos::json {
namespace {

void writeStructValue(const StructShape& shape, capnp::DynamicStruct::Reader value, JsonText& json) {
  json.beginObject();
  writeMembers(shape, value, {}, json);
  json.endObject();
}

std::string_view enumName(const EnumShape& names, capnp::DynamicEnum value) {
  std::uint16_t ordinal = value.getRaw();  // a newer peer may send one that is not in our schema
  return ordinal < names.names.size() ? std::string_view(names.names[ordinal]) : std::string_view();
}

void writeElement(const ValueShape& shape, capnp::DynamicValue::Reader value, JsonText& json) {
  switch (shape.kind) {
    case ValueKind::kBool:
      json.boolean(value.as<bool>());
      break;
    case ValueKind::kSigned:
      json.integer(std::clamp(value.as<std::int64_t>(), -kMaxJsonInteger, kMaxJsonInteger));
      break;
    case ValueKind::kUnsigned:
      json.unsignedInteger(std::min(value.as<std::uint64_t>(), static_cast<std::uint64_t>(kMaxJsonInteger)));
      break;
    case ValueKind::kText: {
      auto text = value.as<capnp::Text>();
      json.text({text.begin(), text.size()});
      break;
    }
    case ValueKind::kEnum: {
      auto name = enumName(*shape.names, value.as<capnp::DynamicEnum>());
      if (!name.empty()) json.text(name);
      break;
    }
    case ValueKind::kStruct:
      writeStructValue(*shape.structure, value.as<capnp::DynamicStruct>(), json);
      break;
    case ValueKind::kVoid:
      json.boolean(true);
      break;
    case ValueKind::kList:
    case ValueKind::kOpaque:
      KJ_FAIL_REQUIRE("a value of this type has no JSON");
  }
}

bool isAbsent(const FieldShape& field, capnp::DynamicStruct::Reader holder) {
  if (field.internal || !holder.has(field.field)) return true;
  switch (field.value.kind) {
    case ValueKind::kVoid:
      return !field.inUnion || field.name == "unspecified";
    case ValueKind::kBool:
      return field.omitZero && !holder.get(field.field).as<bool>();
    case ValueKind::kSigned:
      return (field.omitZero || field.time) && holder.get(field.field).as<std::int64_t>() == 0;
    case ValueKind::kUnsigned:
      return field.omitZero && holder.get(field.field).as<std::uint64_t>() == 0;
    case ValueKind::kEnum:
      return enumName(*field.value.names, holder.get(field.field).as<capnp::DynamicEnum>()).empty();
    default:
      return false;
  }
}

void writeList(const ValueShape& element, capnp::DynamicList::Reader list, JsonText& json) {
  json.beginArray();
  for (auto value : list) writeElement(element, value, json);
  json.endArray();
}

}  // namespace

void writeField(const FieldShape& field, capnp::DynamicStruct::Reader holder, JsonText& json) {
  if (isAbsent(field, holder)) return;
  auto value = holder.get(field.field);
  json.key(field.name);
  if (field.time) {
    writeTime(value.as<std::int64_t>(), json);
  } else if (field.value.kind == ValueKind::kList) {
    writeList(field.element, value.as<capnp::DynamicList>(), json);
  } else {
    writeElement(field.value, value, json);
  }
}

void writeMembers(const StructShape& shape, capnp::DynamicStruct::Reader value,
                  std::initializer_list<std::string_view> skipped, JsonText& json) {
  for (const FieldShape& field : shape.fields) {
    if (std::find(skipped.begin(), skipped.end(), field.name) == skipped.end())
      writeField(field, value, json);
  }
}

struct ReplyWriter::Impl {
  Shapes shapes;
};

ReplyWriter::ReplyWriter() : impl_(std::make_unique<Impl>()) {}
ReplyWriter::~ReplyWriter() = default;

void ReplyWriter::writeReply(capnp::DynamicStruct::Reader results, std::string& out) {
  JsonText json(out);
  json.beginObject();
  writeMembers(impl_->shapes.of(results.getSchema()), results, {"problem", "meta"}, json);
  json.endObject();
}

void ReplyWriter::writeStruct(capnp::DynamicStruct::Reader value, std::string& out) {
  JsonText json(out);
  writeStructValue(impl_->shapes.of(value.getSchema()), value, json);
}

void ReplyWriter::writeMember(capnp::DynamicStruct::Reader holder, std::string_view field, std::string& out) {
  const FieldShape* shape = impl_->shapes.of(holder.getSchema()).find(field);
  KJ_REQUIRE(shape != nullptr, "no such field");
  JsonText json(out);
  json.beginObject();
  if (shape->value.kind == ValueKind::kList && !holder.has(shape->field)) {
    json.key(shape->name);
    json.raw("[]");
  } else {
    writeField(*shape, holder, json);
  }
  json.endObject();
}

}  // namespace factionos::json
