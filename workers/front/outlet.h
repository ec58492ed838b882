// The writing half of a connection. Nothing is queued: who writes waits, and a peer that takes nothing is
// given up.
#pragma once

#include <cstdint>
#include <string_view>

#include <kj/async-io.h>
#include <kj/async.h>
#include <kj/timer.h>

namespace factionos::front {

enum class Written : std::uint8_t {
  kAll,
  kLost  // the peer is gone, or took no slice within the limit; the connection is of no further use
};

class Outlet {
 public:
  // `progress`: how long one slice of at most 64 KiB may take. `stream` and `timer` outlive this.
  Outlet(kj::AsyncIoStream& stream, kj::Timer& timer, kj::Duration progress)
      : stream_(stream), timer_(timer), progress_(progress) {}
  KJ_DISALLOW_COPY(Outlet);

  // Never fails. Both texts stay with the caller until the promise is done or dropped; one write at a time.
  kj::Promise<Written> write(std::string_view head, std::string_view body = {});

  // Ends our half; what was written still arrives.
  void finish() noexcept;

 private:
  kj::Promise<Written> writeSlice(std::string_view head, std::string_view body);

  kj::AsyncIoStream& stream_;
  kj::Timer& timer_;
  kj::Duration progress_;
  kj::ArrayPtr<const kj::byte> pieces_[2];  // of the write under way
};

}  // namespace factionos::front
