#include "tests/canary/streams.h"

#include <array>
#include <stdexcept>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace factionos::test {
namespace {

int connectTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("nobody listens");
  return fd;
}

void send(int fd, const std::string& bytes) {
  if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("nobody reads");
}

std::string readAll(int fd) {
  std::string bytes;
  std::array<char, 65536> chunk;
  for (ssize_t size = 0; (size = ::recv(fd, chunk.data(), chunk.size(), 0)) > 0;)
    bytes.append(chunk.data(), static_cast<std::size_t>(size));
  return bytes;
}

constexpr const char* kHandshake =
    "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

// A whole masked text frame of less than 64 KiB; a mask of zeros masks nothing and is as valid as any.
std::string frame(const std::string& text) {
  std::string bytes{static_cast<char>(0x81)};
  if (text.size() < 126) {
    bytes += static_cast<char>(0x80U | text.size());
  } else {
    bytes += static_cast<char>(0xfe);
    bytes += static_cast<char>(text.size() >> 8U);
    bytes += static_cast<char>(text.size() & 0xffU);
  }
  return bytes + std::string(4, '\0') + text;
}

}  // namespace

StreamReader::StreamReader(const std::string& socketPath, Kind kind, const std::string& token)
    : fd_(connectTo(socketPath)) {
  if (kind == Kind::kWebSocket) {
    send(fd_, kHandshake + frame(R"({"token":")" + token + "\"}"));
  } else {
    send(fd_,
         "GET /v1/stream/sse HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n");
  }
  reader_ = std::thread([this]() { bytes_ = readAll(fd_); });
}

StreamReader::~StreamReader() {
  stop();
  ::close(fd_);
}

std::string StreamReader::stop() {
  ::shutdown(fd_, SHUT_RDWR);
  if (reader_.joinable()) reader_.join();
  return bytes_;
}

std::string webSocketAnswer(const std::string& socketPath, const std::vector<std::string>& frames) {
  std::string bytes = kHandshake;
  for (const auto& each : frames) bytes += frame(each);
  return rawAnswer(socketPath, bytes);
}

std::string rawAnswer(const std::string& socketPath, const std::string& bytes) {
  const int fd = connectTo(socketPath);
  const timeval silence{.tv_sec = 0, .tv_usec = 150'000};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
  send(fd, bytes);
  auto answer = readAll(fd);
  ::close(fd);
  return answer;
}

}  // namespace factionos::test
