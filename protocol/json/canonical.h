// One byte string per value of a struct, for digests of requests.
#pragma once

#include <span>
#include <string_view>

#include <capnp/dynamic.h>
#include <kj/array.h>

namespace factionos::json {

// Cap'n Proto's canonical form of `value` after the named top-level fields were cleared. Two requests give
// the same bytes exactly when all their other fields are equal; an absent field equals its default. The
// struct's type is not part of the bytes: put the operation's name into the digest beside them. Throws
// kj::Exception for an unknown name or a capability.
[[nodiscard]] kj::Array<kj::byte> canonicalBytes(capnp::DynamicStruct::Reader value,
                                                 std::span<const std::string_view> excluded = {});

}  // namespace factionos::json
