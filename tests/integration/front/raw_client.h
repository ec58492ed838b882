// A client that sends exactly the bytes that it is given, and says exactly what came back and how it ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/descriptors.h"

namespace factionos::front::test {

struct Answer {
  int status = 0;
  std::string head;  // status line and fields
  std::string body;

  // The value of a field; empty if there is none.
  [[nodiscard]] std::string field(std::string_view name) const;
};

enum class Body { kAsSaid, kNone };  // kNone: the answer to HEAD says a length and has no body

inline constexpr std::chrono::milliseconds kPatience{10000};

class RawClient {
 public:
  static RawClient tcp(std::uint16_t port);
  static RawClient unixSocket(const std::string& path);

  // Sends all of it while it keeps what comes back, so that neither side waits for the other. A connection
  // that the front closes meanwhile is no error.
  void send(std::string_view bytes);
  // The next answer. Throws if none comes within `patience` or the connection ends before.
  Answer read(Body body = Body::kAsSaid, std::chrono::milliseconds patience = kPatience);
  // Everything up to the front's end of the connection. Throws if it does not end within `patience`.
  std::string readToEnd(std::chrono::milliseconds patience = kPatience);
  // At least one byte more than is buffered; false at the end of the connection. Throws after `patience`.
  bool fill(std::chrono::milliseconds patience = kPatience);
  std::string& buffered() { return buffer_; }
  // Ends our half alone.
  void finish();
  void close() { socket_.reset(); }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  explicit RawClient(sandbox::Fd socket) : socket_(std::move(socket)) {}

  sandbox::Fd socket_;
  std::string buffer_;
};

// The answers in `bytes`, cut apart by Content-Length; the statuses of interim answers count too.
std::vector<Answer> cutAnswers(std::string_view bytes, Body body = Body::kAsSaid);

}  // namespace factionos::front::test
