// One connection, one request, one reply.
#pragma once

#include <array>
#include <string>

#include <kj/async-io.h>
#include <kj/refcount.h>

#include "workers/container/engine.h"

namespace factionos::container {

class Exchange final : public kj::Refcounted {
 public:
  Exchange(kj::Own<kj::AsyncIoStream> stream, ReplyParser::Body body, std::size_t bodyBytes)
      : stream_(kj::mv(stream)), parser_(body, bodyBytes) {}

  // Fails where the engine does not take it.
  kj::Promise<void> send(const Request& request, std::string_view more);
  // Until the header is whole, or the reply: kNone where it is. Fails where the connection does.
  kj::Promise<Fault> readHeader() { return readUntil(ReplyParser::Status::kBody); }
  kj::Promise<Fault> readAll() { return readUntil(ReplyParser::Status::kDone); }

  Reply reply(Fault fault);
  // After the header of a reply that has no body.
  Attached detach(Fault fault);

 private:
  kj::Promise<Fault> readUntil(ReplyParser::Status wanted);

  kj::Own<kj::AsyncIoStream> stream_;
  ReplyParser parser_;
  ReplyParser::Status status_ = ReplyParser::Status::kHeader;
  std::string sent_;
  std::array<char, 16384> buffer_{};
};

}  // namespace factionos::container
