#include "tests/integration/front/web_socket_client.h"

#include <stdexcept>

namespace factionos::front::test {
namespace {

constexpr std::string_view kHandshake =
    "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

std::uint64_t bigEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  return value;
}

bool takeFrame(std::string& bytes, Frame& frame) {
  if (bytes.size() < 2) return false;
  std::size_t head = 2;
  std::uint64_t length = static_cast<unsigned char>(bytes[1]) & 0x7fU;
  if (length >= 126) {
    const std::size_t more = length == 126 ? 2 : 8;
    if (bytes.size() < head + more) return false;
    length = bigEndian(std::string_view(bytes).substr(head, more));
    head += more;
  }
  if (bytes.size() < head + length) return false;
  frame.opcode = static_cast<Opcode>(static_cast<unsigned char>(bytes[0]) & 0x0fU);
  frame.payload = bytes.substr(head, length);
  bytes.erase(0, head + length);
  return true;
}

}  // namespace

int Frame::closeCode() const {
  return opcode == Opcode::kClose && payload.size() >= 2 ? static_cast<int>(bigEndian(payload.substr(0, 2)))
                                                         : 0;
}

std::string frame(Opcode opcode, std::string_view payload, Mask mask, std::uint8_t firstByte) {
  const std::uint8_t masked = mask == Mask::kYes ? 0x80 : 0;
  std::string bytes;
  bytes += static_cast<char>(firstByte != 0 ? firstByte : 0x80U | static_cast<unsigned>(opcode));
  if (payload.size() < 126) {
    bytes += static_cast<char>(masked | payload.size());
  } else {
    bytes += static_cast<char>(masked | 126U);
    bytes += static_cast<char>(payload.size() >> 8U);
    bytes += static_cast<char>(payload.size() & 0xffU);
  }
  if (mask == Mask::kNo) return bytes.append(payload);
  constexpr std::string_view kKey = "\x12\x34\x56\x78";
  bytes += kKey;
  for (std::size_t i = 0; i < payload.size(); ++i) bytes += static_cast<char>(payload[i] ^ kKey[i % 4]);
  return bytes;
}

WebSocketClient::WebSocketClient(RawClient client, std::string_view lines) : client_(std::move(client)) {
  client_.send(std::string(kHandshake).append(lines).append("\r\n"));
  handshake_ = client_.read();
}

Frame WebSocketClient::read(std::chrono::milliseconds patience) {
  for (Frame frame;;) {
    if (takeFrame(client_.buffered(), frame)) {
      if (frame.opcode != Opcode::kPing) return frame;
    } else if (!client_.fill(patience)) {
      throw std::runtime_error("the connection ended before a frame");
    }
  }
}

}  // namespace factionos::front::test
