#include "broker/audit/file_ops.h"

#include <unistd.h>

namespace factionos::audit {

ssize_t FileOps::write(int fd, std::span<const std::uint8_t> data, off_t offset) {
  return ::pwrite(fd, data.data(), data.size(), offset);
}

int FileOps::sync(int fd) {
  return ::fdatasync(fd);
}

int FileOps::truncate(int fd, off_t size) {
  return ::ftruncate(fd, size);
}

}  // namespace factionos::audit
