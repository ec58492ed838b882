// What a pty worker that was taken over does with all that it holds.
#pragma once

#include <string>

#include "protocol/rpc/loop.h"
#include "protocol/schemas/pty.capnp.h"

namespace factionos::hostile {

inline constexpr int kBadColumns = 666;

using AttachContext = capnp::CallContext<schema::Pty::AttachParams, schema::Pty::AttachResults>;

class Bad {
 public:
  Bad(rpc::Loop& loop, schema::OutputSink::Client sink, rpc::OwnFd master, std::string argument)
      : loop_(loop), sink_(kj::mv(sink)), master_(kj::mv(master)), argument_(std::move(argument)) {}

  // Answers attach, as a rule, and then carries out the scenario: an act, a breach of the wire protocol, or
  // one of its own.
  kj::Promise<void> attach(const std::string& scenario, AttachContext context);

 private:
  kj::Promise<void> carryOut(const std::string& scenario);
  kj::Promise<void> write(std::size_t bytes);
  kj::Promise<void> end(std::uint64_t total);
  kj::Promise<void> pump();

  rpc::Loop& loop_;
  schema::OutputSink::Client sink_;
  rpc::OwnFd master_;
  std::string argument_;
  std::uint64_t sent_ = 0;
  kj::Promise<void> doing_ = nullptr;
};

}  // namespace factionos::hostile
