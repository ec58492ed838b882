// Values into a request struct by its shape: JSON values of a body, texts of a path or query.
#pragma once

#include <string_view>

#include <simdjson.h>

#include <capnp/dynamic.h>

#include "protocol/json/reader.h"
#include "protocol/json/shapes.h"

namespace factionos::json {

// The error of a member that the schema does not know: blocked_field with the name of ours that it equals,
// else invalid_request with no field.
[[nodiscard]] JsonError unknownMember(std::string_view name);
// The same of a member of a body, whose value may hold one of ours.
[[nodiscard]] JsonError unknownMember(std::string_view name, simdjson::dom::element value);

// A whole JSON object, the outermost or a nested one.
[[nodiscard]] ReadResult fillStruct(const StructShape& shape, simdjson::dom::object object,
                                    capnp::DynamicStruct::Builder target);

// The text of a path parameter or of a query's value.
[[nodiscard]] ReadResult fillFromText(const FieldShape& field, std::string_view text,
                                      capnp::DynamicStruct::Builder target);

}  // namespace factionos::json
