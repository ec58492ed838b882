#include "workers/session/digest.h"

#include <cerrno>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

namespace factionos::session {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16;

bool sameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

class Blake2b {
 public:
  Blake2b() { crypto_generichash_init(&state_, nullptr, 0, kDigestBytes); }
  void add(const void* bytes, std::size_t size) {
    crypto_generichash_update(&state_, static_cast<const unsigned char*>(bytes), size);
  }
  DigestBytes finish() {
    DigestBytes digest{};
    crypto_generichash_final(&state_, digest.data(), digest.size());
    return digest;
  }

 private:
  crypto_generichash_state state_{};
};

// F_SETLEASE and F_UNLCK come from <fcntl.h> under _GNU_SOURCE, which g++ defines.
bool setLease(int descriptor, int kind) {
  return fcntl(descriptor, F_SETLEASE, kind) == 0;
}

}  // namespace

FileState FileState::of(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_size, status.st_ctim, status.st_mtim};
}

bool operator==(const FileState& a, const FileState& b) {
  return a.device == b.device && a.inode == b.inode && a.size == b.size && sameTime(a.changed, b.changed) &&
         sameTime(a.modified, b.modified);
}

ReadLease::ReadLease(int descriptor) {
  if (setLease(descriptor, F_RDLCK)) {
    descriptor_ = descriptor;
    state_ = State::kHeld;
  } else {
    state_ = errno == EAGAIN ? State::kOpenForWriting : State::kUnsupported;
  }
}

ReadLease::ReadLease(ReadLease&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), state_(std::exchange(other.state_, State::kNone)) {}

ReadLease& ReadLease::operator=(ReadLease&& other) noexcept {
  if (this != &other) {
    release();
    descriptor_ = std::exchange(other.descriptor_, -1);
    state_ = std::exchange(other.state_, State::kNone);
  }
  return *this;
}

void ReadLease::release() noexcept {
  if (descriptor_ >= 0) setLease(std::exchange(descriptor_, -1), F_UNLCK);
  state_ = State::kNone;
}

std::variant<Hashed, Denied> hashFile(int file, std::uint64_t limit) {
  struct stat before {};
  if (fstat(file, &before) != 0 || !S_ISREG(before.st_mode)) return Denied{"file_unreadable"};
  if (static_cast<std::uint64_t>(before.st_size) > limit) return Denied{"file_too_large"};

  Blake2b hash;
  const auto chunk =
      std::make_unique_for_overwrite<unsigned char[]>(kChunk);  // no page that a file does not fill
  off_t offset = 0;
  for (;;) {
    const ssize_t got = pread(file, chunk.get(), kChunk, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Denied{"file_unreadable"};
    if (got == 0) break;
    hash.add(chunk.get(), static_cast<std::size_t>(got));
    offset += got;
    if (offset > before.st_size) return Denied{"file_changing"};
  }
  struct stat after {};
  if (fstat(file, &after) != 0 || !(FileState::of(before) == FileState::of(after)) ||
      offset != after.st_size) {
    return Denied{"file_changing"};
  }
  return Hashed{hash.finish(), FileState::of(after)};
}

Hashed hashState(const struct stat& status) {
  const FileState state = FileState::of(status);
  Blake2b hash;
  constexpr std::string_view kDomain = "factionos file state 1";
  hash.add(kDomain.data(), kDomain.size());
  for (const std::int64_t number :
       {static_cast<std::int64_t>(state.device), static_cast<std::int64_t>(state.inode),
        static_cast<std::int64_t>(state.size), static_cast<std::int64_t>(state.changed.tv_sec),
        static_cast<std::int64_t>(state.changed.tv_nsec), static_cast<std::int64_t>(state.modified.tv_sec),
        static_cast<std::int64_t>(state.modified.tv_nsec)}) {
    hash.add(&number, sizeof number);
  }
  return {hash.finish(), state};
}

}  // namespace factionos::session
