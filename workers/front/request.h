// One request and what may come of it. The connection knows no routes, the handler no sockets; they meet
// here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <kj/async.h>

#include "protocol/schemas/common.capnp.h"
#include "workers/front/gate.h"
#include "workers/front/semantics.h"

namespace factionos::front {

class Inlet;
class Outlet;
struct Login;

enum class Transport : std::uint8_t { kTcp, kUnixSocket };

// Who is at the other end of one connection.
struct Peer {
  Transport transport = Transport::kTcp;
  int descriptor = -1;  // of the connection, borrowed; -1 where it has none
  // What the broker said of the peer of a unix socket, kept for the connection's life or until logins are
  // forgotten.
  std::shared_ptr<Login> login;
};

// A request whose header block passed gate, semantics and parser. All views point into `block`.
struct Request {
  std::string block;
  HeaderBlock head;
  Semantics semantics;
  std::string_view path;   // the target up to '?'
  std::string_view query;  // what follows it
  std::string id;          // X-Request-Id: ours, never the sender's

  [[nodiscard]] Singleton field(std::string_view name) const { return findField(head, name); }
};

struct Reply {
  std::uint16_t status = 200;
  std::string_view contentType = "application/json";
  std::shared_ptr<const std::string> body;  // null: an empty one
  std::string headers;                      // further lines, each with its CRLF
  Persistence after = Persistence::kKeepAlive;
  std::string_view route;  // label for metrics: a template, or "" for a request that never reached a route
};

// What is left to do once the body is there.
class Work {
 public:
  enum class Departure : std::uint8_t {
    kCancel,  // a read: drop the call when the client has left
    kFinish   // may have an effect: let it end and be recorded, whoever still listens
  };

  virtual ~Work() = default;
  // The request outlives the promise; the body is given up to it.
  virtual kj::Promise<Reply> run(std::string body) = 0;
  [[nodiscard]] virtual Departure departure() const = 0;
};

// Takes the connection over until its end: a stream. The promise resolves when nothing more will be said.
class Takeover {
 public:
  virtual ~Takeover() = default;
  virtual kj::Promise<void> run(Inlet& inlet, Outlet& outlet) = 0;
};

using Plan = std::variant<Reply, std::unique_ptr<Work>, std::unique_ptr<Takeover>>;

class Handler {
 public:
  virtual ~Handler() = default;

  // Decides by the header alone, in the order that router.h states. Request and peer outlive the promise.
  virtual kj::Promise<Plan> plan(const Request& request, Peer& peer) = 0;

  // An answer that ends the connection: to what never became a request, or can't be carried to its end.
  virtual Reply refuse(schema::ProblemCode code, std::string_view requestId) = 0;

  // Told once for every answer that is about to be sent.
  virtual void answered(const Reply& reply) = 0;
};

}  // namespace factionos::front
