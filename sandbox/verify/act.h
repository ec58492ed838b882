// Acts: what a process inside of a profile tries, and how the world tells whether it came to pass.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace factionos::sandbox::verify {

class World;

// What the actor itself knows of its act. In memory that both sides see, so that telling needs no system
// call.
struct Evidence {
  bool returned = false;  // whether the actor came back from the act
  int error = 0;          // of the act; 0 if it was told to have worked
  long value = 0;         // whatever an act counts
  std::size_t size = 0;
  std::array<char, 64> bytes = {};  // what it got to read
};

// Which process shows that the act is possible at all.
enum class Control {
  kOpen,        // one without any sandbox: the act has to come to pass
  kEntry,       // the same, but the call only has to come to the kernel's own answer, whatever that is
  kNamespaces,  // one that has the profile's namespaces and mounts, and nothing else
  kUnentered,   // one in the profile's namespaces, before it enters anything
};

// When the world is asked.
enum class Look {
  kAtOnce,    // while the actor waits
  kAfterEnd,  // after the actor's whole tree was ended
};

struct Act {
  std::string_view name;     // "read-private-file"
  std::string_view attempt;  // what is tried, in words
  // Runs inside, under a filter that may know a few calls only: no allocation, no stream. Gives the result of
  // the decisive call, errno set.
  long (*act)(const World& world, Evidence& evidence);
  // Runs outside: whether the world shows that it happened. Null: the actor's own result is all there is.
  bool (*happened)(const World& world, const Evidence& evidence);
  Control control = Control::kOpen;
  Look look = Look::kAtOnce;
};

std::span<const Act> fileActs();
std::span<const Act> processActs();
std::span<const Act> socketActs();
std::span<const Act> callActs();
std::span<const Act> resourceActs();

// Of all of them; null if there is none of that name.
const Act* findAct(std::string_view name);

}  // namespace factionos::sandbox::verify
