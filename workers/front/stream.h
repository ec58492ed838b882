// The two streams of the command center: the last snapshot, then the newest one whenever it changed. Nothing
// is queued: a reader that is slow misses what lay between, and never what is now.
#pragma once

#include <memory>
#include <string>

#include <kj/timer.h>

#include "protocol/json/reader.h"
#include "workers/front/authenticator.h"
#include "workers/front/request.h"
#include "workers/front/snapshots.h"

namespace factionos::front {

struct StreamTimes {
  kj::Duration hello = 2 * kj::SECONDS;       // for a WebSocket's first message
  kj::Duration ping = 30 * kj::SECONDS;       // a WebSocket that is silent for two of these is gone
  kj::Duration heartbeat = 15 * kj::SECONDS;  // a comment on an event stream
};

// What streams share; everything that it refers to outlives it.
struct StreamServices {
  kj::Timer& timer;
  Authenticator& authenticator;
  SnapshotStore& snapshots;
  json::RequestReader& reader;
  StreamTimes times;
};

// Request and peer outlive what is returned. `headers`: further lines of the answer's head, each with its
// CRLF.
std::unique_ptr<Takeover> eventStream(StreamServices& services, const Request& request, Peer& peer,
                                      std::string headers);
std::unique_ptr<Takeover> webSocketStream(StreamServices& services, const Request& request, Peer& peer);

// Whether the request is a whole opening handshake of RFC 6455, version 13.
bool isWebSocketHandshake(const Request& request);

}  // namespace factionos::front
