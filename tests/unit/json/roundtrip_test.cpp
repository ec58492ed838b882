// What goes out is read back: by simdjson against the struct, and by our own reader into an equal struct.
#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "protocol/json/canonical.h"
#include "protocol/json/scalars.h"
#include "protocol/json/shapes.h"
#include "protocol/json/writer.h"
#include "protocol/schemas/api.capnp.h"
#include "tests/unit/json/fixture.h"
#include "tests/unit/json/random_fill.h"
#include "tests/unit/json/sample.capnp.h"

namespace factionos::json {
namespace {

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
  writeAndCompare<schema::TerminalSession>(200);
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
