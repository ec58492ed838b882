// What a front that was taken over does with all that it holds.
#pragma once

#include <string>

#include <kj/vector.h>

#include "protocol/rpc/loop.h"
#include "protocol/schemas/front.capnp.h"

namespace factionos::hostile {

class BadFront {
 public:
  BadFront(rpc::Loop& loop, schema::Gate::Client gate) : loop_(loop), gate_(kj::mv(gate)) {}

  // A listener that it was given; borrowed.
  void hold(schema::Listener::Kind kind, int socket);
  // An act, a breach of the wire protocol, or a scenario of its own. Resolves to what came of it.
  kj::Promise<std::string> carryOut(const std::string& scenario, const std::string& token);
  bool silent() const { return silent_; }

 private:
  kj::Promise<schema::Api::Client> login(const std::string& token);
  kj::Promise<std::string> beSomebody(int descriptor);
  kj::Promise<std::string> guessTokens(int left);
  kj::Promise<std::string> approveOwn(const std::string& token);
  kj::Promise<std::string> callAll(const std::string& token);
  kj::Promise<std::string> flood(const std::string& token, const std::string& scenario, int left);

  rpc::Loop& loop_;
  schema::Gate::Client gate_;
  int tcp_ = -1;
  int unix_ = -1;
  bool silent_ = false;
};

}  // namespace factionos::hostile
