// WebSocket frames from a hostile client: no crash, and nothing of what is kept or answered grows past what
// was sent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "workers/front/frame_codec.h"

using namespace factionos::front;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = std::max<std::size_t>(data[0], 1);
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  FrameCodec codec;
  std::size_t answered = 0;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    codec.receive(piece);
    for (const auto& message : codec.takeMessages())
      if (message.data.size() > kMaxMessageBytes) std::abort();
    answered += codec.takeOutput().size();
    if (codec.over()) break;
  }
  // A pong is no longer than its ping without the mask, a close frame at most 127 bytes.
  if (answered > size + 127) std::abort();
  return 0;
}
