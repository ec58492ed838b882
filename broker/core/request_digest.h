#pragma once

#include <string>
#include <string_view>

#include <capnp/message.h>

#include "broker/state/keys.h"
#include "protocol/json/canonical.h"

namespace factionos::broker {

// Keyed, over the whole request but for an approval, which is no part of what happens.
template <typename Request>
audit::Digest requestDigest(const state::Keys& keys, std::string_view operation, Request request) {
  capnp::MallocMessageBuilder copy;
  copy.setRoot(request);
  auto root = copy.template getRoot<typename Request::Reads>();
  if constexpr (requires { root.disownApproval(); }) root.disownApproval();
  const auto bytes = json::canonicalBytes(root.asReader());
  std::string content(operation);
  content.append(1, '\0').append(bytes.asChars().begin(), bytes.size());
  return keys.digest(state::Purpose::kRequest, audit::asBytes(content));
}

}  // namespace factionos::broker
