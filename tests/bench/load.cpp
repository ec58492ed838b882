#include "tests/bench/load.h"

#include <cerrno>
#include <charconv>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "tests/bench/report.h"

namespace factionos::bench {
namespace {

using Clock = std::chrono::steady_clock;
using sandbox::Fd;

struct Client {
  Fd socket;
  std::string received;
  Clock::time_point sent;
};

Fd connectTo(std::uint16_t port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("nobody answers on port " + std::to_string(port));
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

void send(Client& client, const std::string& bytes) {
  client.sent = Clock::now();
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::send(client.socket.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (put < 0 && errno != EINTR) throw std::runtime_error("a connection was closed");
    if (put > 0) done += static_cast<std::size_t>(put);
  }
}

// The size of the first whole reply in `text`, 0 while there is none. Ours and Node's replies have a length.
std::size_t wholeReply(const std::string& text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  std::size_t length = 0;
  for (const char* name : {"\r\nContent-Length: ", "\r\ncontent-length: "}) {
    const std::size_t at = text.find(name);
    if (at == std::string::npos || at > end) continue;
    const char* digits = text.data() + at + std::char_traits<char>::length(name);
    std::from_chars(digits, text.data() + end, length);
  }
  const std::size_t whole = end + 4 + length;
  return text.size() >= whole ? whole : 0;
}

}  // namespace

LoadResult run(const Load& load) {
  std::vector<Client> clients(load.connections);
  const Fd set(epoll_create1(EPOLL_CLOEXEC));
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    clients[i].socket = connectTo(load.port);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    epoll_ctl(set.get(), EPOLL_CTL_ADD, clients[i].socket.get(), &event);
  }
  LoadResult result;
  std::vector<double> times;
  const auto begin = Clock::now();
  const auto end = begin + load.length;
  for (Client& client : clients) send(client, load.request(number++));
  std::size_t waiting = clients.size();
  std::vector<char> buffer(std::size_t{256} * 1024);
  while (waiting > 0) {
    epoll_event events[64];
    const int ready = epoll_wait(set.get(), events, 64, 30'000);
    if (ready == 0) throw std::runtime_error("no answer for 30 seconds");
    for (int i = 0; i < ready; ++i) {
      Client& client = clients[events[i].data.u64];
      const ssize_t got = recv(client.socket.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) throw std::runtime_error("a connection was closed before its answer");
      client.received.append(buffer.data(), static_cast<std::size_t>(got));
      if (wholeReply(client.received) == 0) continue;
      const auto now = Clock::now();
      times.push_back(std::chrono::duration<double, std::milli>(now - client.sent).count());
      if (client.received.compare(9, 1, "2") != 0) ++result.refused;
      client.received.clear();
      if (now < end) {
        send(client, load.request(number++));
      } else {
        --waiting;
      }
    }
  }
  result.answered = times.size();
  result.perSecond =
      static_cast<double>(times.size()) / std::chrono::duration<double>(Clock::now() - begin).count();
  result.p50Ms = quantile(times, 0.5);
  result.p99Ms = quantile(times, 0.99);
  return result;
}

std::string getRequest(const std::string& target, const std::string& token) {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n";
}

std::string postRequest(const std::string& target, const std::string& token, const std::string& body,
                        const std::string& key) {
  return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
         "\r\nContent-Type: application/json\r\n" + (key.empty() ? "" : "Idempotency-Key: " + key + "\r\n") +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace factionos::bench
