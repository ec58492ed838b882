#include "workers/container/http_reply.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <exception>
#include <utility>

namespace factionos::container {
namespace http = boost::beast::http;

struct ReplyParser::Impl {
  http::response_parser<http::string_body> parser;
  std::string pending;  // what the parser has not taken: part of a header, or of a chunk's head
  Status status = Status::kHeader;

  void settle(const boost::system::error_code& error) {
    if (error && error != http::error::need_more) {
      status = Status::kBroken;
    } else if (parser.is_done()) {
      status = Status::kDone;
    } else {
      status = parser.is_header_done() ? Status::kBody : Status::kHeader;
    }
  }

  // Chunks are for who keeps a connection, and nobody here asked for that. The parser's own way with them
  // ends in an assertion on some that are malformed (1.81), so they don't reach it: it stops behind the
  // header.
  void judgeHeader() {
    if (!parser.is_header_done() || status == Status::kBroken) return;
    if (parser.chunked()) status = Status::kBroken;
    parser.eager(true);
  }

  // As long as it takes any: it reads one thing at a time.
  void parse() {
    std::size_t at = 0;
    while (at < pending.size() && status != Status::kDone && status != Status::kBroken) {
      boost::system::error_code error;
      const std::size_t used =
          parser.put(boost::asio::buffer(pending.data() + at, pending.size() - at), error);
      settle(error);
      judgeHeader();
      at += used;
      if (used == 0) break;
    }
    pending.erase(0, at);
    if (status != Status::kDone && pending.size() > kMaxReplyHeader) status = Status::kBroken;
  }
};

ReplyParser::ReplyParser(Body body, std::size_t bodyBytes) : impl_(std::make_unique<Impl>()) {
  impl_->parser.skip(body == Body::kNone);
  impl_->parser.header_limit(static_cast<std::uint32_t>(kMaxReplyHeader));
  impl_->parser.body_limit(bodyBytes);
}

ReplyParser::~ReplyParser() = default;

ReplyParser::Status ReplyParser::feed(std::string_view bytes) {
  try {
    impl_->pending.append(bytes);
    impl_->parse();
  } catch (const std::exception&) {
    // 1.81 throws length_error for some fields that it can't store.
    impl_->status = Status::kBroken;
  }
  return impl_->status;
}

ReplyParser::Status ReplyParser::finish() {
  if (impl_->status == Status::kBody && impl_->pending.empty()) {
    boost::system::error_code error;
    impl_->parser.put_eof(error);
    impl_->settle(error);
  }
  if (impl_->status != Status::kDone) impl_->status = Status::kBroken;
  return impl_->status;
}

unsigned ReplyParser::status() const {
  return impl_->parser.get().result_int();
}

std::string ReplyParser::takeBody() {
  return std::move(impl_->parser.get().body());
}

std::string ReplyParser::takeRest() {
  return std::move(impl_->pending);
}

}  // namespace factionos::container
