#include "workers/front/inlet.h"

#include <cstring>

#include <kj/exception.h>

namespace factionos::front {
namespace {

void wake(kj::Own<kj::PromiseFulfiller<void>>& waiter) {
  if (waiter.get() == nullptr) return;
  auto taken = kj::mv(waiter);
  taken->fulfill();
}

kj::Promise<void> sleepOn(kj::Own<kj::PromiseFulfiller<void>>& waiter) {
  auto paf = kj::newPromiseAndFulfiller<void>();
  waiter = kj::mv(paf.fulfiller);
  return kj::mv(paf.promise);
}

}  // namespace

Inlet::Inlet(kj::AsyncInputStream& stream)
    : stream_(stream), buffer_(kj::heapArray<char>(kInletBytes)), pumping_(kj::READY_NOW) {
  // A lost peer is an end like any other: whether what came so far is a whole request is for the reader to
  // see.
  pumping_ = kj::evalNow([this] { return pump(); }).eagerlyEvaluate([this](kj::Exception&&) { end(); });
}

std::string_view Inlet::bytes() const {
  return {buffer_.begin() + begin_, end_ - begin_};
}

void Inlet::consume(std::size_t count) {
  begin_ += count;
  wake(room_);
}

kj::Promise<void> Inlet::beyond(std::size_t known) {
  if (ended_ || end_ - begin_ > known) return kj::READY_NOW;
  return sleepOn(more_);
}

kj::Promise<void> Inlet::whenEnded() {
  if (ended_) return kj::READY_NOW;
  return sleepOn(over_);
}

void Inlet::discard() {
  discarding_ = true;
  consume(end_ - begin_);
}

kj::Promise<void> Inlet::pump() {
  if (begin_ > 0) {
    std::memmove(buffer_.begin(), buffer_.begin() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) return sleepOn(room_).then([this] { return pump(); });
  return stream_.tryRead(buffer_.begin() + end_, 1, buffer_.size() - end_)
      .then([this](std::size_t count) -> kj::Promise<void> {
        if (count == 0) {
          end();
          return kj::READY_NOW;
        }
        arrived(count);
        return pump();
      });
}

void Inlet::arrived(std::size_t count) {
  end_ += count;
  if (discarding_) begin_ = end_;
  wake(more_);
}

void Inlet::end() {
  ended_ = true;
  wake(more_);
  wake(over_);
}

}  // namespace factionos::front
