// JSON Schemas (2020-12, as OpenAPI 3.1 has them) of the structs and enums that the surface uses.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "protocol/json/json_text.h"
#include "protocol/json/shapes.h"

namespace factionos::json {

// A request's schema has limits and refuses what it doesn't name; a reply's may grow.
enum class Direction { kRequest, kReply };

class ComponentSchemas {
 public:
  // The schema of one value; structs and enums as references to components, which are remembered.
  void writeField(const FieldShape& field, Direction direction, JsonText& json);
  void writeReference(const StructShape& shape, Direction direction, JsonText& json);

  // A component that stands for no single struct; `schema` is its whole JSON.
  void add(const std::string& name, std::string schema);

  // "Schema of an object with the struct's members", without those that are named in `skipped`.
  [[nodiscard]] std::string object(const StructShape& shape, Direction direction,
                                   std::initializer_list<std::string_view> skipped);

  // All components by name, as the members of an object.
  void writeAll(JsonText& json) const;

 private:
  void writeValue(const ValueShape& value, Direction direction, JsonText& json);
  void writeEnumReference(const EnumShape& shape, JsonText& json);

  std::map<std::string, std::string> components_;  // a struct's stays empty while it is being described
};

}  // namespace factionos::json
