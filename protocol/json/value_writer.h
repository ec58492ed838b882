// Structs to JSON by their shapes; behind ReplyWriter and writeProblem.
#pragma once

#include <initializer_list>
#include <string_view>

#include <capnp/dynamic.h>

#include "protocol/json/json_text.h"
#include "protocol/json/shapes.h"

namespace factionos::json {

// The members alone, without the braces. Top-level members that are named in `skipped` are left out.
void writeMembers(const StructShape& shape, capnp::DynamicStruct::Reader value,
                  std::initializer_list<std::string_view> skipped, JsonText& json);

// Name and value, or nothing where the value is one that JSON leaves out.
void writeField(const FieldShape& field, capnp::DynamicStruct::Reader holder, JsonText& json);

}  // namespace factionos::json
