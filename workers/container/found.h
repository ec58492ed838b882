// Containers that are there already: who they belong to, how they end.
#pragma once

#include <optional>
#include <string>

#include <kj/async.h>

#include "workers/container/engine.h"
#include "workers/container/inspect.h"
#include "workers/container/spec.h"

namespace factionos::container {

// One answer to GET /containers/ID/json.
struct Seen {
  enum class Kind { kThere, kAbsent, kUnknown } kind = Kind::kUnknown;
  Fault fault = Fault::kNone;  // of kUnknown; kNone: the engine answered something else
  std::string body;            // of kThere
};

// `which`: an id, or a name of ours.
kj::Promise<Seen> look(Engine& engine, std::string which);

// Removes it with its volumes, whatever state it is in, and waits until the engine knows it no more. True
// when it does.
kj::Promise<bool> remove(Engine& engine, std::string id);

// Sends the signal. What comes of it shows in its state.
kj::Promise<void> signal(Engine& engine, std::string id, std::string name);

// Whatever carries the name of `owner`: if it is his, it is removed (false: it could not be). What is not his
// is left alone.
enum class Swept { kAbsent, kRemoved, kForeign, kLeft };
kj::Promise<Swept> sweep(Engine& engine, const Owner& owner);

// What a crash left of `owner`: found, ended within `grace` of a stop signal, removed.
struct Settled {
  Swept swept = Swept::kAbsent;
  std::string id;  // of what was his
  Owner owner;
  State state;
  std::string templateId;
  Fault fault = Fault::kNone;  // the engine did not answer: nothing is known
};
kj::Promise<Settled> settle(Engine& engine, Owner owner, kj::Duration grace);

}  // namespace factionos::container
