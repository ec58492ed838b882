// Structs with random values within the limits of their schema, the same for the same seed.
#pragma once

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include <capnp/dynamic.h>

#include "protocol/json/scalars.h"
#include "protocol/json/shapes.h"
#include "protocol/json/writer.h"

namespace factionos::json {

class RandomFill {
 public:
  explicit RandomFill(std::uint32_t seed) : random_(seed) {}

  void fill(const StructShape& shape, capnp::DynamicStruct::Builder target, int depth = 0) {
    std::vector<const FieldShape*> alternatives;
    for (const FieldShape& field : shape.fields) {
      if (field.inUnion) {
        alternatives.push_back(&field);
      } else if (!field.internal && (field.required || below(4) != 0)) {
        set(field, target, depth);
      }
    }
    if (!alternatives.empty()) set(*alternatives[below(alternatives.size())], target, depth);
  }

 private:
  // Deeper than any struct of ours that does not hold itself.
  static constexpr int kMaxDepth = 5;

  std::uint64_t below(std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(random_);
  }

  void set(const FieldShape& field, capnp::DynamicStruct::Builder target, int depth) {
    if (field.value.kind == ValueKind::kList) {
      fillList(field, target, depth);
    } else if (field.value.kind == ValueKind::kStruct) {
      if (depth == kMaxDepth) return;
      fill(*field.value.structure, target.init(field.field).as<capnp::DynamicStruct>(), depth + 1);
    } else if (field.time) {
      target.set(field.field, static_cast<std::int64_t>(below(200000000000000)));
    } else {
      target.set(field.field, scalar(field.value, field.field.getType()));
    }
  }

  void fillList(const FieldShape& field, capnp::DynamicStruct::Builder target, int depth) {
    auto size = static_cast<unsigned>(below(std::min<std::uint64_t>(field.maxItems, 5) + 1));
    bool isStruct = field.element.kind == ValueKind::kStruct;
    if (isStruct && depth == kMaxDepth) size = 0;
    auto list = target.init(field.field, size).as<capnp::DynamicList>();
    for (unsigned i = 0; i < size; ++i) {
      if (isStruct) {
        fill(*field.element.structure, list[i].as<capnp::DynamicStruct>(), depth + 1);
      } else {
        list.set(i, scalar(field.element, list.getSchema().getElementType()));
      }
    }
  }

  // Good until the next call.
  capnp::DynamicValue::Reader scalar(const ValueShape& shape, capnp::Type type) {
    switch (shape.kind) {
      case ValueKind::kVoid:
        return capnp::VOID;
      case ValueKind::kBool:
        return below(2) == 0;
      case ValueKind::kSigned:
        return number(shape);
      case ValueKind::kUnsigned:
        return static_cast<std::uint64_t>(number(shape));
      case ValueKind::kText:
        text_ = text(shape);
        return capnp::Text::Reader(text_.c_str(), text_.size());
      case ValueKind::kEnum:
        return enumValue(type.asEnum());
      default:
        return nullptr;
    }
  }

  std::string text(const ValueShape& shape) {
    static constexpr std::array<std::string_view, 12> kPieces = {"a",
                                                                 "Z9",
                                                                 "\"",
                                                                 "\\",
                                                                 "\n",
                                                                 "\x01",
                                                                 "\x7f",
                                                                 "\xC2\x85",
                                                                 "\xC3\xA9",
                                                                 "\xE2\x80\xA8",
                                                                 "\xF0\x9F\x98\x80",
                                                                 "{[:,"};
    std::string out;
    std::size_t size =
        shape.minBytes + below(std::min<std::uint64_t>(shape.maxBytes - shape.minBytes, 60) + 1);
    while (out.size() < size) out += kPieces[below(kPieces.size())];
    out = std::string(cutAtCharacter(out, size));
    out.resize(std::max<std::size_t>(out.size(), shape.minBytes), '.');
    return out;
  }

  std::int64_t number(const ValueShape& shape) {
    std::int64_t low = std::max(shape.min, -kMaxJsonInteger);
    auto high = static_cast<std::int64_t>(std::min<std::uint64_t>(shape.max, kMaxJsonInteger));
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  capnp::DynamicEnum enumValue(capnp::EnumSchema schema) {
    auto count = schema.getEnumerants().size();
    bool hasUnspecified = schema.getEnumerants()[0].getProto().getName() == "unspecified";
    auto ordinal = hasUnspecified ? 1 + below(count - 1) : below(count);
    return {schema, static_cast<std::uint16_t>(ordinal)};
  }

  std::mt19937 random_;
  std::string text_;
};

}  // namespace factionos::json
