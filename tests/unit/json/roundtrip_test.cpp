// What goes out is read back: by simdjson against the struct, and by our own reader into an equal struct.
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "protocol/json/canonical.h"
#include "protocol/json/scalars.h"
#include "protocol/json/shapes.h"
#include "protocol/json/writer.h"
#include "protocol/schemas/api.capnp.h"
#include "tests/unit/json/fixture.h"
#include "tests/unit/json/sample.capnp.h"

namespace factionos::json {
namespace {

class RandomFill {
 public:
  explicit RandomFill(std::uint32_t seed) : random_(seed) {}

  void fill(const StructShape& shape, capnp::DynamicStruct::Builder target, int depth) {
    for (const FieldShape& field : shape.fields) {
      if (field.internal || field.inUnion || (!field.required && below(4) == 0)) continue;
      if (field.value.kind == ValueKind::kList) {
        fillList(field, target, depth);
      } else if (field.value.kind == ValueKind::kStruct) {
        // A struct that is half filled would not be read back, so recursion ends by leaving it out.
        if (depth < 5)
          fill(*field.value.structure, target.init(field.field).as<capnp::DynamicStruct>(), depth + 1);
      } else if (field.value.kind != ValueKind::kVoid) {
        setScalar(field, target);
      }
    }
  }

