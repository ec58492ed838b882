#include "broker/redaction/output.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "broker/redaction/text.h"

namespace factionos::redaction {
namespace {

bool isContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

// How many bytes at the front are shown as they are: printable ASCII, '\n' and '\t', which is nearly all of
// most output.
std::size_t plainRun(std::string_view raw) {
  constexpr auto kPlain = [] {
    std::array<bool, 256> table{};
    for (unsigned byte = 0x20; byte < 0x7f; ++byte) table[byte] = true;
    table['\n'] = table['\t'] = true;
    return table;
  }();
  std::size_t length = 0;
  while (length < raw.size() && kPlain[static_cast<unsigned char>(raw[length])]) ++length;
  return length;
}

enum class Rest : std::uint8_t { kMayCome, kNever };

// Renders what is complete of `raw`; returns the number of bytes that this took.
std::size_t render(std::string_view raw, Rest rest, std::string& out) {
  out.reserve(out.size() + raw.size());
  std::size_t at = 0;
  while (at < raw.size()) {
    if (const std::size_t plain = plainRun(raw.substr(at)); plain > 0) {
      out.append(raw.substr(at, plain));
      at += plain;
      continue;
    }
    const CodePoint point = decodeUtf8(raw.substr(at));
    const bool isLast = at + 1 == raw.size();
    if (rest == Rest::kMayCome &&
        (point.status == CodePoint::Status::kIncomplete || (raw[at] == '\r' && isLast))) {
      break;
    }
    if (raw[at] == '\r' && !isLast && raw[at + 1] == '\n') {
      // shown as the '\n' that follows
    } else if (point.status != CodePoint::Status::kValid) {
      out.append("\xef\xbf\xbd");
    } else if (disturbsDisplay(point.value)) {
      appendEscape(out, point.value);
    } else {
      out.append(raw.substr(at, point.length));
    }
    at += point.length;
  }
  return at;
}

}  // namespace

OutputWindow::OutputWindow(OutputLimits limits) : limits_(limits) {
  if (limits.headBytes >= limits.totalBytes)
    throw std::invalid_argument("the head takes the whole output window");
}

void OutputWindow::onMasked(MaskedBytes masked) {
  std::string_view bytes = masked.view();
  if (bytes.empty()) return;
  const std::size_t toHead = std::min(bytes.size(), limits_.headBytes - head_.size());
  reserve(toHead, bytes.size() - toHead);
  head_.append(bytes.substr(0, toHead));
  keepTail(bytes.substr(toHead));
  total_ += bytes.size();
  lineFeeds_ += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  openLine_ = bytes.back() != '\n';
}

// All memory that the next bytes need, before any of them is counted: a failure here leaves the window as it
// was.
void OutputWindow::reserve(std::size_t inHead, std::size_t inTail) {
  head_.reserve(std::max(head_.capacity(), head_.size() + inHead));
  const std::size_t wanted = std::min(tailCapacity(), tail_.size() + inTail);
  if (wanted > tail_.capacity())
    tail_.reserve(std::min(tailCapacity(), std::max(tail_.capacity() * 2, wanted)));
}

void OutputWindow::keepTail(std::string_view bytes) {
  const std::size_t capacity = tailCapacity();
  if (bytes.size() > capacity) bytes.remove_prefix(bytes.size() - capacity);
  const std::size_t room = std::min(bytes.size(), capacity - tail_.size());
  tail_.insert(tail_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(room));
  bytes.remove_prefix(room);
  while (!bytes.empty()) {
    const std::size_t run = std::min(bytes.size(), capacity - tailFirst_);
    std::copy_n(bytes.begin(), run, tail_.begin() + static_cast<std::ptrdiff_t>(tailFirst_));
    tailFirst_ = (tailFirst_ + run) % capacity;
    bytes.remove_prefix(run);
  }
}

std::string OutputWindow::copy(std::uint64_t from, std::size_t bytes) const {
  if (from < head_.size()) return head_.substr(static_cast<std::size_t>(from), bytes);
  std::string out;
  out.reserve(bytes);
  std::size_t index = (tailFirst_ + static_cast<std::size_t>(from - tailStart())) % tail_.size();
  while (out.size() < bytes) {
    const std::size_t run = std::min(bytes - out.size(), tail_.size() - index);
    out.append(tail_.data() + index, run);
    index = 0;
  }
  return out;
}

OutputWindow::Text OutputWindow::read(std::uint64_t after, std::size_t maxBytes) const {
  maxBytes = std::max(maxBytes, kMinRead);
  Text result;
  result.from_ = std::min(after, total_);
  if (result.from_ >= head_.size() && result.from_ < tailStart()) {
    result.gap_ = tailStart() - result.from_;
    result.from_ = tailStart();
  }
  const bool inHead = result.from_ < head_.size();
  const std::uint64_t end = inHead && truncated() ? head_.size() : total_;
  std::string raw;
  if (result.from_ < end) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(end - result.from_, maxBytes));
    raw = copy(result.from_, wanted);
    if (raw.size() < wanted) raw += copy(result.from_ + raw.size(), wanted - raw.size());
  }
  // After a gap the text may begin inside a code point whose lead is lost.
  std::size_t skipped = 0;
  while (result.gap_ > 0 && skipped < std::min<std::size_t>(3, raw.size()) && isContinuation(raw[skipped]))
    ++skipped;
  result.gap_ += skipped;
  result.from_ += skipped;
  // What follows the head's last byte is lost, as is what follows the stream's.
  const bool atEnd = result.from_ - skipped + raw.size() == end;
  const Rest rest = atEnd && (finished_ || end != total_) ? Rest::kNever : Rest::kMayCome;
  result.next_ = result.from_ + render(std::string_view(raw).substr(skipped), rest, result.text_);
  return result;
}

OutputWindow::Text OutputWindow::tail(std::size_t maxBytes) const {
  maxBytes = std::max(maxBytes, kMinRead);
  const std::uint64_t kept = std::min<std::uint64_t>(maxBytes, tail_.empty() ? head_.size() : tail_.size());
  std::uint64_t from = total_ - kept;
  // Begin with a whole code point; `read` itself must not, or a reader's offsets would drift.
  for (int i = 0; i < 3 && from < total_ && isContinuation(copy(from, 1)[0]); ++i) ++from;
  return read(from, maxBytes);
}

}  // namespace factionos::redaction
