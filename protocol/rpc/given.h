// How many capabilities of ours a peer holds. Each costs us what stands behind it, a descriptor perhaps,
// until the peer lets go of it, and the RPC system counts them for nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include <capnp/rpc.capnp.h>

namespace factionos::rpc {

/// Follows the messages of one connection. What goes with a call or an answer is let go of together with it,
/// or later one by one.
class GivenCapabilities {
 public:
  void sent(capnp::rpc::Message::Reader message);
  /// A message that the RPC system has not judged yet: whatever it says, nothing here breaks.
  void received(capnp::rpc::Message::Reader message);

  /// References, not objects: the same capability given twice counts twice, as it is released.
  [[nodiscard]] size_t count() const { return count_; }

 private:
  using ByQuestion = std::unordered_map<uint32_t, size_t>;

  void give(ByQuestion& with, uint32_t question, capnp::rpc::Payload::Reader payload);
  void takeBack(size_t references);
  size_t forget(ByQuestion& with, uint32_t question);

  size_t count_ = 0;
  ByQuestion withAnswer_;
  ByQuestion withCall_;
};

}  // namespace factionos::rpc
