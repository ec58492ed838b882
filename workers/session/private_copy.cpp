#include "workers/session/private_copy.h"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace factionos::session {
namespace {

constexpr unsigned kExecutableMemory = 0x0010;  // MFD_EXEC, Linux 6.3
constexpr std::size_t kChunk = std::size_t{1} << 17;

enum class Copied { kWhole, kTooLarge, kFailed };

bool writeAll(int to, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(to, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

Copied copyContent(int from, int to, std::uint64_t limit) {
  std::vector<char> chunk(kChunk);
  std::uint64_t size = 0;
  while (true) {
    const ssize_t got = pread(from, chunk.data(), chunk.size(), static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Copied::kFailed;
    if (got == 0) return Copied::kWhole;
    size += static_cast<std::size_t>(got);
    if (size > limit) return Copied::kTooLarge;
    if (!writeAll(to, chunk.data(), static_cast<std::size_t>(got))) return Copied::kFailed;
  }
}

sandbox::Fd unnamedIn(const std::string& directory) {
  return sandbox::Fd(open(directory.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IXUSR));
}

sandbox::Fd inMemory(const std::string&) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int memory = memfd_create("program", kFlags | kExecutableMemory);
  if (memory < 0 && errno == EINVAL) memory = memfd_create("program", kFlags);
  return sandbox::Fd(memory);
}

}  // namespace

std::variant<sandbox::Fd, Denied> privateCopy(int file, const std::string& directory, std::uint64_t limit) {
  for (sandbox::Fd (*place)(const std::string&) : {unnamedIn, inMemory}) {
    const sandbox::Fd copy = place(directory);
    if (!copy) continue;
    const Copied copied = copyContent(file, copy.get(), limit);
    if (copied == Copied::kTooLarge) return Denied{"file_too_large"};
    if (copied == Copied::kFailed) continue;
    // Only memory takes seals; a file without a name needs none.
    fcntl(copy.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    // What is open for writing can't be executed.
    const std::string self = "/proc/self/fd/" + std::to_string(copy.get());
    sandbox::Fd readable(open(self.c_str(), O_RDONLY | O_CLOEXEC));
    if (readable) return readable;
  }
  return Denied{"sandbox_unavailable", "setup", "program_copy"};
}

}  // namespace factionos::session
