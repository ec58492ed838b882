#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "broker/audit/secure_file.h"

namespace factionos::audit {

// The lines of an open log from one offset to another, read in pieces of fixed size.
class LineReader {
 public:
  // Borrows `file`. Bytes from `end` on are not read.
  LineReader(const FileDescriptor& file, std::uint64_t begin, std::uint64_t end);

  // The next line without its newline, valid until the next call; nothing at the end, or when what remains
  // has no newline. Throws FileError.
  std::optional<std::string_view> next();

  // Offset just after the last line that next() returned.
  std::uint64_t offset() const { return offset_; }
  // Whether next() stopped at a line longer than any that the format knows, rather than at the end.
  bool overlong() const { return overlong_; }

 private:
  bool fill();

  const FileDescriptor& file_;
  std::uint64_t offset_;
  std::uint64_t readEnd_;
  std::uint64_t end_;
  std::vector<std::uint8_t> buffer_;
  std::size_t used_ = 0;
  bool overlong_ = false;
};

}  // namespace factionos::audit
