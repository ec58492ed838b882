#pragma once

#include <cstdint>
#include <string_view>

#include "broker/core/core.h"
#include "broker/home/config.h"
#include "protocol/schemas/common.capnp.h"

namespace factionos::broker {

// What a request of the family container comes to: the operator's template on a workspace. All that a caller
// decides is which, and within the template's bounds the network profile and the time.
struct ContainerTarget {
  const home::AgentTemplate* made = nullptr;
  const home::WorkspaceEntry* workspace = nullptr;
  schema::NetworkProfile network = schema::NetworkProfile::NONE;
  std::uint32_t timeoutMs = 0;

  audit::Label label() const { return audit::Label::of(made->id); }
};

// `timeoutMs` 0: as the template says.
Outcome<ContainerTarget> containerTarget(const home::Config& config, std::string_view workspace,
                                         std::string_view templateId, schema::NetworkProfile network,
                                         std::uint32_t timeoutMs);

}  // namespace factionos::broker
