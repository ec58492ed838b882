#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "broker/redaction/wiping_allocator.h"

namespace factionos::redaction {

// An Aho-Corasick automaton over exact byte strings. Vectorscan finds literals faster, but tells only where
// one ends; a stream masker must also know, after every byte, how much of the tail may still become a match.
// That is the depth of the state here.
class LiteralAutomaton {
 public:
  using State = std::uint32_t;
  static constexpr State kRoot = 0;

  LiteralAutomaton();
  // Patterns are non-empty; repeated ones are one. Only before build().
  void add(std::string_view pattern);
  void build();

  [[nodiscard]] State next(State state, char byte) const noexcept;
  // Length of the longest suffix of the input that is a prefix of a pattern.
  [[nodiscard]] std::uint32_t depth(State state) const noexcept { return nodes_[state].depth; }
  // The same for prefixes that are not a whole pattern, or are one that a longer pattern goes on from: how
  // much of the tail the next bytes could still turn into a match.
  [[nodiscard]] std::uint32_t openLength(State state) const noexcept { return nodes_[state].open; }
  // Length of the longest pattern that ends here; 0 if none does.
  [[nodiscard]] std::uint32_t matchLength(State state) const noexcept { return nodes_[state].match; }
  [[nodiscard]] bool leavesRoot(char byte) const noexcept { return root_[index(byte)] != kRoot; }
  [[nodiscard]] std::size_t stateCount() const noexcept { return nodes_.size(); }

 private:
  struct Node {
    State child = 0;  // first child; 0 is none, as the root is nobody's child
    State sibling = 0;
    State fail = 0;
    std::uint32_t depth = 0;
    std::uint32_t open = 0;
    std::uint32_t match = 0;
    char byte = 0;
  };
  static std::size_t index(char byte) noexcept { return static_cast<unsigned char>(byte); }
  [[nodiscard]] State childOf(State state, char byte) const noexcept;

  std::vector<Node, WipingAllocator<Node>> nodes_;
  std::array<State, 256> root_{};
};

}  // namespace factionos::redaction
