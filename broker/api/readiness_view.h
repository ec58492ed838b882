#pragma once

#include <vector>

#include "broker/actions/outgoing.h"
#include "broker/executors/container_executor.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// What a run needs and has, by template and by gate. Labels, Booleans and counts: nothing that an engine said
// in its own words.
struct ContainerView {
  struct Template {
    const home::AgentTemplate* made;
    std::optional<MissingGate> missing;
  };
  std::vector<EngineFacts> engines;  // for the shipped image
  Gate apple;                        // never ready
  std::vector<Template> templates;

  // As it was found last, without asking anybody.
  static ContainerView last(const home::Config& config, const ContainerEngines& engines);
  // Asks every engine about every template's image, and Apple's program, if one is named, for its version.
  static kj::Promise<ContainerView> ask(const home::Config& config, ContainerEngines& engines);
};

// For kApiResponse, kWebSocketFrame and kCli.
template <redaction::Boundary B>
void fillReadiness(const ContainerView& view, actions::Outgoing<B, schema::ContainerReadiness> out);

}  // namespace factionos::broker
