#include "broker/api/readiness_view.h"

#include <algorithm>
#include <map>
#include <string>

namespace factionos::broker {
namespace {

using actions::Outgoing;
using redaction::Boundary;
using redaction::Literal;
using redaction::Redactor;
using schema::Posture;

constexpr Literal kDocs = "docs/container-runs.md";

ContainerTarget withoutWorkspace(const home::AgentTemplate& made) {
  return {.made = &made,
          .network = made.mayReachOut ? schema::NetworkProfile::EGRESS : schema::NetworkProfile::NONE};
}

ContainerView viewOf(const home::Config& config, Gate apple, std::vector<EngineFacts> shipped,
                     const std::map<std::string, std::vector<EngineFacts>>& byImage) {
  ContainerView view{.engines = std::move(shipped), .apple = std::move(apple)};
  for (const auto& made : config.templates)
    view.templates.push_back(
        {.made = &made, .missing = missingGate(withoutWorkspace(made), chosen(byImage.at(made.image)))});
  return view;
}

const std::string& shippedImage() {
  static const std::string image = home::AgentTemplate().image;
  return image;
}

const Gate& gateOf(const std::vector<EngineFacts>& engines, schema::EngineKind kind) {
  static const Gate unknown = Gate::closed("not_probed");
  const auto found = std::ranges::find(engines, kind, &EngineFacts::kind);
  return found == engines.end() ? unknown : found->engine;
}

Posture postureOf(bool holds) {
  return holds ? Posture::AVAILABLE : Posture::UNAVAILABLE;
}

}  // namespace

ContainerView ContainerView::last(const home::Config& config, const ContainerEngines& engines) {
  std::map<std::string, std::vector<EngineFacts>> byImage;
  for (const auto& made : config.templates) byImage[made.image] = engines.lastFacts(made.image);
  return viewOf(config, engines.apple().last(), engines.lastFacts(shippedImage()), byImage);
}

kj::Promise<ContainerView> ContainerView::ask(const home::Config& config, ContainerEngines& engines) {
  auto images = std::make_shared<std::vector<std::string>>(1, shippedImage());
  for (const auto& made : config.templates) {
    if (std::ranges::find(*images, made.image) == images->end()) images->push_back(made.image);
  }
  auto asked = kj::Vector<kj::Promise<std::vector<EngineFacts>>>();
  for (const auto& image : *images) asked.add(engines.facts(image));
  auto apple = engines.apple().ask();
  return kj::joinPromises(asked.releaseAsArray())
      .then([&config, images, apple = kj::mv(apple)](kj::Array<std::vector<EngineFacts>>&& facts) mutable {
        std::map<std::string, std::vector<EngineFacts>> byImage;
        for (std::size_t i = 0; i < images->size(); ++i) byImage[(*images)[i]] = facts[i];
        return apple.then([&config, shipped = facts[0], byImage = std::move(byImage)](Gate&& gate) {
          return viewOf(config, std::move(gate), shipped, byImage);
        });
      });
}

template <Boundary B>
void fillReadiness(const ContainerView& view, Outgoing<B, schema::ContainerReadiness> out) {
  using C = schema::ContainerReadiness::Builder;
  using R = Redactor<B>;
  const auto& docker = gateOf(view.engines, schema::EngineKind::DOCKER);
  const auto& podman = gateOf(view.engines, schema::EngineKind::PODMAN);
  out.set(&C::setDocker, docker.status);
  if (docker.reason) out.set(&C::setDockerReason, R::code(*docker.reason));
  out.set(&C::setPodman, podman.status);
  if (podman.reason) out.set(&C::setPodmanReason, R::code(*podman.reason));
  out.set(&C::setApple, view.apple.status);
  if (view.apple.reason) out.set(&C::setAppleReason, R::code(*view.apple.reason));
  const auto* engine = chosen(view.engines);
  const EngineFacts none;
  const auto& facts = engine == nullptr ? none : *engine;
  out.set(&C::setIsolation, facts.isolation.status);
  out.set(&C::setImage, facts.image.status);
  out.set(&C::setBrowserDependencies, facts.browser.status);
  out.set(&C::setNetworkProfile, postureOf(engine != nullptr));
  out.set(&C::setProviderRuntime, postureOf(!facts.providers.empty()));
  const auto any = [&view](auto wants) {
    return std::ranges::any_of(view.templates,
                               [&](const ContainerView::Template& each) { return wants(*each.made); });
  };
  out.set(&C::setAuthMount,
          postureOf(any([](const home::AgentTemplate& made) { return !made.auth.empty(); })));
  out.set(&C::setWorktreeMount, postureOf(any([](const home::AgentTemplate& made) {
    return made.worktree != home::AgentTemplate::Worktree::kNone;
  })));
  out.set(&C::setCleanup, R::words(facts.cleanup.ready() ? Literal("by_label") : Literal("unavailable")));
  out.set(&C::setDocsPath, R::words(kDocs));
  std::uint32_t leftovers = 0;
  for (const auto& each : view.engines) leftovers += each.leftovers;
  out.set(&C::setLeftovers, leftovers);
  if (engine != nullptr) {
    out.set(&C::setRuntime, R::words(nameOf(engine->kind)));
    out.set(&C::setRootless, engine->rootless);
  }
  const home::AgentTemplate shipped;
  if (const auto missing = missingGate(withoutWorkspace(shipped), engine))
    out.set(&C::setFallbackReason, R::words(missing->gate));
  auto templates = out.init(&C::initTemplates, view.templates.size());
  for (unsigned i = 0; i < view.templates.size(); ++i) {
    using T = schema::TemplateReadiness::Builder;
    const auto& each = view.templates[i];
    templates[i].set(&T::setId, R::label(audit::Label::of(each.made->id)));
    templates[i].set(&T::setProvider, R::label(audit::Label::of(each.made->provider)));
    templates[i].set(&T::setStatus, postureOf(!each.missing));
    if (each.missing) templates[i].set(&T::setMissing, R::words(each.missing->gate));
  }
}

template void fillReadiness(const ContainerView&,
                            Outgoing<Boundary::kApiResponse, schema::ContainerReadiness>);
template void fillReadiness(const ContainerView&,
                            Outgoing<Boundary::kWebSocketFrame, schema::ContainerReadiness>);
template void fillReadiness(const ContainerView&, Outgoing<Boundary::kCli, schema::ContainerReadiness>);

}  // namespace factionos::broker
