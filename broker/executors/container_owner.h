#pragma once

#include <cstdint>
#include <string>

#include "broker/state/keys.h"
#include "protocol/schemas/container.capnp.h"

namespace factionos::broker {

// Process number and start time of this broker, read before its sandbox is entered: a number alone comes
// back.
struct OwnProcess {
  std::uint32_t pid = 0;
  std::uint64_t startTime = 0;  // clock ticks since boot
  static OwnProcess read();
};

// How containers are known as this home's own. The proof is keyed with the home's secret: nobody else can
// label a container so that it would be removed as ours.
class ContainerOwners {
 public:
  ContainerOwners(const state::Keys& keys, OwnProcess process);

  const std::string& instance() const { return instance_; }
  void fill(const std::string& actionId, schema::ContainerOwner::Builder owner) const;
  // Whether the labels are ours, as a whole.
  bool owns(schema::ContainerOwner::Reader owner) const;

 private:
  std::string proofOf(const std::string& runId, const std::string& actionId) const;
  const state::Keys& keys_;
  OwnProcess process_;
  std::string instance_;
};

}  // namespace factionos::broker
