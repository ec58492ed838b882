#include "protocol/rpc/frame_reader.h"

#include <algorithm>
#include <cstring>

#include <capnp/serialize.h>
#include <kj/debug.h>

namespace factionos::rpc {
namespace {

constexpr size_t kBufferBytes = 16 * 1024;
// As Cap'n Proto's own stream readers have it.
constexpr uint32_t kMostSegments = 512;

// Numbers of a segment table are little endian.
uint32_t numberAt(const kj::byte* bytes) {
  return uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8U | uint32_t{bytes[2]} << 16U |
         uint32_t{bytes[3]} << 24U;
}

kj::Own<capnp::MessageReader> readerOf(kj::Array<capnp::word> words, const capnp::ReaderOptions& options) {
  auto reader = kj::heap<capnp::FlatArrayMessageReader>(words, options);
  return reader.attach(kj::mv(words));
}

}  // namespace

FrameReader::FrameReader(StreamFd& stream, size_t fdsPerMessage)
    : stream_(stream),
      buffer_(kj::heapArray<kj::byte>(kBufferBytes)),
      fdRoom_(kj::heapArray<OwnFd>(fdsPerMessage)) {}

kj::Maybe<size_t> FrameReader::frameBytes(const capnp::ReaderOptions& options) const {
  const kj::byte* const table = buffer_.begin() + begin_;
  if (have() < sizeof(capnp::word)) return kNone;
  const uint64_t segments = uint64_t{numberAt(table)} + 1;
  KJ_REQUIRE(segments < kMostSegments, "too many segments");
  const size_t tableBytes = (segments / 2 + 1) * sizeof(capnp::word);  // one number more, padded to words
  if (have() < tableBytes) return kNone;
  uint64_t words = 0;
  for (size_t i = 1; i <= segments; ++i) words += numberAt(table + i * sizeof(uint32_t));
  KJ_REQUIRE(words <= options.traversalLimitInWords, "the message is too large");
  return tableBytes + words * sizeof(capnp::word);
}

kj::Promise<FrameReader::Incoming> FrameReader::read(kj::ArrayPtr<OwnFd> fdSpace,
                                                     capnp::ReaderOptions options) {
  const auto bytes = frameBytes(options);
  FACTIONOS_IF_SOME(known, bytes) {
    return take(known, fdSpace, options);
  }
  return fill().then([this, fdSpace, options](size_t got) -> kj::Promise<Incoming> {
    if (got > 0) return read(fdSpace, options);
    KJ_REQUIRE(have() == 0, "the stream ends within a message");
    return Incoming(kNone);
  });
}

kj::Promise<FrameReader::Incoming> FrameReader::take(size_t bytes, kj::ArrayPtr<OwnFd> fdSpace,
                                                     capnp::ReaderOptions options) {
  auto words = kj::heapArray<capnp::word>(bytes / sizeof(capnp::word));
  auto target = words.asBytes();
  const size_t here = std::min(bytes, have());
  std::memcpy(target.begin(), buffer_.begin() + begin_, here);
  begin_ += here;
  offset_ += bytes;
  const auto fds = fdSpace.slice(0, takeFds(offset_, fdSpace));
  if (here == bytes) return Incoming(capnp::MessageReaderAndFds{readerOf(kj::mv(words), options), fds});
  const size_t rest = bytes - here;
  return stream_.tryRead(target.begin() + here, rest, rest)
      .then([words = kj::mv(words), rest, fds, options](size_t got) mutable {
        if (got < rest)
          kj::throwFatalException(KJ_EXCEPTION(DISCONNECTED, "the stream ends within a message"));
        return Incoming(capnp::MessageReaderAndFds{readerOf(kj::mv(words), options), fds});
      });
}

size_t FrameReader::takeFds(uint64_t frameEnd, kj::ArrayPtr<OwnFd> fdSpace) {
  size_t taken = 0;
  for (; !arrived_.empty() && arrived_.front().end <= frameEnd; arrived_.pop_front()) {
    for (OwnFd& fd : arrived_.front().fds) {
      if (taken < fdSpace.size()) fdSpace[taken++] = kj::mv(fd);
    }
  }
  return taken;
}

// What is left of the buffer is less than a segment table, so there is room.
kj::Promise<size_t> FrameReader::fill() {
  std::memmove(buffer_.begin(), buffer_.begin() + begin_, have());
  end_ = have();
  begin_ = 0;
  return stream_
      .tryReadWithFds(buffer_.begin() + end_, 1, buffer_.size() - end_, fdRoom_.begin(), fdRoom_.size())
      .then([this](kj::AsyncCapabilityStream::ReadResult result) {
        end_ += result.byteCount;
        if (result.capCount > 0) {
          auto fds = kj::heapArrayBuilder<OwnFd>(result.capCount);
          for (size_t i = 0; i < result.capCount; ++i) fds.add(kj::mv(fdRoom_[i]));
          arrived_.push_back({offset_ + have(), fds.finish()});
        }
        return result.byteCount;
      });
}

}  // namespace factionos::rpc
