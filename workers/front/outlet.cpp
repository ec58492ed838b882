#include "workers/front/outlet.h"

#include <kj/exception.h>

namespace factionos::front {
namespace {

constexpr std::size_t kSliceBytes = 65536;

kj::ArrayPtr<const kj::byte> asBytes(std::string_view text) {
  return kj::arrayPtr(reinterpret_cast<const kj::byte*>(text.data()), text.size());
}

}  // namespace

kj::Promise<Written> Outlet::write(std::string_view head, std::string_view body) {
  const std::string_view slice = body.substr(0, kSliceBytes);
  const std::string_view rest = body.substr(slice.size());
  if (rest.empty()) return writeSlice(head, slice);
  return writeSlice(head, slice).then([this, rest](Written written) -> kj::Promise<Written> {
    if (written == Written::kLost) return written;
    return write({}, rest);
  });
}

kj::Promise<Written> Outlet::writeSlice(std::string_view head, std::string_view body) {
  pieces_[0] = asBytes(head);
  pieces_[1] = asBytes(body);
  const bool one = head.empty() || body.empty();
  auto writing = kj::evalNow([this, one, first = head.empty() ? body : head] {
    return one ? stream_.write(first.data(), first.size()) : stream_.write(kj::arrayPtr(pieces_, 2));
  });
  return writing.then([] { return Written::kAll; }, [](kj::Exception&&) { return Written::kLost; })
      .exclusiveJoin(timer_.afterDelay(progress_).then([] { return Written::kLost; }));
}

void Outlet::finish() noexcept {
  try {
    stream_.shutdownWrite();
  } catch (const kj::Exception&) {
    // The peer has reset the connection; there is no half left to end.
  }
}

}  // namespace factionos::front
