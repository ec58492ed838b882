#include "workers/session/scratch.h"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/remove_tree.h"

namespace factionos::session {
namespace {

constexpr int kNames = 16;  // tried

// Short, and of no form that a credential has: paths of it are printed, and would be masked.
std::string randomName() {
  std::array<unsigned char, 5> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  std::array<char, 2 * bytes.size() + 1> text{};
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  return std::string("tmp-") + text.data();
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
  for (int i = 0; mkdirat(handle.get(), name.c_str(), S_IRWXU) != 0; ++i) {
    if (errno != EEXIST || i == kNames) return std::nullopt;
    name = randomName();
  }
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
  sandbox::removeTree(parent_.get(), name_.c_str());
}

}  // namespace factionos::session
