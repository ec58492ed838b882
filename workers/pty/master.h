// The master side of one pseudo-terminal.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include <kj/array.h>
#include <kj/async.h>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/loop.h"
#include "workers/pty/line_meter.h"

namespace factionos::pty {

inline constexpr std::size_t kReadBytes = 65536;   // one OutputSink.write at most
inline constexpr std::size_t kInputBytes = 65536;  // one Terminal.input at most
inline constexpr std::uint16_t kLargestWindow = 1000;

enum class InputEnd { kTaken, kLineTooLong, kFull, kEnded, kTooLarge };
struct InputOutcome {
  InputEnd end = InputEnd::kTaken;
  std::size_t written = 0;
};

enum class ResizeEnd { kDone, kInvalid, kEnded };

class Master {
 public:
  // Owns `fd` and makes it non-blocking. Throws if it is no terminal.
  Master(rpc::Loop& loop, rpc::OwnFd fd);
  KJ_DISALLOW_COPY(Master);

  // Resolves to what there is, up to kReadBytes; empty when the other side is gone and all has been read. One
  // at a time; the bytes stay until the next.
  kj::Promise<kj::ArrayPtr<const kj::byte>> read();

  // Whole or told. One at a time.
  kj::Promise<InputOutcome> write(kj::Array<kj::byte> data);

  ResizeEnd resize(std::uint16_t columns, std::uint16_t rows);

  // Gives the descriptor back to the kernel; everything else then answers as ended.
  void close();

 private:
  kj::Promise<InputOutcome> writeFrom(kj::Array<kj::byte> data, std::size_t done, kj::TimePoint deadline);
  kj::ArrayPtr<const kj::byte> readNow();

  rpc::Loop& loop_;
  rpc::OwnFd fd_;
  kj::Array<kj::byte> buffer_ = kj::heapArray<kj::byte>(kReadBytes);
  bool ended_ = false;
  LineMeter meter_;
};

}  // namespace factionos::pty
