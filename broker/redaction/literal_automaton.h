#pragma once

#include <array>
#include <bitset>
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
  // Patterns have two bytes or more; repeated ones are one. Only before build().
  void add(std::string_view pattern);
  void build();

  [[nodiscard]] State next(State state, char byte) const noexcept;
  // Length of the longest suffix of the input that is a prefix of a pattern.
  [[nodiscard]] std::uint32_t depth(State state) const noexcept { return nodes_[state].depth; }
  // Length of the longest pattern that ends here; 0 if none does.
  [[nodiscard]] std::uint32_t matchLength(State state) const noexcept { return nodes_[state].match; }
  // What of the state may still become a match, when `next` are the bytes to come as far as they are known:
  // whole patterns and what those bytes refute is let go, so that ordinary text does not look like the start
  // of a value.
  [[nodiscard]] State settle(State state, std::string_view next) const noexcept;
  [[nodiscard]] bool mayBegin(std::string_view text) const noexcept {
    if (text.size() < 2) return !text.empty() && root_[index(text[0])] != kRoot;
    return pairs_[index(text[0]) << 8U | index(text[1])] &&
           goesOn(root_[index(text[0])], text.substr(1, kLookAhead));
  }
  [[nodiscard]] std::size_t stateCount() const noexcept { return nodes_.size(); }
  [[nodiscard]] std::size_t longest() const noexcept { return longest_; }  // length of a pattern

 private:
  static constexpr std::size_t kLookAhead = 16;  // bytes; enough to refute, and it bounds what a byte costs
  struct Node {
    State child = 0;  // first child; 0 is none, as the root is nobody's child
    State sibling = 0;
    State fail = 0;
    std::uint32_t depth = 0;
    std::uint32_t match = 0;
    char byte = 0;
  };
  static std::size_t index(char byte) noexcept { return static_cast<unsigned char>(byte); }
  [[nodiscard]] bool goesOn(State state, std::string_view next) const noexcept;
  [[nodiscard]] State childOf(State state, char byte) const noexcept;

  std::vector<Node, WipingAllocator<Node>> nodes_;
  std::array<State, 256> root_{};
  std::size_t longest_ = 0;
  std::bitset<65536> pairs_;  // the first two bytes of a pattern: most text is refuted here
};

}  // namespace factionos::redaction
