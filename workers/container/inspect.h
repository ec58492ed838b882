// What the engine says of a container: what it made, whose it is, and how it ended. No KJ.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "workers/container/body.h"
#include "workers/container/json_document.h"
#include "workers/container/spec.h"

namespace factionos::container {

enum class Life { kCreated, kRunning, kEnded, kRemoving };

struct State {
  Life life = Life::kCreated;
  int exitCode = -1;  // of kEnded
  bool outOfMemory = false;
};

// 64 hex digits.
bool isContainerId(std::string_view text);

std::optional<std::string> idOf(const MaybeElement& container);
// No value: what it says of its state is none that we know.
std::optional<State> stateOf(const MaybeElement& container);
std::optional<Life> lifeOf(std::string_view word);

// From labels, as the lists have them and as inspect has them in its Config. No value where one is missing or
// no id.
std::optional<Owner> ownerOf(const MaybeElement& labelObject);
MaybeElement labelsIn(const MaybeElement& container);

// Null: it is what was meant. Else the name of the first field that is not: engines drop what they don't know
// without a word.
const char* differenceFrom(const MaybeElement& container, const Spec& spec, const Manner& manner);

// Of an image that was inspected, and of a container the one that it was made of: "sha256:" and 64 hex
// digits, or no value.
std::optional<std::string> imageIdIn(const MaybeElement& from, std::string_view name);

// Whether the container was made of this spec, whoever made it.
bool isOfSpec(const MaybeElement& container, const Spec& spec, const Manner& manner);

}  // namespace factionos::container
