#include "workers/container/found.h"

#include <utility>

namespace factionos::container {
namespace {

constexpr auto kPause = 100 * kj::MILLISECONDS;
constexpr auto kKillLimit = 10 * kj::SECONDS;
constexpr auto kRemoveLimit = 10 * kj::SECONDS;

kj::Promise<bool> untilGone(Engine& engine, std::string id, kj::TimePoint end) {
  Request request{.method = "DELETE", .target = "/containers/" + id + "?force=1&v=1", .limit = kRemoveLimit};
  return engine.ask(std::move(request))
      .then([&engine, id, end](const Reply& reply) mutable -> kj::Promise<bool> {
        if (reply.is(204) || reply.is(404)) return true;
        // Being removed by somebody (409), which takes its time, or an engine that fails: it is asked again
        // until it knows it no more.
        return look(engine, id).then([&engine, id, end](const Seen& seen) mutable -> kj::Promise<bool> {
          if (seen.kind == Seen::Kind::kAbsent) return true;
          if (engine.timer().now() >= end) return false;
          return engine.timer().afterDelay(kPause).then(
              [&engine, id = std::move(id), end]() mutable { return untilGone(engine, std::move(id), end); });
        });
      });
}

// As the engine knows it last, at the latest at `end`.
kj::Promise<State> untilEnded(Engine& engine, std::string id, State state, kj::TimePoint end) {
  if (state.life != Life::kRunning || engine.timer().now() >= end) return state;
  return engine.timer()
      .afterDelay(kPause)
      .then([&engine, id]() { return look(engine, id); })
      .then([&engine, id, state, end](const Seen& seen) mutable -> kj::Promise<State> {
        if (seen.kind == Seen::Kind::kAbsent) return State{Life::kRemoving};
        const JsonDocument document(seen.body);
        return untilEnded(engine, std::move(id), stateOf(document.root()).value_or(state), end);
      });
}

kj::Promise<State> end(Engine& engine, std::string id, State state, kj::Duration grace) {
  if (state.life != Life::kRunning) return state;
  return signal(engine, id, "SIGTERM")
      .then([&engine, id, state, grace]() {
        return untilEnded(engine, id, state, engine.timer().now() + grace);
      })
      .then([&engine, id](State later) -> kj::Promise<State> {
        if (later.life != Life::kRunning) return later;
        return signal(engine, id, "SIGKILL").then([&engine, id, later]() {
          return untilEnded(engine, id, later, engine.timer().now() + kKillLimit);
        });
      });
}

}  // namespace

kj::Promise<Seen> look(Engine& engine, std::string which) {
  return engine.ask({.target = "/containers/" + which + "/json"}).then([](Reply reply) {
    if (reply.is(200)) return Seen{Seen::Kind::kThere, Fault::kNone, std::move(reply.body)};
    if (reply.is(404)) return Seen{Seen::Kind::kAbsent, Fault::kNone, {}};
    return Seen{Seen::Kind::kUnknown, reply.fault, {}};
  });
}

kj::Promise<bool> remove(Engine& engine, std::string id) {
  return untilGone(engine, std::move(id), engine.timer().now() + kRemoveLimit);
}

kj::Promise<void> signal(Engine& engine, std::string id, std::string name) {
  return engine.ask({.method = "POST", .target = "/containers/" + id + "/kill?signal=" + name})
      .ignoreResult();
}

kj::Promise<Swept> sweep(Engine& engine, const Owner& owner) {
  return look(engine, owner.name()).then([&engine, owner](const Seen& seen) -> kj::Promise<Swept> {
    if (seen.kind == Seen::Kind::kAbsent) return Swept::kAbsent;
    if (seen.kind == Seen::Kind::kUnknown) return Swept::kLeft;
    const JsonDocument document(seen.body);
    const auto found = ownerOf(labelsIn(document.root()));
    const auto id = idOf(document.root());
    if (!found || !id || !owner.owns(*found)) return Swept::kForeign;
    return remove(engine, *id).then([](bool gone) { return gone ? Swept::kRemoved : Swept::kLeft; });
  });
}

kj::Promise<Settled> settle(Engine& engine, Owner owner, kj::Duration grace) {
  return look(engine, owner.name()).then([&engine, owner, grace](const Seen& seen) -> kj::Promise<Settled> {
    Settled settled;
    if (seen.kind == Seen::Kind::kAbsent) return settled;
    settled.fault = seen.fault;
    const JsonDocument document(seen.body);
    const auto id = idOf(document.root());
    const auto found = ownerOf(labelsIn(document.root()));
    const auto state = stateOf(document.root());
    settled.swept = seen.kind == Seen::Kind::kUnknown ? Swept::kLeft : Swept::kForeign;
    if (!found || !id || !owner.owns(*found)) return settled;
    settled.id = *id;
    settled.owner = *found;
    const auto name = textOf(member(labelsIn(document.root()), labels::kTemplate)).value_or("");
    if (isLabel(name)) settled.templateId = name;
    // As it was found: how one ends that is stopped here says nothing of its work.
    settled.state = state.value_or(State{Life::kRunning});
    return end(engine, *id, settled.state, grace).then([&engine, settled](const State&) mutable {
      return remove(engine, settled.id).then([settled](bool gone) mutable {
        settled.swept = gone ? Swept::kRemoved : Swept::kLeft;
        return settled;
      });
    });
  });
}

}  // namespace factionos::container
