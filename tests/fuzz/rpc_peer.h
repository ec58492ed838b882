// A peer made of a fuzzer's bytes: it speaks the RPC protocol on one end of a socketpair, well enough to
// reach the methods behind it, and breaks what it says as the bytes tell.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include <capnp/capability.h>
#include <capnp/dynamic.h>
#include <capnp/rpc.capnp.h>
#include <capnp/schema.h>
#include <kj/async.h>
#include <kj/function.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"

namespace factionos::fuzz {

// The loop of a fuzzer: one for the process, quiet through a QuietKj on the stack of each run.
rpc::Loop& loop();

class Peer {
 public:
  struct Plan {
    std::vector<capnp::InterfaceSchema> interfaces;  // whose methods are called
    std::vector<std::string> texts;                  // that a field may hold: names and ids that exist
    // A descriptor that goes along with a message now and then; none: ordinary pipes.
    std::function<rpc::OwnFd()> descriptor = {};
  };

  Peer(Plan& plan, FuzzedDataProvider& bytes, rpc::OwnFd socket)
      : plan_(plan), bytes_(bytes), socket_(kj::mv(socket)) {}

  // Messages, until the bytes are used up or the other side has closed. Whatever it leads to has happened
  // when this returns, as far as nothing waits for time.
  void speak();
  // Answers a question of the other side's with a capability in a struct's first pointer, or as the
  // bootstrap's.
  void give(std::uint32_t question, kj::ArrayPtr<const capnp::StructSchema> results);

 private:
  using Message = capnp::rpc::Message;

  void say(kj::FunctionParam<void(Message::Builder)> fill);
  void call(Message::Builder message);
  void answer(Message::Builder message);
  void other(Message::Builder message);
  void fillPayload(capnp::rpc::Payload::Builder payload, capnp::StructSchema shape);
  void fill(capnp::DynamicStruct::Builder target, int depth);
  void fillField(capnp::DynamicStruct::Builder target, capnp::StructSchema::Field field, int depth);
  std::string text();
  std::uint64_t number();
  std::uint32_t smallId() { return bytes_.ConsumeIntegralInRange<std::uint32_t>(0, 4); }
  bool send(kj::ArrayPtr<const kj::byte> raw);
  void listen();

  Plan& plan_;
  FuzzedDataProvider& bytes_;
  rpc::OwnFd socket_;
  std::uint32_t question_ = 0;
  bool open_ = true;
};

// One run: a connection that serves `bootstrap` (or asks for the peer's, where it is null) against a Peer.
void run(Peer::Plan& plan, const std::uint8_t* data, std::size_t size, rpc::ConnectionOptions options,
         kj::FunctionParam<capnp::Capability::Client()> bootstrap);

}  // namespace factionos::fuzz
