#include "broker/core/replies.h"

#include <cstring>

namespace factionos::broker {

ReplyBytes flatten(capnp::MessageBuilder& message) {
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  return {bytes.begin(), bytes.end()};
}

kj::Array<capnp::word> unflatten(std::span<const std::uint8_t> bytes) {
  KJ_REQUIRE(bytes.size() % sizeof(capnp::word) == 0, "a stored reply is damaged");
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), bytes.data(), bytes.size());
  return words;
}

}  // namespace factionos::broker
