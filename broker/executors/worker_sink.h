#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <capnp/capability.h>
#include <capnp/schema.h>
#include <kj/exception.h>

#include "broker/redaction/words.h"

namespace factionos::broker {

// What a worker may call of something that lives here: its output and nothing else. It outlives the living
// one by what is in flight. A call that `Interface` does not know, or whose parameters are not of its shape,
// is a breach.
template <typename Interface, typename Live>
class WorkerSink : public Interface::Server {
 public:
  // `living`: what it points to is gone once the living one is.
  explicit WorkerSink(std::weak_ptr<Live*> living) : living_(std::move(living)) {}

  capnp::Capability::Server::DispatchCallResult dispatchCall(
      std::uint64_t interfaceId, std::uint16_t methodId,
      capnp::CallContext<capnp::AnyPointer, capnp::AnyPointer> context) override {
    if (interfaceId != capnp::typeId<Interface>() || methodId >= kMethods)
      hear([this](Live& live) { broke(live, "unknown_call"); });
    return Interface::Server::dispatchCall(interfaceId, methodId, context);
  }

 protected:
  // Parameters are read in here: what throws is not of the schema's shape.
  template <typename Act>
  void hear(Act act) {
    const auto living = living_.lock();
    if (!living) return;
    try {
      act(**living);
    } catch (const kj::Exception&) {
      broke(**living, "malformed_call");
    }
  }

 private:
  virtual void broke(Live& live, redaction::Literal breach) = 0;

  static constexpr std::uint16_t kMethods = 2;  // write and end

  std::weak_ptr<Live*> living_;
};

}  // namespace factionos::broker
