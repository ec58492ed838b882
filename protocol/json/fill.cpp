#include "protocol/json/fill.h"

#include <algorithm>
#include <bitset>
#include <cstring>

#include "protocol/json/scalars.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::json {
namespace {

using simdjson::dom::element;

ReadResult refused(std::string_view detail) {
  return JsonError{.field = {}, .detail = std::string(detail)};
}

ReadResult wrongType() {
  return refused("The value has another type than the schema's.");
}
ReadResult outOfRange() {
  return refused("The number is out of range.");
}
ReadResult unknownValue() {
  return refused("The value is none of those that the schema lists.");
}

// Puts `name` before the field that an inner value reported.
ReadResult within(std::string_view name, ReadResult result) {
  if (!result) return result;
  std::string& field = result->field;
  if (!field.empty() && field.front() != '[') field.insert(0, ".");
  field.insert(0, name);
  return result;
}

// The text as the schema's limits allow it; an error otherwise.
ReadResult checkText(const ValueShape& shape, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return refused("The text holds a NUL.");
  if (text.size() < shape.minBytes) return refused("The text is too short.");
  if (text.size() > shape.maxBytes) return refused("The text is too long.");
  return std::nullopt;
}

void setText(const FieldShape& field, std::string_view text, capnp::DynamicStruct::Builder target) {
  auto builder = target.init(field.field, static_cast<unsigned>(text.size())).as<capnp::Text>();
  if (!text.empty()) std::memcpy(builder.begin(), text.data(), text.size());
}

std::optional<std::uint16_t> ordinalOf(const EnumShape& names, std::string_view value) {
  auto it = std::find(names.names.begin(), names.names.end(), value);
  if (it == names.names.end() || value.empty()) return std::nullopt;
  return static_cast<std::uint16_t>(it - names.names.begin());
}

bool inRange(const ValueShape& shape, std::int64_t value) {
  return value >= shape.min && (value < 0 || static_cast<std::uint64_t>(value) <= shape.max);
}

bool inRange(const ValueShape& shape, std::uint64_t value) {
  return value <= shape.max && (shape.min <= 0 || value >= static_cast<std::uint64_t>(shape.min));
}

// What a JSON value becomes; `store` takes it, as a member or as an element. Lists are not values here.
template <typename Store>
ReadResult readInteger(const ValueShape& shape, element value, Store&& store) {
  if (value.is<std::int64_t>()) {
    std::int64_t number = value.get<std::int64_t>().value_unsafe();
    if (!inRange(shape, number)) return outOfRange();
    store(capnp::DynamicValue::Reader(number));
    return std::nullopt;
  }
  if (value.is<std::uint64_t>()) {
    std::uint64_t number = value.get<std::uint64_t>().value_unsafe();
    if (!inRange(shape, number)) return outOfRange();
    store(capnp::DynamicValue::Reader(number));
    return std::nullopt;
  }
  return wrongType();
}

template <typename Store>
ReadResult readEnum(const ValueShape& shape, std::string_view value, capnp::EnumSchema schema,
                    Store&& store) {
  auto ordinal = ordinalOf(*shape.names, value);
  if (!ordinal) return unknownValue();
  store(capnp::DynamicValue::Reader(capnp::DynamicEnum(schema, *ordinal)));
  return std::nullopt;
}

class StructFiller {
 public:
  StructFiller(const StructShape& shape, capnp::DynamicStruct::Builder target)
      : shape_(shape), target_(target) {}

  ReadResult fill(simdjson::dom::object object) {
    for (auto [name, value] : object) {
      const FieldShape* field = shape_.find(name);
      if (field == nullptr || !field->isBodyMember()) {
        if (!shape_.tolerant) return unknownMember(name, value);
        continue;
      }
      if (auto error = member(*field, value)) return error;
    }
    return missing();
  }

 private:
  ReadResult member(const FieldShape& field, element value) {
    auto index = static_cast<std::size_t>(&field - shape_.fields.data());
    if (repeated_[index]) {
      return JsonError{.code = schema::ProblemCode::INVALID_JSON,
                       .field = std::string(field.name),
                       .detail = "The member is there twice."};
    }
    repeated_[index] = true;
    ReadResult error = read(field, value);
    if (!error) {
      present_[index] = true;
    } else if (forgiven(*error)) {
      target_.clear(field.field);
      return std::nullopt;
    }
    return within(field.name, std::move(error));
  }

