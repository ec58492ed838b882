#include "broker/audit/anchor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace factionos::audit {
namespace {

constexpr std::string_view kRole = "audit anchor";
constexpr std::string_view kHead = "faa1 seq=";
constexpr std::string_view kHash = " hash=";
constexpr std::uint64_t kTail = 4096;  // dozens of lines

std::optional<AnchorPoint> parseLine(std::string_view line) {
  if (!line.starts_with(kHead)) return std::nullopt;
  line.remove_prefix(kHead.size());
  AnchorPoint point;
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), point.sequence);
  line.remove_prefix(static_cast<std::size_t>(rest - line.data()));
  if (error != std::errc() || !line.starts_with(kHash)) return std::nullopt;
  const auto digest = digestFromHex(line.substr(kHash.size()));
  if (!digest) return std::nullopt;
  point.hash = *digest;
  return point;
}

FileDescriptor openAnchor(const std::filesystem::path& path, int flags) {
  FileDescriptor file(
      ::open(path.c_str(), flags | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file.get() < 0) {
    if (errno == ENOENT) throw FileError(FileFault::kMissing, kRole, "is not there, or its directory is not");
    if (errno == ELOOP) throw FileError(FileFault::kUnsafe, kRole, "is a symbolic link");
    throw FileError(FileFault::kIo, kRole, "can't be opened", errno);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw FileError(FileFault::kIo, kRole, "can't be looked at", errno);
  if (!S_ISREG(status.st_mode)) throw FileError(FileFault::kUnsafe, kRole, "is no regular file");
  return file;
}

std::string tailOf(const FileDescriptor& file) {
  const std::uint64_t size = sizeOf(file, kRole);
  const std::uint64_t from = size - std::min(size, kTail);
  std::string text(static_cast<std::size_t>(size - from), '\0');
  text.resize(readAt(file, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}, from, kRole));
  if (from == 0) return text;
  const std::size_t line = text.find('\n');
  return line == std::string::npos ? std::string() : text.substr(line + 1);
}

}  // namespace

std::string anchorLine(const AnchorPoint& point) {
  return std::string(kHead) + std::to_string(point.sequence) + std::string(kHash) + toHex(point.hash.bytes) +
         "\n";
}

std::optional<AnchorPoint> lastAnchorPoint(std::string_view text) {
  const std::size_t end = text.rfind('\n');  // what follows was torn by power loss
  if (end == std::string_view::npos) {
    if (!text.empty()) throw FileError(FileFault::kUnsafe, kRole, "holds something else");
    return std::nullopt;
  }
  std::string_view line = text.substr(0, end);
  if (const std::size_t before = line.rfind('\n'); before != std::string_view::npos)
    line.remove_prefix(before + 1);
  const auto point = parseLine(line);
  if (!point) throw FileError(FileFault::kUnsafe, kRole, "holds something else");
  return point;
}

Anchor Anchor::open(const std::filesystem::path& path) {
  FileDescriptor file = openAnchor(path, O_RDWR | O_APPEND | O_CREAT);
  const std::string tail = tailOf(file);
  Anchor anchor(std::move(file), lastAnchorPoint(tail));
  anchor.torn_ = !tail.empty() && tail.back() != '\n';
  return anchor;
}

bool Anchor::note(const AnchorPoint& point) noexcept {
  try {
    const std::string line = (torn_ ? "\n" : "") + anchorLine(point);
    ssize_t put = 0;
    while ((put = ::write(file_.get(), line.data(), line.size())) < 0 && errno == EINTR) {
    }
    if (put > 0) torn_ = put != static_cast<ssize_t>(line.size());
    return put == static_cast<ssize_t>(line.size());
  } catch (const std::exception&) {
    return false;  // no memory for a line
  }
}

std::optional<AnchorPoint> readAnchor(const std::filesystem::path& path) {
  return lastAnchorPoint(tailOf(openAnchor(path, O_RDONLY)));
}

}  // namespace factionos::audit
