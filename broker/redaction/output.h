#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broker/redaction/masker.h"

namespace factionos::redaction {

struct OutputLimits {
  std::size_t totalBytes = std::size_t{1} << 20U;  // of masked output kept per session
  std::size_t headBytes = std::size_t{64}
                          << 10U;  // of these, how many are the first ones; less than totalBytes
};

// What a session's detail can show: the beginning and the end of its masked output, in memory bounded by the
// limits. Offsets count masked bytes from the start of the stream and never change.
class OutputWindow final : public MaskedSink {
 public:
  // A piece of output as text: valid UTF-8 (what was not is U+FFFD), '\n' and '\t' as they are, "\r\n" as
  // '\n', every other control, bidi control, separator and tag character as a visible escape (`\x1b`). So OSC
  // 52 and its like reach no terminal. Made by OutputWindow alone.
  class Text {
   public:
    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    [[nodiscard]] std::uint64_t from() const noexcept { return from_; }  // offset of the first byte shown
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }  // ask for the rest with this
    [[nodiscard]] std::uint64_t gap() const noexcept {
      return gap_;
    }  // bytes lost between what was asked and from

   private:
    friend class OutputWindow;
    Text() = default;
    std::string text_;
    std::uint64_t from_ = 0;
    std::uint64_t next_ = 0;
    std::uint64_t gap_ = 0;
  };

  static constexpr std::size_t kMinRead = 16;

  explicit OutputWindow(OutputLimits limits = {});

  void onMasked(MaskedBytes bytes) override;
  // The stream is over: a code point that lacks its last bytes is shown as broken from now on.
  void finish() noexcept { finished_ = true; }

  [[nodiscard]] std::uint64_t totalBytes() const noexcept { return total_; }
  [[nodiscard]] std::uint64_t droppedBytes() const noexcept { return total_ - head_.size() - tail_.size(); }
  [[nodiscard]] std::uint64_t lines() const noexcept { return lineFeeds_ + (openLine_ ? 1 : 0); }
  [[nodiscard]] bool truncated() const noexcept { return droppedBytes() > 0; }

  // Output from the absolute offset `after` on, at most `maxBytes` (at least kMinRead) bytes of it and never
  // across a gap. An offset beyond the end gives an empty text at the end. A code point or "\r\n" still
  // incomplete is left for the next read.
  [[nodiscard]] Text read(std::uint64_t after, std::size_t maxBytes) const;
  [[nodiscard]] Text head(std::size_t maxBytes) const { return read(0, maxBytes); }
  [[nodiscard]] Text tail(std::size_t maxBytes) const;

 private:
  void reserve(std::size_t inHead, std::size_t inTail);
  [[nodiscard]] std::size_t tailCapacity() const noexcept { return limits_.totalBytes - limits_.headBytes; }
  void keepTail(std::string_view bytes);
  [[nodiscard]] std::uint64_t tailStart() const noexcept { return total_ - tail_.size(); }
  [[nodiscard]] std::string copy(std::uint64_t from, std::size_t bytes) const;

  OutputLimits limits_;
  std::string head_;
  std::vector<char> tail_;     // a ring once it has its full size
  std::size_t tailFirst_ = 0;  // index of its oldest byte
  std::uint64_t total_ = 0;
  std::uint64_t lineFeeds_ = 0;
  bool openLine_ = false;
  bool finished_ = false;
};

}  // namespace factionos::redaction
