// What differs between Cap'n Proto 0.9 (Debian 12) and the 1.x series. Nothing else in the tree asks for a
// version.
#pragma once

#include <capnp/common.h>
#include <kj/async-io.h>
#include <kj/common.h>
#include <kj/io.h>

// KJ's interfaces and the servers that Cap'n Proto generates have no virtual destructor (kj::Own remembers
// how to destroy what it holds), so the warning would hit every class that implements one. Off for the rest
// of the file that includes this one.
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

namespace factionos::rpc {

/// The owner of one descriptor: closes it when destroyed. Called kj::AutoCloseFd by older releases, kj::OwnFd
/// by newer.
using OwnFd = kj::LowLevelAsyncIoProvider::OwnFd;

/// The empty kj::Maybe, for both spellings (nullptr and kj::none).
#ifdef KJ_IF_SOME
inline constexpr auto kNone = kj::none;
#else
inline constexpr decltype(nullptr) kNone = nullptr;
#endif

/// Lets a call of 0.9 be cancelled when its caller drops it. From 1.0 on the schema says so and this does
/// nothing. Without it a dropped call runs to its end.
template <typename Context>
void allowCancellation([[maybe_unused]] Context& context) {
#if CAPNP_VERSION < 1000000
  context.allowCancellation();
#endif
}

}  // namespace factionos::rpc

/// FACTIONOS_IF_SOME(name, maybe) { use(name); } else { … }
/// `name` is a reference to the value that `maybe` (an lvalue or an rvalue) holds, in every release.
#ifdef KJ_IF_SOME
#define FACTIONOS_IF_SOME(name, maybe) KJ_IF_SOME(name, maybe)
#else
// The outer `if` is what a caller's `else` binds to: the inner one has its own already.
#define FACTIONOS_IF_SOME(name, maybe)                                                                       \
  _Pragma("GCC diagnostic push")                                                                             \
      _Pragma("GCC diagnostic ignored \"-Wdangling-else\"") if (auto name##Holder_ = ::kj::_::readMaybe(     \
                                                                    maybe)) if (auto& name = *name##Holder_; \
                                                                                false) {}                    \
  else _Pragma("GCC diagnostic pop")
#endif
