#include "workers/front/parser.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/detail/base64.hpp>
#include <boost/beast/core/detail/sha1.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <exception>
#include <iterator>
#include <utility>

namespace factionos::front {
namespace {

namespace http = boost::beast::http;

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

struct RequestParser::Impl {
  http::request_parser<http::string_body> parser;
  std::uint64_t missing = 0;

  Status status(const boost::system::error_code& error) {
    if (error == http::error::body_limit) return Status::kTooLarge;
    if (error && error != http::error::need_more) return Status::kMalformed;
    return parser.is_done() ? Status::kDone : Status::kMore;
  }

  [[nodiscard]] bool agrees(const HeaderBlock& head, const Semantics& semantics) const {
    const auto& message = parser.get();
    const auto fields = std::distance(message.begin(), message.end());
    return parser.is_header_done() && view(message.method_string()) == head.method &&
           view(message.target()) == head.target &&
           message.version() == static_cast<unsigned>(10 + head.minorVersion) &&
           static_cast<std::size_t>(fields) == head.fields.size() && !parser.chunked() &&
           parser.content_length().value_or(0) == semantics.contentLength;
  }
};

RequestParser::RequestParser() : impl_(std::make_unique<Impl>()) {
  impl_->parser.eager(true);
  impl_->parser.header_limit(static_cast<std::uint32_t>(kMaxHeaderBytes));
  impl_->parser.body_limit(kMaxBodyBytes);
}

RequestParser::~RequestParser() = default;

RequestParser::Status RequestParser::putHeader(std::string_view block, const HeaderBlock& head,
                                               const Semantics& semantics) {
  try {
    boost::system::error_code error;
    const std::size_t used = impl_->parser.put(boost::asio::buffer(block.data(), block.size()), error);
    const Status status = impl_->status(error);
    if (status != Status::kMore && status != Status::kDone) return status;
    if (used != block.size() || !impl_->agrees(head, semantics)) return Status::kMalformed;
    impl_->missing = semantics.contentLength;
    return status;
  } catch (const std::exception&) {
    // 1.81 throws length_error for some field names and values that it can't store.
    return Status::kMalformed;
  }
}

RequestParser::Status RequestParser::putBody(std::string_view bytes, std::size_t& used) {
  used = 0;
  try {
    bytes = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), impl_->missing)));
    boost::system::error_code error;
    used = impl_->parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    impl_->missing -= std::min<std::uint64_t>(used, impl_->missing);
    return impl_->status(error);
  } catch (const std::exception&) {
    return Status::kMalformed;
  }
}

std::uint64_t RequestParser::missing() const {
  return impl_->missing;
}

std::string RequestParser::takeBody() {
  return std::move(impl_->parser.get().body());
}

std::string_view reasonPhrase(std::uint16_t status) {
  const auto phrase = view(http::obsolete_reason(static_cast<http::status>(status)));
  return phrase == "<unknown-status>" ? std::string_view("Unknown") : phrase;
}

std::string webSocketAccept(std::string_view key) {
  namespace detail = boost::beast::detail;
  constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  detail::sha1_context context;
  detail::init(context);
  detail::update(context, key.data(), key.size());
  detail::update(context, kGuid.data(), kGuid.size());
  std::array<unsigned char, detail::sha1_context::digest_size> digest{};
  detail::finish(context, digest.data());
  std::string accept(detail::base64::encoded_size(digest.size()), '\0');
  accept.resize(detail::base64::encode(accept.data(), digest.data(), digest.size()));
  return accept;
}

bool isWebSocketKey(std::string_view key) {
  constexpr std::size_t kEncodedBytes = 24;  // 16 bytes in base64, two signs of padding
  if (key.size() != kEncodedBytes || !key.ends_with("==")) return false;
  const auto isBase64 = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  };
  return std::ranges::all_of(key.substr(0, kEncodedBytes - 2), isBase64);
}

}  // namespace factionos::front
