#include "broker/redaction/literal_automaton.h"

#include <algorithm>

namespace factionos::redaction {

LiteralAutomaton::LiteralAutomaton() : nodes_(1) {}

LiteralAutomaton::State LiteralAutomaton::childOf(State state, char byte) const noexcept {
  for (State child = nodes_[state].child; child != 0; child = nodes_[child].sibling) {
    if (nodes_[child].byte == byte) return child;
  }
  return 0;
}

void LiteralAutomaton::add(std::string_view pattern) {
  State state = kRoot;
  for (const char byte : pattern) {
    State child = childOf(state, byte);
    if (child == 0) {
      child = static_cast<State>(nodes_.size());
      Node node;
      node.byte = byte;
      node.depth = nodes_[state].depth + 1;
      node.sibling = nodes_[state].child;
      nodes_.push_back(node);
      nodes_[state].child = child;
    }
    state = child;
  }
  nodes_[state].match = nodes_[state].depth;
  longest_ = std::max(longest_, pattern.size());
}

void LiteralAutomaton::build() {
  root_.fill(kRoot);
  for (State child = nodes_[kRoot].child; child != 0; child = nodes_[child].sibling) {
    root_[index(nodes_[child].byte)] = child;
    for (State second = nodes_[child].child; second != 0; second = nodes_[second].sibling) {
      pairs_.set(index(nodes_[child].byte) << 8U | index(nodes_[second].byte));
    }
  }
  // Breadth first: a failure link always points to a shallower node, whose own link is then complete.
  std::vector<State> queue{kRoot};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const State parent = queue[i];
    for (State child = nodes_[parent].child; child != 0; child = nodes_[child].sibling) {
      nodes_[child].fail = parent == kRoot ? kRoot : next(nodes_[parent].fail, nodes_[child].byte);
      if (nodes_[child].match == 0) nodes_[child].match = nodes_[nodes_[child].fail].match;
      queue.push_back(child);
    }
  }
}

bool LiteralAutomaton::goesOn(State state, std::string_view next) const noexcept {
  for (const char byte : next) {
    state = childOf(state, byte);
    if (state == kRoot) return false;
    if (nodes_[state].match == nodes_[state].depth) return true;
  }
  return true;
}

LiteralAutomaton::State LiteralAutomaton::settle(State state, std::string_view next) const noexcept {
  next = next.substr(0, kLookAhead);
  while (state != kRoot && (nodes_[state].child == 0 || !goesOn(state, next))) state = nodes_[state].fail;
  return state;
}

LiteralAutomaton::State LiteralAutomaton::next(State state, char byte) const noexcept {
  while (state != kRoot) {
    if (const State child = childOf(state, byte); child != 0) return child;
    state = nodes_[state].fail;
  }
  return root_[index(byte)];
}

}  // namespace factionos::redaction
