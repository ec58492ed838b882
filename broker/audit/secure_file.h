#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <sys/types.h>

#include "broker/audit/file_ops.h"

// Files of the state directory: made 0600 at birth, never a symlink, never another's. Errors are FileError.
namespace factionos::audit {

enum class FileFault { kMissing, kExists, kUnsafe, kBusy, kIo };

class FileError : public std::exception {
 public:
  // `role` names the file in the message ("audit log"); its path stays out.
  FileError(FileFault fault, std::string_view role, std::string_view problem, int error = 0);
  FileFault fault() const { return fault_; }
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  FileFault fault_;
  std::string what_;
};

// Owns one descriptor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  int get() const { return fd_; }

 private:
  int fd_;
};

enum class OpenFor { kRead, kWrite };

// Opens an existing file without ever blocking: not a regular file of this user with mode 0600 (or stricter)
// → kUnsafe.
FileDescriptor openOwn(const std::filesystem::path& path, OpenFor use, std::string_view role);
// Makes it, 0600 whatever the umask, and makes the name durable. kExists if it is there.
FileDescriptor createOwn(const std::filesystem::path& path, std::string_view role);
// kBusy if another process holds the file's lock; held until the descriptor closes.
void lockAlone(const FileDescriptor& file, std::string_view role);

std::uint64_t sizeOf(const FileDescriptor& file, std::string_view role);
// Whether `path` still names the file that `file` has open.
bool stillNames(const std::filesystem::path& path, const FileDescriptor& file);
// Up to `size` bytes from `offset`; fewer at the end of the file.
std::size_t readAt(const FileDescriptor& file, std::span<std::uint8_t> out, std::uint64_t offset,
                   std::string_view role);
// All of `data`, or kIo.
void writeAt(FileOps& ops, const FileDescriptor& file, std::span<const std::uint8_t> data,
             std::uint64_t offset, std::string_view role);
void sync(FileOps& ops, const FileDescriptor& file, std::string_view role);
void syncDirectory(const std::filesystem::path& directory, std::string_view role);

}  // namespace factionos::audit
