#include "tests/integration/front/raw_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace factionos::front::test {
namespace {

sandbox::Fd connected(int family, const sockaddr* address, socklen_t size) {
  sandbox::Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(socket.get(), address, size) != 0)
    throw std::system_error(errno, std::generic_category(), "connect");
  fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  return socket;
}

bool lower(char a, char b) {
  return std::tolower(a) == std::tolower(b);
}

std::size_t contentLength(const Answer& answer) {
  const std::string value = answer.field("content-length");
  return value.empty() ? 0 : std::stoul(value);
}

// Takes one answer from the front of `bytes`; false if it is not whole.
bool takeAnswer(std::string& bytes, Body body, Answer& answer) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  answer = {};
  answer.head = bytes.substr(0, end + 2);
  answer.status = std::stoi(answer.head.substr(9, 3));
  const std::size_t length = body == Body::kNone ? 0 : contentLength(answer);
  if (bytes.size() < end + 4 + length) return false;
  answer.body = bytes.substr(end + 4, length);
  bytes.erase(0, end + 4 + length);
  return true;
}

}  // namespace

std::string Answer::field(std::string_view name) const {
  const std::string wanted = "\r\n" + std::string(name) + ": ";
  const auto at = std::search(head.begin(), head.end(), wanted.begin(), wanted.end(), lower);
  if (at == head.end()) return {};
  const auto from = at + static_cast<std::ptrdiff_t>(wanted.size());
  return {from, std::find(from, head.end(), '\r')};
}

RawClient RawClient::tcp(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return RawClient(connected(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

RawClient RawClient::unixSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return RawClient(connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

void RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd ready{socket_.get(), POLLIN | POLLOUT, 0};
    if (poll(&ready, 1, static_cast<int>(kPatience.count())) != 1)
      throw std::runtime_error("send: no progress");
    if ((ready.revents & POLLIN) != 0) {
      char piece[65536];
      const ssize_t count = recv(socket_.get(), piece, sizeof piece, 0);
      if (count <= 0) return;
      buffer_.append(piece, static_cast<std::size_t>(count));
    }
    if ((ready.revents & (POLLOUT | POLLHUP | POLLERR)) == 0) continue;
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) continue;
    if (sent < 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool RawClient::fill(std::chrono::milliseconds patience) {
  pollfd ready{socket_.get(), POLLIN, 0};
  if (poll(&ready, 1, static_cast<int>(patience.count())) != 1) throw std::runtime_error("nothing came");
  char piece[65536];
  const ssize_t count = recv(socket_.get(), piece, sizeof piece, 0);
  if (count <= 0) return false;
  buffer_.append(piece, static_cast<std::size_t>(count));
  return true;
}

Answer RawClient::read(Body body, std::chrono::milliseconds patience) {
  Answer answer;
  while (!takeAnswer(buffer_, body, answer))
    if (!fill(patience)) throw std::runtime_error("the connection ended before an answer");
  return answer;
}

std::string RawClient::readToEnd(std::chrono::milliseconds patience) {
  while (fill(patience)) {
  }
  return std::exchange(buffer_, {});
}

void RawClient::finish() {
  shutdown(socket_.get(), SHUT_WR);
}

std::vector<Answer> cutAnswers(std::string_view bytes, Body body) {
  std::vector<Answer> answers;
  std::string rest(bytes);
  for (Answer answer; takeAnswer(rest, body, answer);) answers.push_back(answer);
  if (!rest.empty()) throw std::runtime_error("bytes that are no answer: " + rest.substr(0, 200));
  return answers;
}

}  // namespace factionos::front::test
