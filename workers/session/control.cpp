#include "workers/session/control.h"

#include <algorithm>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

namespace factionos::session {

bool sendAll(int socket, const void* bytes, std::size_t size) noexcept {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
    if (sent > 0) {
      at += sent;
      size -= static_cast<std::size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    pollfd writable{socket, POLLOUT, 0};
    poll(&writable, 1, -1);
  }
  return true;
}

bool sendReport(int socket, Report::Kind kind, std::span<const std::uint64_t> numbers,
                std::string_view text) noexcept {
  Report report;
  report.kind = kind;
  text = text.substr(0, kReportTextBytes);
  report.textBytes = static_cast<std::uint32_t>(text.size());
  std::copy_n(numbers.begin(), std::min(numbers.size(), report.numbers.size()), report.numbers.begin());
  return sendAll(socket, &report, sizeof report) && sendAll(socket, text.data(), text.size());
}

}  // namespace factionos::session
