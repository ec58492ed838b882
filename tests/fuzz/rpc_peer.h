// A peer made of a fuzzer's bytes: it speaks the RPC protocol on one end of a socketpair, well enough to
// reach the methods behind it (it listens, and mostly names capabilities and questions that exist), and
// breaks what it says as the bytes tell.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
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

// Waits for the jobs that a conversation has left on the thread pool, which work on for nobody.
void finishJobs();

class Peer {
 public:
  struct Plan {
    std::vector<capnp::InterfaceSchema> interfaces;  // whose methods are called
    std::vector<std::string> texts = {};             // that any text may hold
    // What a field of this name mostly holds, so that it names what exists.
    std::map<std::string_view, std::vector<std::string>> named = {};
    std::map<std::string_view, std::vector<std::uint64_t>> numbers = {};
    // A descriptor that goes along with a message now and then; none: ordinary pipes.
    std::function<rpc::OwnFd()> descriptor = {};
    // Whether it gives the other side's own capabilities back to it. A worker that keeps one is a circle of
    // references then, which ends with its process and not with the line, as its peer well knows.
    bool handsBack = true;
  };

  Peer(Plan& plan, FuzzedDataProvider& bytes, rpc::OwnFd socket)
      : plan_(plan), bytes_(bytes), socket_(kj::mv(socket)) {}

  // Messages, until the bytes are used up or the other side has closed. Whatever it leads to has happened
  // when this returns, as far as nothing waits for time.
  void speak();
  // Asks for the other side's bootstrap capability, as all that follows needs.
  void begin();
  // Answers a question of the other side's with a capability in a struct's first pointer, or as the
  // bootstrap's.
  void give(std::uint32_t question, kj::ArrayPtr<const capnp::StructSchema> results);

 private:
  using Message = capnp::rpc::Message;

  void say(kj::FunctionParam<void(Message::Builder)> fill);
  void call(Message::Builder message);
  void target(capnp::rpc::MessageTarget::Builder target);
  void answer(Message::Builder message);
  void other(Message::Builder message);
  void fillPayload(capnp::rpc::Payload::Builder payload, capnp::StructSchema shape);
  void fill(capnp::DynamicStruct::Builder target, int depth);
  void fillField(capnp::DynamicStruct::Builder target, capnp::StructSchema::Field field, int depth);
  std::string text(std::string_view field);
  std::uint64_t number(std::string_view field);
  // One of ours or of theirs; now and then one that is none.
  std::uint32_t anId(const std::vector<std::uint32_t>& known);
  std::uint32_t smallId() { return bytes_.ConsumeIntegralInRange<std::uint32_t>(0, 4); }
  bool send(kj::ArrayPtr<const kj::byte> raw);
  void listen();
  void hear();
  void note(Message::Reader message);
  void noteCapabilities(capnp::rpc::Payload::Reader payload);

  Plan& plan_;
  FuzzedDataProvider& bytes_;
  rpc::OwnFd socket_;
  std::uint32_t question_ = 0;
  std::string heard_;                     // of messages that are not whole yet
  std::vector<std::uint32_t> exports_;    // capabilities that the other side gave us
  std::vector<std::uint32_t> questions_;  // that the other side asked us
  bool open_ = true;
};

// One run: a connection that serves `bootstrap` against a Peer.
void run(Peer::Plan& plan, const std::uint8_t* data, std::size_t size, rpc::ConnectionOptions options,
         kj::FunctionParam<capnp::Capability::Client()> bootstrap);

}  // namespace factionos::fuzz