  [[nodiscard]] bool forgiven(const JsonError& error) const {
    return shape_.tolerant && error.code != schema::ProblemCode::INVALID_JSON;
  }

  ReadResult missing() const {
    for (std::size_t i = 0; i < shape_.fields.size(); ++i) {
      const FieldShape& field = shape_.fields[i];
      if (field.required && field.isBodyMember() && !present_[i]) {
        return within(field.name, refused("A required member is missing."));
      }
    }
    return std::nullopt;
  }

  ReadResult read(const FieldShape& field, element value) {
    auto store = [&](const capnp::DynamicValue::Reader& v) { target_.set(field.field, v); };
    switch (field.value.kind) {
      case ValueKind::kBool:
        if (!value.is<bool>()) return wrongType();
        store(value.get<bool>().value_unsafe());
        return std::nullopt;
      case ValueKind::kSigned:
        if (field.time) return readTime(value, store);
        return readInteger(field.value, value, store);
      case ValueKind::kUnsigned:
        return readInteger(field.value, value, store);
      case ValueKind::kText:
        return readText(field, value);
      case ValueKind::kEnum:
        if (!value.is<std::string_view>()) return wrongType();
        return readEnum(field.value, value.get<std::string_view>().value_unsafe(),
                        field.field.getType().asEnum(), store);
      case ValueKind::kStruct:
        if (!value.is<simdjson::dom::object>()) return wrongType();
        return fillStruct(*field.value.structure, value.get<simdjson::dom::object>().value_unsafe(),
                          target_.init(field.field).as<capnp::DynamicStruct>());
      case ValueKind::kList:
        if (!value.is<simdjson::dom::array>()) return wrongType();
        return readList(field, value.get<simdjson::dom::array>().value_unsafe());
      case ValueKind::kVoid:
      case ValueKind::kOpaque:
        return wrongType();
    }
    return wrongType();
  }

  template <typename Store>
  static ReadResult readTime(element value, Store&& store) {
    if (!value.is<std::string_view>()) return wrongType();
    auto milliseconds = parseTime(value.get<std::string_view>().value_unsafe());
    if (!milliseconds) return refused("The text is no RFC 3339 time.");
    store(capnp::DynamicValue::Reader(*milliseconds));
    return std::nullopt;
  }

  ReadResult readText(const FieldShape& field, element value) {
    if (!value.is<std::string_view>()) return wrongType();
    std::string_view text = value.get<std::string_view>().value_unsafe();
    if (shape_.tolerant) text = cutAtCharacter(text, field.value.maxBytes);
    if (auto error = checkText(field.value, text)) return error;
    setText(field, text, target_);
    return std::nullopt;
  }

  ReadResult readList(const FieldShape& field, simdjson::dom::array array) {
    std::size_t size = array.size();
    // simdjson counts at most 2^24 - 1 elements and says so by that number; our limits are far below it.
    if (size > field.maxItems && !shape_.tolerant) return refused("The list has too many elements.");
    auto count = static_cast<unsigned>(std::min<std::size_t>(size, field.maxItems));
    auto list = target_.init(field.field, count).as<capnp::DynamicList>();
    unsigned index = 0;
    for (element value : array) {
      if (index == count) break;
      if (auto error = readElement(field, value, list, index)) return within("[]", std::move(error));
      ++index;
    }
    return std::nullopt;
  }

  ReadResult readElement(const FieldShape& field, element value, capnp::DynamicList::Builder list,
                         unsigned index) {
    const ValueShape& shape = field.element;
    auto store = [&](const capnp::DynamicValue::Reader& v) { list.set(index, v); };
    switch (shape.kind) {
      case ValueKind::kBool:
        if (!value.is<bool>()) return wrongType();
        store(value.get<bool>().value_unsafe());
        return std::nullopt;
      case ValueKind::kSigned:
      case ValueKind::kUnsigned:
        return readInteger(shape, value, store);
      case ValueKind::kText:
        return readTextElement(shape, value, list, index);
      case ValueKind::kEnum:
        if (!value.is<std::string_view>()) return wrongType();
        return readEnum(shape, value.get<std::string_view>().value_unsafe(),
                        list.getSchema().getEnumElementType(), store);
      case ValueKind::kStruct:
        if (!value.is<simdjson::dom::object>()) return wrongType();
        return fillStruct(*shape.structure, value.get<simdjson::dom::object>().value_unsafe(),
                          list[index].as<capnp::DynamicStruct>());
      default:
        return wrongType();
    }
  }

