#include "http.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <simdjson.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace factionos::test {
namespace {

constexpr timeval kLongestAnswer{100, 0};

Reply exchange(int fd, const std::string& method, const std::string& target, const std::string& body,
               const Headers& headers) {
  std::string text = method + " " + target + " HTTP/1.1\r\nConnection: close\r\n";
  bool host = false;
  for (const auto& [name, value] : headers) {
    text += name + ": " + value + "\r\n";
    host = host || name == "Host";
  }
  if (!host) text += "Host: localhost\r\n";
  if (!body.empty())
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  text += "\r\n" + body;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kLongestAnswer, sizeof kLongestAnswer);
  std::size_t sent = 0;
  while (sent < text.size()) {
    const auto size = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (size <= 0) break;
    sent += static_cast<std::size_t>(size);
  }
  std::string all;
  std::array<char, 65536> chunk;
  ssize_t size = 0;
  // Whoever stops this process and lets it go on ends the call, with SO_RCVTIMEO, without an answer.
  while ((size = ::recv(fd, chunk.data(), chunk.size(), 0)) > 0 || (size < 0 && errno == EINTR))
    if (size > 0) all.append(chunk.data(), static_cast<std::size_t>(size));
  const bool late = size < 0 && errno == EAGAIN;
  ::close(fd);
  Reply reply;
  if (late) reply.status = kNeverAnswered;
  const auto end = all.find("\r\n\r\n");
  if (end == std::string::npos || std::sscanf(all.c_str(), "HTTP/1.1 %d", &reply.status) != 1) return reply;
  std::size_t at = all.find("\r\n") + 2;
  while (at < end) {
    const auto line = all.substr(at, all.find("\r\n", at) - at);
    at += line.size() + 2;
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    auto name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
    reply.headers[name] = line.substr(colon + 2);
  }
  reply.body = all.substr(end + 4);
  return reply;
}

}  // namespace

bool Reply::has(const std::string& pointer) const {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  return parser.parse(body).get(document) == simdjson::SUCCESS &&
         document.at_pointer(pointer).error() == simdjson::SUCCESS;
}

std::string Reply::at(const std::string& pointer) const {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  simdjson::dom::element found;
  if (parser.parse(body).get(document) != simdjson::SUCCESS ||
      document.at_pointer(pointer).get(found) != simdjson::SUCCESS)
    return {};
  std::string_view text;
  if (found.get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(found);
}

std::uint64_t Reply::number(const std::string& pointer) const {
  const auto text = at(pointer);
  return text.empty() ? 0 : std::stoull(text);
}

Reply request(std::uint16_t port, const std::string& method, const std::string& target,
              const std::string& body, const Headers& headers) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return {};
  }
  return exchange(fd, method, target, body, headers);
}

Reply requestUnix(const std::string& path, const std::string& method, const std::string& target,
                  const std::string& body, const Headers& headers) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return {};
  }
  return exchange(fd, method, target, body, headers);
}

std::string json(const std::string& text) {
  std::string out = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') {
      out += '\\';
      out += each;
    } else if (static_cast<unsigned char>(each) < 0x20) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(each));
      out += escape.data();
    } else {
      out += each;
    }
  }
  return out + "\"";
}

}  // namespace factionos::test
