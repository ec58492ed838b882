// Between a container that must never wait and a sink that may be slow: the container's output on its way to
// the broker.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include <kj/array.h>
#include <kj/async.h>
#include <kj/timer.h>
#include <kj/vector.h>

#include "protocol/schemas/container.capnp.h"
#include "workers/container/frames.h"

namespace factionos::container {

class Outlet {
 public:
  explicit Outlet(schema::ContainerSink::Client sink);
  KJ_DISALLOW_COPY(Outlet);

  // Takes all of it, at once: what there is no room for is dropped and counted.
  void push(Source source, std::string_view bytes);
  // What could not be read as output.
  void lose(std::size_t bytes);
  // Once: hands over what is left and tells the sink, within `limit`.
  kj::Promise<void> finish(kj::Timer& timer, kj::Duration limit);

  [[nodiscard]] std::uint64_t totalBytes() const { return total_; }
  [[nodiscard]] std::uint64_t droppedBytes() const { return droppedTotal_; }

 private:
  enum class State { kIdle, kWriting, kLost };
  struct Chunk {
    Source source;
    kj::Vector<kj::byte> bytes;
    std::uint64_t dropped;  // of its stream, right before it
  };

  void write();
  kj::Promise<void> writeAll();

  schema::ContainerSink::Client sink_;
  std::deque<Chunk> chunks_;
  std::size_t kept_ = 0;                    // bytes in chunks
  std::array<std::uint64_t, 2> dropped_{};  // by source, not told yet
  std::uint64_t total_ = 0;
  std::uint64_t droppedTotal_ = 0;
  State state_ = State::kIdle;
  kj::ForkedPromise<void> writing_;
};

}  // namespace factionos::container