  ReadResult readTextElement(const ValueShape& shape, element value, capnp::DynamicList::Builder list,
                             unsigned index) const {
    if (!value.is<std::string_view>()) return wrongType();
    std::string_view text = value.get<std::string_view>().value_unsafe();
    if (shape_.tolerant) text = cutAtCharacter(text, shape.maxBytes);
    if (auto error = checkText(shape, text)) return error;
    auto builder = list.init(index, static_cast<unsigned>(text.size())).as<capnp::Text>();
    if (!text.empty()) std::memcpy(builder.begin(), text.data(), text.size());
    return std::nullopt;
  }

  const StructShape& shape_;
  capnp::DynamicStruct::Builder target_;
  std::bitset<kMaxFields> repeated_;
  std::bitset<kMaxFields> present_;
};

template <typename Parse>
ReadResult integerFromText(const FieldShape& field, std::string_view text, Parse parse,
                           capnp::DynamicStruct::Builder target) {
  auto number = parse(text);
  if (!number) return wrongType();
  if (!inRange(field.value, *number)) return outOfRange();
  target.set(field.field, *number);
  return std::nullopt;
}

ReadResult valueFromText(const FieldShape& field, std::string_view text,
                         capnp::DynamicStruct::Builder target) {
  switch (field.value.kind) {
    case ValueKind::kText: {
      if (!simdjson::validate_utf8(text.data(), text.size())) return refused("The text is not UTF-8.");
      if (auto error = checkText(field.value, text)) return error;
      setText(field, text, target);
      return std::nullopt;
    }
    case ValueKind::kEnum:
      return readEnum(field.value, text, field.field.getType().asEnum(),
                      [&](const capnp::DynamicValue::Reader& v) { target.set(field.field, v); });
    case ValueKind::kSigned:
      if (field.time) {
        auto milliseconds = parseTime(text);
        if (!milliseconds) return refused("The text is no RFC 3339 time.");
        target.set(field.field, *milliseconds);
        return std::nullopt;
      }
      return integerFromText(field, text, parseSigned, target);
    case ValueKind::kUnsigned:
      return integerFromText(field, text, parseUnsigned, target);
    case ValueKind::kBool:
      if (text != "true" && text != "false") return wrongType();
      target.set(field.field, text == "true");
      return std::nullopt;
    default:
      return wrongType();
  }
}

// A raw value is named wherever it is hidden.
std::optional<JsonError> blockedWithin(element value) {
  simdjson::dom::array items;
  if (value.get(items) == simdjson::SUCCESS) {
    for (const element item : items) {
      if (auto error = blockedWithin(item)) return error;
    }
  }
  simdjson::dom::object members;
  if (value.get(members) != simdjson::SUCCESS) return std::nullopt;
  for (const auto [name, inner] : members) {
    auto error = unknownMember(name, inner);
    if (error.code == schema::ProblemCode::BLOCKED_FIELD) return error;
  }
  return std::nullopt;
}

}  // namespace

JsonError unknownMember(std::string_view name, simdjson::dom::element value) {
  auto error = unknownMember(name);
  if (error.code == schema::ProblemCode::BLOCKED_FIELD) return error;
  return blockedWithin(value).value_or(std::move(error));
}

JsonError unknownMember(std::string_view name) {
  capnp::List<capnp::Text>::Reader blocked = *schema::BLOCKED_FIELDS;
  for (capnp::Text::Reader entry : blocked) {
    if (name != std::string_view(entry.begin(), entry.size())) continue;
    return {.code = schema::ProblemCode::BLOCKED_FIELD,
            .field = entry.cStr(),
            .detail = "Raw values of this name are not taken."};
  }
  return {.field = {}, .detail = "A member is not in the schema."};
}

ReadResult fillStruct(const StructShape& shape, simdjson::dom::object object,
                      capnp::DynamicStruct::Builder target) {
  return StructFiller(shape, target).fill(object);
}

ReadResult fillFromText(const FieldShape& field, std::string_view text,
                        capnp::DynamicStruct::Builder target) {
  return within(field.name, valueFromText(field, text, target));
}

}  // namespace factionos::json
