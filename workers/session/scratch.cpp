#include "workers/session/scratch.h"

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

namespace factionos::session {
namespace {

constexpr int kDeepest = 512;  // nested directories that are followed when removing

void removeAt(int directory, const char* name, dev_t device, int depth) noexcept;

void emptyDirectory(int directory, dev_t device, int depth) noexcept {
  const int copy = fcntl(directory, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(copy), closedir);
  if (!stream) {
    close(copy);
    return;
  }
  rewinddir(stream.get());
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (name != "." && name != "..")
      removeAt(directory, static_cast<const char*>(entry->d_name), device, depth + 1);
  }
}

void removeAt(int directory, const char* name, dev_t device, int depth) noexcept {
  if (unlinkat(directory, name, 0) == 0) return;
  const sandbox::Fd child(openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (child && depth < kDeepest && fstat(child.get(), &status) == 0 && status.st_dev == device) {
    fchmod(child.get(), S_IRWXU);  // a directory without write permission keeps its entries
    emptyDirectory(child.get(), device, depth);
  }
  unlinkat(directory, name, AT_REMOVEDIR);
}

std::string randomName() {
  std::array<unsigned char, 12> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  std::array<char, 2 * bytes.size() + 1> text{};
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  return std::string("s.") + text.data();
}

}  // namespace

Scratch::Scratch(sandbox::Fd parent, std::string name, std::string path)
    : parent_(std::move(parent)), name_(std::move(name)), path_(std::move(path)) {}

std::optional<Scratch> Scratch::make(const std::string& parent) {
  if (parent.empty() || parent.front() != '/') return std::nullopt;
  sandbox::Fd handle(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!handle || fstat(handle.get(), &status) != 0) return std::nullopt;
  if (status.st_uid != geteuid() || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) return std::nullopt;
  std::string name = randomName();
  if (mkdirat(handle.get(), name.c_str(), S_IRWXU) != 0) return std::nullopt;
  Scratch scratch(std::move(handle), name, parent + "/" + name);
  for (const char* part : {"/tmp", "/home"}) {
    if (mkdirat(scratch.parent(), (name + part).c_str(), S_IRWXU) != 0) {
      scratch.remove();
      return std::nullopt;
    }
  }
  return scratch;
}

void Scratch::remove() const noexcept {
  struct stat status {};
  if (fstat(parent_.get(), &status) != 0) return;
  removeAt(parent_.get(), name_.c_str(), status.st_dev, 0);
}

}  // namespace factionos::session
