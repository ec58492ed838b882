// The HTTP library behind the gate: Boost.Beast's request parser, used as a passive parser. It must agree
// with what the gate read, and it alone says where a body ends. No other file includes Beast.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "workers/front/gate.h"
#include "workers/front/semantics.h"

namespace factionos::front {

class RequestParser {
 public:
  enum class Status : std::uint8_t {
    kMore,       // the header is read, the body is not complete
    kDone,       // the whole request is read
    kMalformed,  // 400
    kTooLarge    // 413
  };

  RequestParser();
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // `block` is a whole header block that the gate let through; `head` and `semantics` are what was read from
  // it. Another reading of the method, the target, the version, the number of fields or the length is
  // kMalformed.
  Status putHeader(std::string_view block, const HeaderBlock& head, const Semantics& semantics);

  // Bytes of the body, at most what is missing of it. `used` is how many were taken. Call it after kMore
  // alone.
  Status putBody(std::string_view bytes, std::size_t& used);

  // Of the body that is still missing. 0 after kDone.
  [[nodiscard]] std::uint64_t missing() const;

  // The body, once. Precondition: kDone.
  std::string takeBody();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The largest body that any route takes; each route's own limit is checked before its body is read.
inline constexpr std::uint64_t kMaxBodyBytes = 8388608;

// The phrase of RFC 9110 for a status; "Unknown" for none of it.
std::string_view reasonPhrase(std::uint16_t status);

// Sec-WebSocket-Accept for the client's key (RFC 6455, 4.2.2).
std::string webSocketAccept(std::string_view key);

// Whether `key` is the base64 form of 16 bytes.
bool isWebSocketKey(std::string_view key);

}  // namespace factionos::front
