// A WebSocket client by hand, so that it can break every rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/integration/front/raw_client.h"

namespace factionos::front::test {

enum class Opcode : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10
};
enum class Mask { kYes, kNo };

struct Frame {
  Opcode opcode = Opcode::kText;
  std::string payload;

  // Of a close frame; 0 without one.
  [[nodiscard]] int closeCode() const;
  [[nodiscard]] std::string closeReason() const { return payload.size() > 2 ? payload.substr(2) : ""; }
};

// The bytes of one frame. `firstByte` overrides FIN and opcode where it is not 0.
std::string frame(Opcode opcode, std::string_view payload, Mask mask = Mask::kYes,
                  std::uint8_t firstByte = 0);

class WebSocketClient {
 public:
  // Sends the handshake and reads its answer.
  explicit WebSocketClient(RawClient client, std::string_view lines = {});

  [[nodiscard]] const Answer& handshake() const { return handshake_; }
  void send(Opcode opcode, std::string_view payload) { client_.send(frame(opcode, payload)); }
  void sendRaw(std::string_view bytes) { client_.send(bytes); }
  // The next frame, pings aside. Throws when the connection ends before.
  Frame read(std::chrono::milliseconds patience = kPatience);
  // Whether the connection ends without another frame.
  bool endsNow() { return client_.readToEnd().empty(); }
  RawClient& raw() { return client_; }

 private:
  RawClient client_;
  Answer handshake_;
};

}  // namespace factionos::front::test
