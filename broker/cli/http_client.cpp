#include "broker/cli/http_client.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstring>

#include <sodium.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "broker/cli/context.h"

namespace factionos::cli {
namespace {

namespace http = boost::beast::http;

[[noreturn]] void unreachable() {
  throw Stop(kUnreachable, "no broker answers on its socket; start one with 'factionos serve'");
}

}  // namespace

HttpClient::HttpClient(std::string socketPath, std::optional<std::string> token)
    : socketPath_(std::move(socketPath)), token_(std::move(token)) {}
HttpClient::~HttpClient() = default;

void HttpClient::connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socketPath_.size() >= sizeof address.sun_path)
    throw Stop(kUsage, "the home's path is too long for a unix socket");
  socketPath_.copy(address.sun_path, socketPath_.size());
  socket_ = sandbox::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rest_.clear();
  if (!socket_ || ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    unreachable();
}

HttpReply HttpClient::get(const std::string& target) {
  return request("GET", target, {}, {});
}

HttpReply HttpClient::post(const std::string& target, const std::string& body, const std::string& key) {
  return request("POST", target, body, key);
}

HttpReply HttpClient::request(std::string_view method, const std::string& target, const std::string& body,
                              const std::string& key) {
  // A new connection for each request: they are few, and an idle one may have been closed by the other side.
  connect();
  std::string text =
      std::string(method) + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  if (token_) text += "Authorization: Bearer " + *token_ + "\r\n";
  if (method == "POST")
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  if (!key.empty()) text += "Idempotency-Key: " + key + "\r\n";
  text += "\r\n" + body;
  for (std::size_t sent = 0; sent < text.size();) {
    const auto size = ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;  // refused while it was sent: the reply says why
    sent += static_cast<std::size_t>(size);
  }
  http::response_parser<http::string_body> parser;
  parser.eager(true);
  parser.body_limit(64ULL << 20);
  std::string pending;
  std::array<char, 16384> chunk;
  while (!parser.is_done()) {
    const auto size = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    boost::system::error_code error;
    if (size <= 0) {
      parser.put_eof(error);
      if (error || !parser.is_done()) unreachable();
      break;
    }
    pending.append(chunk.data(), static_cast<std::size_t>(size));
    const auto used = parser.put(boost::asio::buffer(pending), error);
    pending.erase(0, used);
    if (error && error != http::error::need_more) unreachable();
  }
  auto message = parser.release();
  const auto replayed = message.find("Idempotency-Replayed");
  return {.status = message.result_int(),
          .body = std::move(message.body()),
          .replayed = replayed != message.end() && replayed->value() == "true"};
}

std::string randomKey() {
  std::array<unsigned char, 16> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  std::array<char, 33> text;
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  return "cli-" + std::string(text.data());
}

std::string jsonText(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\') {
      out += '\\';
      out += each;
    } else if (code < 0x20) {
      out += "\\u00";
      out += kHex[code >> 4U];
      out += kHex[code & 15U];
    } else {
      out += each;
    }
  }
  return out + "\"";
}

}  // namespace factionos::cli
