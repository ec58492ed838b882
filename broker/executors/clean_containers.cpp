#include "broker/executors/clean_containers.h"

#include "broker/actions/view.h"

namespace factionos::broker {

CleanContainers::CleanContainers(ContainerExecutor& executor, audit::Digest digest)
    : executor_(executor),
      operation_(*policy::findOperation(policy::Family::kContainer, "cleanup")),
      digest_(digest) {}

policy::Subject CleanContainers::subject() const {
  return {.family = policy::Family::kContainer,
          .operation = "cleanup",
          .workspace = workspace_,
          .principal = {},
          .program = policy::Program::none(),
          .network = "none",
          .profile = "default"};
}

// What is there may change before it is approved, and only ours is ever removed: there is nothing to bind.
kj::Promise<std::optional<Refused>> CleanContainers::prepare() {
  return std::optional<Refused>();
}

kj::Promise<EffectEnd> CleanContainers::run(const state::ActionRow&) {
  reach(executor_.core_.steps, Step::kStart, Edge::kBefore);
  return executor_.sweep().then([this](ContainerExecutor::Swept&& swept) -> EffectEnd {
    reach(executor_.core_.steps, Step::kStart, Edge::kAfter);
    if (swept.unreachable && swept.removed == 0)
      return Failed{.refused = {.code = schema::ProblemCode::ENGINE_UNAVAILABLE,
                                .detail = "An engine that config.toml names does not answer."}};
    const auto reply = [swept](const state::ActionRow& action) {
      return encodeReply<schema::Api::ContainerCleanupResults>([&](auto results) {
        using R = schema::Api::ContainerCleanupResults::Builder;
        actions::fillAction(action, {}, results.init(&R::initAction));
        results.set(&R::setRemoved, swept.removed);
        results.set(&R::setLeft, swept.left);
      });
    };
    return Done{.reply = reply};
  });
}

}  // namespace factionos::broker
