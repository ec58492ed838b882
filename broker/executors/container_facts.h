#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "broker/core/core.h"
#include "broker/executors/container_target.h"
#include "protocol/schemas/container.capnp.h"

namespace factionos::broker {

// One thing that must hold before a container is started.
struct Gate {
  schema::Posture status = schema::Posture::UNAVAILABLE;
  std::optional<audit::Code> reason;
  bool ready() const { return status == schema::Posture::AVAILABLE; }
  static Gate closed(redaction::Literal reason) {
    return {.status = schema::Posture::UNAVAILABLE, .reason = audit::Code::of(reason.text())};
  }
};

// What an engine and one image on it can, as its worker told and as far as that is sound: labels, Booleans,
// counts.
struct EngineFacts {
  schema::EngineKind kind = schema::EngineKind::UNSPECIFIED;
  Gate engine, isolation, image, browser, egress, cleanup;
  bool rootless = false;
  std::string imageId;  // "sha256:…", for comparing alone; empty: not told
  std::vector<audit::Label> providers;
  std::uint32_t leftovers = 0;
  bool workerLost = false;  // while it was asked: the engine itself may well be there

  bool usable() const { return engine.ready() && isolation.ready(); }
  static EngineFacts from(schema::EngineKind kind, schema::EngineProbe::Reader probe);
  static EngineFacts without(schema::EngineKind kind, Gate engine);
};

redaction::Literal nameOf(schema::EngineKind kind);  // "docker", "podman"
std::optional<schema::EngineKind> engineFrom(std::string_view name);

// Which of them a run is given to: one whose takeover is not the machine's before one whose is. Null: none.
const EngineFacts* chosen(std::span<const EngineFacts> engines);

struct MissingGate {
  redaction::Literal gate;  // a label: engine, isolation, image, …
  Refused refused;
};
// What keeps `target` from running on `engine` (null: none is usable). Nothing: no gate is missing.
std::optional<MissingGate> missingGate(const ContainerTarget& target, const EngineFacts* engine);

}  // namespace factionos::broker
