#include "protocol/json/canonical.h"

#include <string>

#include <capnp/any.h>
#include <capnp/message.h>

namespace factionos::json {

kj::Array<kj::byte> canonicalBytes(capnp::DynamicStruct::Reader value,
                                   std::span<const std::string_view> excluded) {
  capnp::MallocMessageBuilder message;
  message.setRoot(value);
  auto copy = message.getRoot<capnp::DynamicStruct>(value.getSchema());
  for (std::string_view name : excluded) copy.clear(std::string(name).c_str());
  capnp::DynamicStruct::Reader reader = copy.asReader();
  kj::Array<capnp::word> words = capnp::AnyStruct::Reader(reader).canonicalize();
  return kj::heapArray(words.asBytes());
}

}  // namespace factionos::json
