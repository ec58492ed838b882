// The container engines whose sockets the launcher connects, for a worker that can make no socket itself; and
// the program of a runtime that has none.
#pragma once

#include <map>
#include <string>

#include "protocol/rpc/loop.h"
#include "protocol/schemas/launcher.capnp.h"

namespace factionos::launcher {

// Their paths, which are told once and then stay.
class Engines {
 public:
  explicit Engines(kj::Timer& timer) : timer_(timer) {}

  // Null when it is done, else the code of the denial.
  const char* set(capnp::List<schema::EngineSocket>::Reader engines, capnp::Text::Reader appleProgram);
  // What has been started has seen the paths as they were: they change no more.
  void fix() { state_ = State::kFixed; }

  // The path of Apple's program; empty: none.
  const std::string& appleProgram() const { return appleProgram_; }
  // Null: no such engine. It outlives this object.
  kj::Maybe<schema::EngineConnector::Client> connector(schema::EngineKind engine) const;

 private:
  enum class State { kOpen, kFixed };

  kj::Timer& timer_;
  State state_ = State::kOpen;
  std::map<schema::EngineKind, std::string> paths_;
  std::string appleProgram_;
};

}  // namespace factionos::launcher
