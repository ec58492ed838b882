#pragma once

#include <type_traits>
#include <utility>

#include <capnp/list.h>

#include "broker/redaction/redactor.h"

namespace factionos::actions {

template <redaction::Boundary B, typename ListBuilder>
class OutgoingList;

// A message on its way over boundary B: its texts are set from what the redactor of B made and from nothing
// else; numbers, enumerations and nested messages are set as they are. It hides the builder that it writes
// to, which would take any text.
//
//   Outgoing<B, schema::Action> action(results.initAction());
//   action.set(&schema::Action::Builder::setId, Redactor<B>::label(id));
template <redaction::Boundary B, typename Struct>
class Outgoing {
 public:
  using Builder = typename Struct::Builder;

  explicit Outgoing(Builder builder) : builder_(builder) {}

  void set(void (Builder::*setter)(capnp::Text::Reader), const redaction::Redacted<B>& value) {
    (builder_.*setter)(kj::StringPtr(value.text().c_str(), value.text().size()));
  }
  template <typename Value>
  requires std::is_arithmetic_v<Value> || std::is_enum_v<Value> || std::is_same_v<Value, capnp::Void>
  void set(void (Builder::*setter)(Value), std::type_identity_t<Value> value = {}) {
    (builder_.*setter)(value);
  }

  template <typename Inner>
  Outgoing<B, typename Inner::Builds> init(Inner (Builder::*initialize)()) {
    return Outgoing<B, typename Inner::Builds>((builder_.*initialize)());
  }
  template <typename ListBuilder>
  requires requires { typename ListBuilder::Builds; }
  OutgoingList<B, ListBuilder> init(ListBuilder (Builder::*initialize)(unsigned), std::size_t size) {
    return OutgoingList<B, ListBuilder>((builder_.*initialize)(static_cast<unsigned>(size)));
  }

 private:
  Builder builder_;
};

// The same for a list, by index.
template <redaction::Boundary B, typename ListBuilder>
class OutgoingList {
  using Element = decltype(std::declval<ListBuilder&>()[0]);
  static constexpr bool kOfTexts = std::is_same_v<typename ListBuilder::Builds, capnp::List<capnp::Text>>;

 public:
  explicit OutgoingList(ListBuilder builder) : builder_(builder) {}

  unsigned size() const { return builder_.size(); }

  auto operator[](unsigned index) requires requires { typename Element::Builds; }
  { return Outgoing<B, typename Element::Builds>(builder_[index]); }
  void set(unsigned index, const redaction::Redacted<B>& value) requires kOfTexts {
    builder_.set(index, kj::StringPtr(value.text().c_str(), value.text().size()));
  }
  template <typename Value>
  requires std::is_enum_v<Value>
  void set(unsigned index, Value value) { builder_.set(index, value); }

 private:
  ListBuilder builder_;
};

// The reply to a call, as what leaves over boundary B. A problem in it is an Outgoing of its own boundary.
template <redaction::Boundary B, typename Context>
auto reply(Context& context) {
  using Results = typename std::decay_t<decltype(context.getResults())>::Builds;
  return Outgoing<B, Results>(context.getResults());
}

}  // namespace factionos::actions
