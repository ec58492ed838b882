// The limits that a schema states, asked of a struct itself: for whoever gets a request from a process that
// should have read it from JSON, and may have made it up.
#pragma once

#include <capnp/dynamic.h>

#include "protocol/json/shapes.h"

namespace factionos::json {

// Null if every $range, $text, $items and $required holds, all enumerants are known, and all text is UTF-8
// without NUL. A number that is its schema's default is absent, so its range is asked only where it is
// required. Else the field of `shape` in which something does not hold. Throws kj::Exception where the
// message itself is malformed.
[[nodiscard]] const FieldShape* outOfLimits(const StructShape& shape, capnp::DynamicStruct::Reader value);

}  // namespace factionos::json
