// All containers of one instance, as the engine lists them by label.
#pragma once

#include <string>
#include <vector>

#include <kj/async.h>

#include "workers/container/engine.h"
#include "workers/container/inspect.h"

namespace factionos::container {

struct Listed {
  std::string id;
  Owner owner;
  State state;
  std::string templateId;
};

struct Listing {
  Reply reply;
  std::vector<Listed> found;
  bool truncated = false;
};

inline constexpr std::size_t kMostListed = 1000;

// Those whose labels are whole and say this instance; the engine's filter is not believed.
kj::Promise<Listing> list(Engine& engine, std::string instance, kj::Duration limit);

// What list() makes of an answer's body.
Listing readListing(std::string_view body, std::string_view instance);

}  // namespace factionos::container