 private:
  std::uint64_t below(std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(random_);
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

  std::int64_t signedNumber(const ValueShape& shape) {
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

  void setScalar(const FieldShape& field, capnp::DynamicStruct::Builder target) {
    const ValueShape& shape = field.value;
    switch (shape.kind) {
      case ValueKind::kBool:
        target.set(field.field, below(2) == 0);
        break;
      case ValueKind::kSigned:
        target.set(field.field,
                   field.time ? static_cast<std::int64_t>(below(200000000000000)) : signedNumber(shape));
        break;
      case ValueKind::kUnsigned:
        target.set(field.field, static_cast<std::uint64_t>(signedNumber(shape)));
        break;
      case ValueKind::kText:
        target.set(field.field, capnp::Text::Reader(text(shape).c_str()));
        break;
      case ValueKind::kEnum:
        target.set(field.field, enumValue(field.field.getType().asEnum()));
        break;
      default:
        break;
    }
  }

  void fillList(const FieldShape& field, capnp::DynamicStruct::Builder target, int depth) {
    auto size = static_cast<unsigned>(below(std::min<std::uint64_t>(field.maxItems, 5) + 1));
    if (field.element.kind == ValueKind::kStruct && depth >= 5) size = 0;
    auto list = target.init(field.field, size).as<capnp::DynamicList>();
    for (unsigned i = 0; i < size; ++i) {
      const ValueShape& shape = field.element;
      switch (shape.kind) {
        case ValueKind::kBool:
          list.set(i, below(2) == 0);
          break;
        case ValueKind::kSigned:
          list.set(i, signedNumber(shape));
          break;
        case ValueKind::kUnsigned:
          list.set(i, static_cast<std::uint64_t>(signedNumber(shape)));
          break;
        case ValueKind::kText:
          list.set(i, capnp::Text::Reader(text(shape).c_str()));
          break;
        case ValueKind::kEnum:
          list.set(i, enumValue(list.getSchema().getEnumElementType()));
          break;
        case ValueKind::kStruct:
          fill(*shape.structure, list[i].as<capnp::DynamicStruct>(), depth + 1);
          break;
        default:
          break;
      }
    }
  }

  std::mt19937 random_;
};

// The struct as simdjson sees it: every member is there, with its value, and nothing else is.
class Compare {
 public:
  static void structure(const StructShape& shape, capnp::DynamicStruct::Reader value,
                        simdjson::dom::element json) {
    simdjson::dom::object object;
    ASSERT_EQ(json.get(object), simdjson::SUCCESS);
    std::size_t seen = 0;
    for (const FieldShape& field : shape.fields) {
      simdjson::dom::element member;
      if (object.at_key(field.name).get(member) != simdjson::SUCCESS) continue;
      ++seen;
      ASSERT_FALSE(field.internal);
      auto expected = value.get(field.field);
      if (field.value.kind == ValueKind::kList) {
        list(field, expected.as<capnp::DynamicList>(), member);
      } else if (field.time) {
        ASSERT_EQ(parseTime(member.get_string().value()), expected.as<std::int64_t>());
      } else {
        scalar(field.value, expected, member);
      }
    }
    ASSERT_EQ(seen, object.size()) << shape.name;
  }

 private:
  static void list(const FieldShape& field, capnp::DynamicList::Reader expected,
                   simdjson::dom::element json) {
    simdjson::dom::array array;
    ASSERT_EQ(json.get(array), simdjson::SUCCESS);
    ASSERT_EQ(array.size(), expected.size());
    unsigned index = 0;
    for (auto element : array) scalar(field.element, expected[index++], element);
  }

  static void scalar(const ValueShape& shape, capnp::DynamicValue::Reader expected,
                     simdjson::dom::element json) {
    switch (shape.kind) {
      case ValueKind::kBool:
        ASSERT_EQ(json.get_bool().value(), expected.as<bool>());
        break;
      case ValueKind::kSigned:
        ASSERT_EQ(json.get_int64().value(), expected.as<std::int64_t>());
        break;
      case ValueKind::kUnsigned:
        ASSERT_EQ(json.get_uint64().value(), expected.as<std::uint64_t>());
        break;
      case ValueKind::kText:
        ASSERT_EQ(json.get_string().value(), std::string_view(expected.as<capnp::Text>().cStr()));
        break;
      case ValueKind::kEnum:
        ASSERT_EQ(json.get_string().value(), shape.names->names[expected.as<capnp::DynamicEnum>().getRaw()]);
        break;
      case ValueKind::kStruct:
        structure(*shape.structure, expected.as<capnp::DynamicStruct>(), json);
        break;
      default:
        ASSERT_TRUE(json.get_bool().value());
        break;
    }
  }
};

template <typename Struct>
void writeAndCompare(std::uint32_t seeds) {
  Shapes shapes;
  const StructShape& shape = shapes.of(capnp::Schema::from<Struct>());
  ReplyWriter writer;
  simdjson::dom::parser parser;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<capnp::DynamicStruct>(shape.schema);
    RandomFill(seed).fill(shape, root, 0);
    std::string out;
    writer.writeStruct(root.asReader(), out);
    simdjson::dom::element json;
    simdjson::padded_string padded(out);
    ASSERT_EQ(parser.parse(padded).get(json), simdjson::SUCCESS) << out;
    Compare::structure(shape, root.asReader(), json);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << ' ' << out;
  }
}

template <typename Struct>
void writeAndRead(std::uint32_t seeds) {
  Shapes shapes;
  const StructShape& shape = shapes.of(capnp::Schema::from<Struct>());
  ReplyWriter writer;
  RequestReader reader;
  Route route = routeOf<Struct>();
  route.maxDepth = 16;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<capnp::DynamicStruct>(shape.schema);
    RandomFill(seed).fill(shape, root, 0);
    std::string out;
    writer.writeStruct(root.asReader(), out);
    capnp::MallocMessageBuilder second;
    auto copy = second.initRoot<capnp::DynamicStruct>(shape.schema);
    ReadResult error = reader.read(route, bytes(out), {}, {}, copy);
    ASSERT_FALSE(error) << error->field << ": " << error->detail << ' ' << out;
    if (shape.find("contentDigest") != nullptr) copy.clear("contentDigest");
    ASSERT_EQ(canonicalBytes(root.asReader()), canonicalBytes(copy.asReader())) << out;
  }
}

TEST(RoundTrip, SimdjsonReadsBackWhatWasWritten) {
  writeAndCompare<schema::Action>(200);
  writeAndCompare<schema::Session>(200);
  writeAndCompare<schema::Diagnostics>(100);
  writeAndCompare<schema::CommandCenter>(30);
  writeAndCompare<schema::AuditRecord>(100);
  writeAndCompare<schema::AuditVerdict>(50);
  writeAndCompare<sample::Sample>(300);
}

TEST(RoundTrip, TheReaderReadsBackWhatWasWritten) {
  writeAndRead<schema::TerminalRun>(300);
  writeAndRead<schema::Approval>(100);
  writeAndRead<schema::HookEvent>(100);
}

}  // namespace
}  // namespace factionos::json
