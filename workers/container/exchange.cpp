#include "workers/container/exchange.h"

namespace factionos::container {

// Of HTTP/1.0, so that the engine sends no chunks and closes at the end; the host is a name that every engine
// takes.
kj::Promise<void> Exchange::send(const Request& request, std::string_view more) {
  sent_ = std::string(request.method) + " " + request.target +
          " HTTP/1.0\r\nHost: engine\r\nUser-Agent: factionos\r\n";
  if (!request.body.empty()) sent_ += "Content-Type: application/json\r\n";
  if (request.method != "GET") sent_ += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  sent_ += std::string(more) + "\r\n" + request.body;
  return stream_->write(sent_.data(), sent_.size());
}

kj::Promise<Fault> Exchange::readUntil(ReplyParser::Status wanted) {
  using Status = ReplyParser::Status;
  if (status_ == Status::kBroken) return Fault::kBroken;
  if (status_ == Status::kDone || status_ == wanted) return Fault::kNone;
  return stream_->tryRead(buffer_.data(), 1, buffer_.size())
      .then([this, wanted](std::size_t got) -> kj::Promise<Fault> {
        const bool nothing = got == 0 && status_ == Status::kHeader;
        if (nothing) return Fault::kUnreachable;
        status_ = got == 0 ? parser_.finish() : parser_.feed({buffer_.data(), got});
        return readUntil(wanted);
      });
}

Reply Exchange::reply(Fault fault) {
  if (fault != Fault::kNone) return {.fault = fault, .body = {}};
  return {.fault = fault, .status = parser_.status(), .body = parser_.takeBody()};
}

Attached Exchange::detach(Fault fault) {
  if (fault != Fault::kNone)
    return {.reply = {.fault = fault, .body = {}}, .stream = rpc::kNone, .first = {}};
  return {.reply = {.status = parser_.status(), .body = {}},
          .stream = kj::mv(stream_),
          .first = parser_.takeRest()};
}

}  // namespace factionos::container
