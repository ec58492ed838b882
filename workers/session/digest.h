// BLAKE2b-256 of a file's content, and the means to notice that it changed afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>

#include <sys/stat.h>

#include "sandbox/descriptors.h"
#include "workers/session/denied.h"

namespace factionos::session {

inline constexpr std::size_t kDigestBytes = 32;
using DigestBytes = std::array<unsigned char, kDigestBytes>;

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;

  static FileIdentity of(const struct stat& status) { return {status.st_dev, status.st_ino}; }
  friend bool operator==(const FileIdentity& a, const FileIdentity& b) = default;
};

// What a file looked like when it was hashed. The change time can't be set by an unprivileged process, so a
// write after the hash shows.
struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec changed = {};
  timespec modified = {};

  static FileState of(const struct stat& status);
  friend bool operator==(const FileState& a, const FileState& b);
};

// A read lease (fcntl F_SETLEASE): while it is held nobody can open the file for writing without waiting for
// us. Released when the object dies or the kernel has waited lease-break-time (45 s by default).
class ReadLease {
 public:
  enum class State { kNone, kHeld, kUnsupported, kOpenForWriting };

  ReadLease() = default;
  // Borrows `descriptor`, which must outlive the lease. kUnsupported: not our file, or a file system without
  // leases.
  explicit ReadLease(int descriptor);
  ReadLease(ReadLease&& other) noexcept;
  ReadLease& operator=(ReadLease&& other) noexcept;
  ReadLease(const ReadLease&) = delete;
  ReadLease& operator=(const ReadLease&) = delete;
  ~ReadLease() { release(); }

  [[nodiscard]] State state() const { return state_; }
  void release() noexcept;

 private:
  int descriptor_ = -1;
  State state_ = State::kNone;
};

struct Hashed {
  DigestBytes digest;
  FileState state;
};

// Reads all of `file` (regular, open for reading) from its beginning; its offset stays. Denied:
// "file_changing" if it changed while it was read, "file_too_large" above `limit` bytes, "file_unreadable".
std::variant<Hashed, Denied> hashFile(int file, std::uint64_t limit);

// Of a file that is too large to read: BLAKE2b-256 of its identity and state instead of its content.
Hashed hashState(const struct stat& status);

}  // namespace factionos::session
