#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "broker/redaction/masker.h"

namespace factionos::redaction {

// What leaves a masker: raw bytes that are no secret and a marker for each secret, of the part of the stream
// that is shown, and words of ours. Gathered, until the buffer is full or the masker flushes it.
class MaskedWriter {
 public:
  // Masker::show().
  void show(std::uint64_t from, std::uint64_t to) noexcept {
    shownFrom_ = from;
    shownTo_ = to;
  }
  // Whether all that comes is counted and not written: what it is can't be told.
  void mute(bool muted) noexcept { muted_ = muted; }

  // Raw bytes that are no secret.
  void pass(std::string_view bytes, MaskedSink& sink) {
    const std::uint64_t from = std::exchange(position_, position_ + bytes.size());
    if (!isShown(from, bytes.size())) return;
    if (position_ > shownTo_) bytes.remove_suffix(position_ - shownTo_);
    if (from < shownFrom_) bytes.remove_prefix(shownFrom_ - from);
    write(bytes, sink);
  }
  // A secret begins with the next bytes that are dropped. `label` is a fixed word.
  void beginSecret(std::string_view label) noexcept {
    label_ = label;
    markerIsDue_ = true;
  }
  // Raw bytes of the secret. Its marker stands before the first that is shown.
  void drop(std::uint64_t bytes, MaskedSink& sink) {
    if (markerIsDue_ && isShown(position_, bytes)) mark(sink);
    position_ += bytes;
  }
  // Raw bytes that leave without a trace.
  void skip(std::uint64_t bytes) noexcept { position_ += bytes; }

  // Words of ours; fewer than kBuffer bytes.
  void write(std::string_view bytes, MaskedSink& sink) {
    if (muted_) return;
    if (bytes.size() > buffer_.size() - size_) flush(sink);
    std::copy(bytes.begin(), bytes.end(), buffer_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += bytes.size();
  }
  void flush(MaskedSink& sink) {
    const std::size_t size = std::exchange(size_, 0);
    if (size > 0) sink.onMasked(MaskedBytes({buffer_.data(), size}));
  }
  // What is gathered goes nowhere.
  void discard() noexcept { size_ = 0; }

  [[nodiscard]] std::uint64_t markers() const noexcept { return markers_; }

 private:
  static constexpr std::size_t kBuffer = 4096;

  [[nodiscard]] bool isShown(std::uint64_t from, std::uint64_t size) const noexcept {
    return from < shownTo_ && from + size > shownFrom_;
  }
  void mark(MaskedSink& sink) {
    markerIsDue_ = false;
    ++markers_;
    write("[masked:", sink);
    write(label_, sink);
    write("]", sink);
  }

  std::uint64_t position_ = 0;  // of the next raw byte to leave
  std::uint64_t shownFrom_ = 0;
  std::uint64_t shownTo_ = std::numeric_limits<std::uint64_t>::max();
  std::string_view label_;
  bool markerIsDue_ = false;  // it belongs before what is shown; the secret may go on in it
  bool muted_ = false;
  std::uint64_t markers_ = 0;
  std::array<char, kBuffer> buffer_;
  std::size_t size_ = 0;
};

}  // namespace factionos::redaction
