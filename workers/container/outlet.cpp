#include "workers/container/outlet.h"

#include <algorithm>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/deadline.h"

namespace factionos::container {
namespace {

constexpr std::size_t kMostKept = std::size_t{1} << 20;
constexpr std::size_t kCallBytes = 65536;

std::size_t indexOf(Source source) {
  return source == Source::kOut ? 0 : 1;
}

}  // namespace

Outlet::Outlet(schema::ContainerSink::Client sink)
    : sink_(kj::mv(sink)), writing_(kj::Promise<void>(kj::READY_NOW).fork()) {}

void Outlet::push(Source source, std::string_view bytes) {
  total_ += bytes.size();
  while (!bytes.empty()) {
    std::uint64_t& untold = dropped_.at(indexOf(source));
    if (state_ == State::kLost || kept_ >= kMostKept) {
      untold += bytes.size();
      droppedTotal_ += bytes.size();
      return;
    }
    // The first one may be on its way.
    const bool more = chunks_.size() > (state_ == State::kWriting ? 1U : 0U) && untold == 0 &&
                      chunks_.back().source == source && chunks_.back().bytes.size() < kCallBytes;
    if (!more) {
      chunks_.push_back({source, {}, untold});
      untold = 0;
    }
    Chunk& chunk = chunks_.back();
    const std::size_t take = std::min({bytes.size(), kCallBytes - chunk.bytes.size(), kMostKept - kept_});
    const auto* from = reinterpret_cast<const kj::byte*>(bytes.data());
    chunk.bytes.addAll(from, from + take);
    kept_ += take;
    bytes.remove_prefix(take);
  }
  write();
}

void Outlet::lose(std::size_t bytes) {
  total_ += bytes;
  droppedTotal_ += bytes;
}

void Outlet::write() {
  if (state_ != State::kIdle || chunks_.empty()) return;
  state_ = State::kWriting;
  writing_ = writeAll()
                 .catch_([this](kj::Exception&&) {
                   // Nobody takes it any more. The container is read on all the same.
                   state_ = State::kLost;
                   for (const Chunk& chunk : chunks_) droppedTotal_ += chunk.bytes.size();
                   chunks_.clear();
                   kept_ = 0;
                 })
                 .eagerlyEvaluate(nullptr)
                 .fork();
}

kj::Promise<void> Outlet::writeAll() {
  if (chunks_.empty()) {
    // In this very turn: what is pushed in the next one must find that nobody writes.
    state_ = State::kIdle;
    return kj::READY_NOW;
  }
  const Chunk& chunk = chunks_.front();
  auto request = sink_.writeRequest(capnp::MessageSize{chunk.bytes.size() / sizeof(capnp::word) + 16, 0});
  request.setStream(chunk.source == Source::kOut ? schema::OutputStream::STDOUT
                                                 : schema::OutputStream::STDERR);
  request.setBytes(chunk.bytes.asPtr());
  request.setDropped(chunk.dropped);
  return request.send().then([this]() {
    kept_ -= chunks_.front().bytes.size();
    chunks_.pop_front();
    return writeAll();
  });
}

kj::Promise<void> Outlet::finish(kj::Timer& timer, kj::Duration limit) {
  auto told = writing_.addBranch().then([this]() -> kj::Promise<void> {
    if (state_ == State::kLost) return kj::READY_NOW;
    auto request = sink_.endRequest();
    request.setTotalBytes(total_);
    request.setDroppedBytes(droppedTotal_);
    return request.send().ignoreResult();
  });
  return rpc::withDeadline(timer, limit, kj::mv(told)).catch_([](kj::Exception&&) {});
}

}  // namespace factionos::container
