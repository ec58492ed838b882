#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/types.h>

namespace factionos::audit {

// The three calls that make audit durable, replaceable so that tests can count them, slow them and fail them.
// Each returns what the syscall returned and leaves errno as it did.
class FileOps {
 public:
  virtual ~FileOps() = default;
  virtual ssize_t write(int fd, std::span<const std::uint8_t> data, off_t offset);
  virtual int sync(int fd);  // fdatasync
  virtual int truncate(int fd, off_t size);
};

}  // namespace factionos::audit
