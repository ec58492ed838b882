// The engine's API: one request a connection, each over a socket that the launcher connected.
#pragma once

#include <string>
#include <string_view>

#include <kj/async-io.h>
#include <kj/refcount.h>

#include "protocol/rpc/loop.h"
#include "protocol/schemas/container.capnp.h"
#include "workers/container/body.h"
#include "workers/container/http_reply.h"

namespace factionos::container {

enum class Fault {
  kNone,
  kUnreachable,  // no connection is to be had, or it ended before the reply did
  kTimeout,
  kBroken,  // no HTTP reply, or larger than it may be
};

struct Reply {
  Fault fault = Fault::kNone;
  unsigned status = 0;  // of kNone
  std::string body;
  std::string_view rule = {};  // of kUnreachable: why, where the launcher told

  [[nodiscard]] bool is(unsigned code) const { return fault == Fault::kNone && status == code; }
};

// The container's output, both ways of it in frames.
struct Attached {
  Reply reply;
  kj::Maybe<kj::Own<kj::AsyncIoStream>> stream;
  std::string first;  // came together with the header
};

// A request that answers when something has happened.
struct Waiting {
  kj::Promise<void> accepted;  // its header is here, so that the engine has it; or it has failed
  kj::Promise<Reply> reply;
};

struct Request {
  std::string_view method = "GET";
  std::string target;  // behind the version: "/containers/json?all=1"
  std::string body = {};
  std::size_t replyBytes = std::size_t{1} << 20;
  kj::Duration limit = 10 * kj::SECONDS;
};

// What the engine says that it is.
struct Version {
  Fault fault = Fault::kNone;
  const char* refusal = nullptr;  // "engine_too_old", "engine_too_new", "not_an_engine"
  std::string api;                // "1.41"
  Manner manner;
  bool limits = true;  // false: a podman that has no cgroup to set them in, whatever else it says
};

class Engine {
 public:
  Engine(rpc::Loop& loop, schema::EngineConnector::Client connector, Dialect expected);
  KJ_DISALLOW_COPY(Engine);

  // None of these fails: what goes wrong is in the reply. Dropping a promise closes its connection.
  kj::Promise<Reply> ask(Request request);
  kj::Promise<Attached> attach(std::string target);
  kj::Promise<Waiting> wait(std::string target);

  // Asked once; again after the engine could not be reached.
  kj::Promise<Version> version();
  // Asked now, whatever is known.
  kj::Promise<Version> versionNow() { return learn(); }
  [[nodiscard]] Dialect expected() const { return expected_; }
  kj::Timer& timer() { return loop_.timer(); }

 private:
  kj::Promise<Reply> askPlain(Request request);
  kj::Promise<Version> learn();

  rpc::Loop& loop_;
  schema::EngineConnector::Client connector_;
  Dialect expected_;
  kj::Maybe<Version> version_;
};

}  // namespace factionos::container
