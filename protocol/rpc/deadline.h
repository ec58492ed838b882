// A time limit for any promise.
#pragma once

#include <kj/async.h>
#include <kj/exception.h>
#include <kj/timer.h>

namespace factionos::rpc {

/// What withDeadline fails with: OVERLOADED, with a description that nothing else uses. What a peer throws
/// arrives as "remote exception: …", so it can't pass for one.
kj::Exception deadlineExceeded();

/// Whether `exception` is deadlineExceeded() of this process.
bool isDeadlineExceeded(const kj::Exception& exception);

/// `promise`, or deadlineExceeded() if it is not done within `limit` from now (0 or less: as soon as the loop
/// turns). When the limit passes the promise is dropped, which cancels a call only if its method allows that;
/// the peer may go on and its effect may still happen. `timer` must outlive the result.
template <typename T>
[[nodiscard]] kj::Promise<T> withDeadline(kj::Timer& timer, kj::Duration limit, kj::Promise<T> promise) {
  return promise.exclusiveJoin(
      timer.afterDelay(limit).then([]() -> kj::Promise<T> { return deadlineExceeded(); }));
}

}  // namespace factionos::rpc
