#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "broker/audit/digest.h"
#include "broker/audit/secure_file.h"

// Where the log had got to, told after every batch to a file that lies outside of the home: who puts the
// whole home back to an earlier day does not put that file back. One line for each batch, appended and never
// read back by the broker but at its start:
//   faa1 seq=7 hash=<64 hex of the last line's digest>
// It says nothing of what the records hold. `chattr +a`, another owner's directory, or another machine's
// mount makes it stronger; who may rewrite both files rewrites the past of the current epoch all the same.
namespace factionos::audit {

struct AnchorPoint {
  std::uint64_t sequence = 0;
  Digest hash{};
  friend bool operator==(const AnchorPoint&, const AnchorPoint&) = default;
};

std::string anchorLine(const AnchorPoint& point);  // with its newline

// The last whole line of a text. Nothing for an empty one; throws FileError (kUnsafe) if it is not an anchor.
std::optional<AnchorPoint> lastAnchorPoint(std::string_view text);

class Anchor {
 public:
  // Opens the file to append, makes it (0600) if it is not there. Throws FileError: kMissing without its
  // directory, kUnsafe if it is no regular file, is a link, or does not end as an anchor does.
  static Anchor open(const std::filesystem::path& path);

  int descriptor() const { return file_.get(); }

  // What the file ended with when it was opened.
  const std::optional<AnchorPoint>& last() const { return last_; }

  // Appends; false if it could not. Not synced: it may lag behind the log after power loss, never run ahead.
  [[nodiscard]] bool note(const AnchorPoint& point) noexcept;

 private:
  Anchor(FileDescriptor file, std::optional<AnchorPoint> last) : file_(std::move(file)), last_(last) {}

  FileDescriptor file_;
  std::optional<AnchorPoint> last_;
  bool torn_ = false;  // an unfinished line stands at the end
};

// For `audit verify`: what the file says last. Throws FileError.
std::optional<AnchorPoint> readAnchor(const std::filesystem::path& path);

}  // namespace factionos::audit
