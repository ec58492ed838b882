// WebSocket frames (RFC 6455), server side: wslay behind it, no I/O of its own. wslay enforces masks,
// reserved bits, UTF-8 and sizes; what it leaves open, pongs without end and empty fragments, is counted
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace factionos::front {

inline constexpr std::size_t kMaxMessageBytes = 4096;  // of a client: one hello
inline constexpr unsigned kMaxFramesPerPeriod = 64;    // between two calls of startPeriod()

enum class CloseCode : std::uint16_t { kGoingAway = 1001, kPolicyViolation = 1008 };

class FrameCodec {
 public:
  struct Message {
    enum class Kind : std::uint8_t { kText, kOther };
    Kind kind = Kind::kText;
    std::string data;
  };

  FrameCodec();
  ~FrameCodec();
  FrameCodec(const FrameCodec&) = delete;
  FrameCodec& operator=(const FrameCodec&) = delete;

  // Takes all of `bytes`; whole messages wait in takeMessages(). Pings are answered.
  void receive(std::string_view bytes);
  std::vector<Message> takeMessages();
  [[nodiscard]] unsigned frames()
      const;  // received since startPeriod(), fragments and control frames included
  void startPeriod();

  void sendText(std::string_view text);
  void sendPing();
  // No further text is sent. `reason` is ours, at most 123 bytes.
  void close(CloseCode code, std::string_view reason);

  // Everything that is to be sent now.
  std::string takeOutput();
  // Nothing more can be read, and nothing is left to write: both have closed, or the peer broke the protocol.
  [[nodiscard]] bool over() const;
  [[nodiscard]] bool closeSent() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace factionos::front
