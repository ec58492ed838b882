// The reading half of a connection: reads ahead by itself, up to a bound, so that a client that left is
// noticed while its request is being served. It is never cancelled before the connection ends, so no byte is
// lost between two waits.
#pragma once

#include <cstddef>
#include <string_view>

#include <kj/array.h>
#include <kj/async-io.h>
#include <kj/async.h>

namespace factionos::front {

// One byte above the largest header block, and room for what a client pipelines behind it.
inline constexpr std::size_t kInletBytes = 20480;

class Inlet {
 public:
  // Reads from the start. `stream` outlives this.
  explicit Inlet(kj::AsyncInputStream& stream);
  KJ_DISALLOW_COPY(Inlet);

  // What has come and was not consumed. The view is good until the next consume() or turn of the loop.
  [[nodiscard]] std::string_view bytes() const;
  void consume(std::size_t count);

  // The peer sends nothing more: it closed, shut down its half, or was lost. What is in bytes() still counts.
  [[nodiscard]] bool ended() const { return ended_; }

  // Resolves when bytes() is longer than `known` or the stream has ended. One waiter at a time; `known` <
  // kInletBytes.
  kj::Promise<void> beyond(std::size_t known);
  // Resolves when the stream has ended; never while the buffer is full. One waiter at a time.
  kj::Promise<void> whenEnded();

  // Drops what is there and all that comes.
  void discard();

 private:
  kj::Promise<void> pump();
  void arrived(std::size_t count);
  void end();

  kj::AsyncInputStream& stream_;
  kj::Array<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool ended_ = false;
  bool discarding_ = false;
  kj::Own<kj::PromiseFulfiller<void>> more_;
  kj::Own<kj::PromiseFulfiller<void>> over_;
  kj::Own<kj::PromiseFulfiller<void>> room_;
  kj::Promise<void> pumping_;  // last: cancelled before what it writes to goes away
};

}  // namespace factionos::front
