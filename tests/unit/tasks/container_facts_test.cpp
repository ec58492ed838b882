#include "broker/executors/container_facts.h"

#include <gtest/gtest.h>

#include <capnp/message.h>

namespace factionos::broker {
namespace {

using schema::EngineKind;
using schema::Posture;

Gate open() {
  return {.status = Posture::AVAILABLE, .reason = std::nullopt};
}

EngineFacts ready(EngineKind kind, bool rootless) {
  EngineFacts facts{.kind = kind};
  facts.engine = facts.isolation = facts.image = facts.browser = facts.egress = facts.cleanup = open();
  facts.rootless = rootless;
  facts.providers = {audit::Label::of("claude")};
  return facts;
}

TEST(ContainerFacts, ARootlessEngineIsChosenBeforeARootfulOne) {
  const std::vector<EngineFacts> engines{ready(EngineKind::DOCKER, false), ready(EngineKind::PODMAN, true)};
  EXPECT_EQ(chosen(engines)->kind, EngineKind::PODMAN);
  auto broken = engines;
  broken[1].isolation = Gate::closed("limits_missing");
  EXPECT_EQ(chosen(broken)->kind, EngineKind::DOCKER);
  broken[0].engine = Gate::closed("engine_unreachable");
  EXPECT_EQ(chosen(broken), nullptr);
}

TEST(ContainerFacts, WhatAWorkerSaysIsTakenAsFarAsItIsSound) {
  capnp::MallocMessageBuilder message;
  auto probe = message.initRoot<schema::EngineProbe>();
  probe.initEngine().setStatus(static_cast<Posture>(77));
  probe.getEngine().setReason("Not A Code; rm -rf /");
  probe.initImage().setStatus(Posture::AVAILABLE);
  probe.setImageId("sha256:../../etc/passwd");
  auto providers = probe.initImageProviders(40);
  for (unsigned i = 0; i < 40; ++i) providers.set(i, i % 2 == 0 ? "claude" : "not a label\n");
  auto facts = EngineFacts::from(EngineKind::DOCKER, probe.asReader());
  EXPECT_EQ(facts.engine.status, Posture::UNAVAILABLE);
  EXPECT_FALSE(facts.engine.reason);
  EXPECT_TRUE(facts.image.ready());
  EXPECT_TRUE(facts.imageId.empty());
  EXPECT_EQ(facts.providers.size(), 16U);
  probe.setImageId(("sha256:" + std::string(64, 'a')).c_str());
  EXPECT_EQ(EngineFacts::from(EngineKind::DOCKER, probe.asReader()).imageId.size(), 71U);
}

TEST(ContainerFacts, EachGateIsMissedByItself) {
  home::AgentTemplate made{.id = "t", .command = {"/bin/true"}};
  ContainerTarget target{.made = &made};
  const auto gate = [&](const EngineFacts& facts) {
    const auto missing = missingGate(target, &facts);
    return missing ? missing->gate.text() : std::string_view("none");
  };
  auto facts = ready(EngineKind::DOCKER, true);
  EXPECT_EQ(gate(facts), "none");
  EXPECT_EQ(missingGate(target, nullptr)->gate.text(), "engine");
  facts.image = Gate::closed("image_missing");
  EXPECT_EQ(gate(facts), "image");
  facts = ready(EngineKind::DOCKER, true);
  made.provider = "codex";
  EXPECT_EQ(gate(facts), "provider");
  made.provider = "claude";
  EXPECT_EQ(gate(facts), "none");
  facts.browser = Gate::closed("label_missing");
  EXPECT_EQ(gate(facts), "none") << "nobody asked for a browser";
  made.browser = true;
  EXPECT_EQ(gate(facts), "browser");
  made.browser = false;
  facts.egress = Gate::closed("network_missing");
  EXPECT_EQ(gate(facts), "none") << "nobody asked for a network";
  target.network = schema::NetworkProfile::EGRESS;
  EXPECT_EQ(gate(facts), "network");
}

}  // namespace
}  // namespace factionos::broker
