#include "broker/audit/line_reader.h"

#include <algorithm>
#include <cstring>

#include "broker/audit/line.h"

namespace factionos::audit {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

}  // namespace

LineReader::LineReader(const FileDescriptor& file, std::uint64_t begin, std::uint64_t end)
    : file_(file), offset_(begin), readEnd_(begin), end_(end) {}

bool LineReader::fill() {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ = 0;
  const std::size_t kept = buffer_.size();
  const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, end_ - readEnd_));
  buffer_.resize(kept + wanted);
  const std::size_t got = readAt(file_, std::span(buffer_).subspan(kept), readEnd_, "audit log");
  buffer_.resize(kept + got);
  readEnd_ += got;
  return got > 0;
}

std::optional<std::string_view> LineReader::next() {
  if (overlong_) return std::nullopt;
  for (;;) {
    const std::string_view held(reinterpret_cast<const char*>(buffer_.data()), buffer_.size());
    const std::size_t newline = held.find('\n', used_);
    if (newline != std::string_view::npos) {
      const std::string_view line = held.substr(used_, newline - used_);
      if (line.size() >= kMaxLineBytes) return overlong_ = true, std::nullopt;
      used_ = newline + 1;
      offset_ += line.size() + 1;
      return line;
    }
    if (held.size() - used_ >= kMaxLineBytes) return overlong_ = true, std::nullopt;
    if (!fill()) return std::nullopt;
  }
}

}  // namespace factionos::audit
