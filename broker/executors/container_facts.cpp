#include "broker/executors/container_facts.h"

#include <algorithm>

#include "protocol/text.h"

namespace factionos::broker {
namespace {

using schema::EngineKind;
using schema::Posture;
using schema::ProblemCode;

constexpr unsigned kMostProviders = 16;
constexpr std::size_t kImageIdBytes = 71;

Gate gateFrom(schema::Probe::Reader probe) {
  Gate gate{.status = probe.getStatus(), .reason = std::nullopt};
  constexpr std::array kSaid{Posture::AVAILABLE, Posture::UNAVAILABLE, Posture::TIMEOUT,
                             Posture::POLICY_BLOCKED};
  if (std::ranges::find(kSaid, gate.status) == kSaid.end()) gate.status = Posture::UNAVAILABLE;
  if (!gate.ready()) gate.reason = audit::Code::parse(view(probe.getReason()));
  return gate;
}

bool isImageId(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  return text.size() == kImageIdBytes && text.starts_with(kPrefix) &&
         text.find_first_not_of("0123456789abcdef", kPrefix.size()) == text.npos;
}

MissingGate missing(redaction::Literal gate, ProblemCode code, redaction::Sentence detail) {
  return {.gate = gate, .refused = {.code = code, .detail = detail}};
}

}  // namespace

redaction::Literal nameOf(EngineKind kind) {
  switch (kind) {
    case EngineKind::DOCKER:
      return "docker";
    case EngineKind::PODMAN:
      return "podman";
    default:
      return "none";
  }
}

std::optional<EngineKind> engineFrom(std::string_view name) {
  if (name == "docker") return EngineKind::DOCKER;
  if (name == "podman") return EngineKind::PODMAN;
  return std::nullopt;
}

EngineFacts EngineFacts::from(EngineKind kind, schema::EngineProbe::Reader probe) {
  EngineFacts facts{.kind = kind,
                    .engine = gateFrom(probe.getEngine()),
                    .isolation = gateFrom(probe.getIsolation()),
                    .image = gateFrom(probe.getImage()),
                    .browser = gateFrom(probe.getBrowserDependencies()),
                    .egress = gateFrom(probe.getEgress()),
                    .cleanup = gateFrom(probe.getCleanup()),
                    .rootless = probe.getRootless(),
                    .imageId = {},
                    .providers = {},
                    .leftovers = probe.getLeftovers()};
  if (const auto id = view(probe.getImageId()); isImageId(id)) facts.imageId = id;
  for (const auto provider : probe.getImageProviders()) {
    auto label = audit::Label::parse(view(provider));
    if (label && facts.providers.size() < kMostProviders) facts.providers.push_back(std::move(*label));
  }
  return facts;
}

EngineFacts EngineFacts::without(EngineKind kind, Gate engine) {
  EngineFacts facts{.kind = kind, .engine = std::move(engine)};
  const auto unknown = Gate::closed("engine_unavailable");
  facts.isolation = facts.image = facts.browser = facts.egress = facts.cleanup = unknown;
  return facts;
}

const EngineFacts* chosen(std::span<const EngineFacts> engines) {
  const EngineFacts* best = nullptr;
  for (const auto& each : engines) {
    if (each.usable() && (best == nullptr || (each.rootless && !best->rootless))) best = &each;
  }
  return best;
}

std::optional<MissingGate> missingGate(const ContainerTarget& target, const EngineFacts* engine) {
  if (engine == nullptr)
    return missing("engine", ProblemCode::ENGINE_UNAVAILABLE,
                   "No container engine answers that enforces what a run needs; GET /v1/container/readiness "
                   "tells which gate of which engine is missing.");
  if (!engine->image.ready())
    return missing("image", ProblemCode::IMAGE_UNAVAILABLE,
                   "The template's image is not on the engine; docker/build makes it.");
  const auto& made = *target.made;
  if (made.provider != "none" &&
      std::ranges::find(engine->providers, made.provider, &audit::Label::text) == engine->providers.end())
    return missing("provider", ProblemCode::IMAGE_UNAVAILABLE,
                   "The image does not say that it has the runtime of the template's provider.");
  if (made.browser && !engine->browser.ready())
    return missing("browser", ProblemCode::IMAGE_UNAVAILABLE,
                   "The image does not say that it has a browser's dependencies.");
  if (target.network == schema::NetworkProfile::EGRESS && !engine->egress.ready())
    return missing("network", ProblemCode::ENGINE_UNAVAILABLE,
                   "The engine has no network factionos-egress; docker/egress-network makes it.");
  return std::nullopt;
}

}  // namespace factionos::broker
