#include "sandbox/system_paths.h"

#include <algorithm>
#include <array>
#include <string>

namespace factionos::sandbox {
namespace {

constexpr std::array kDirectories = {
    SystemDirectory{"/usr", Programs::kYes, "programs, libraries, headers"},
    SystemDirectory{"/bin", Programs::kYes, "a link into /usr, or programs"},
    SystemDirectory{"/sbin", Programs::kYes, "a link into /usr, or programs"},
    SystemDirectory{"/lib", Programs::kYes, "libraries and the dynamic loader"},
    SystemDirectory{"/lib32", Programs::kYes, "libraries"},
    SystemDirectory{"/lib64", Programs::kYes, "the dynamic loader's own path"},
    SystemDirectory{"/libx32", Programs::kYes, "libraries"},
    SystemDirectory{"/opt", Programs::kYes, "vendors' tools"},
    SystemDirectory{"/nix/store", Programs::kYes, "the whole system, where there is Nix"},
    SystemDirectory{"/etc", Programs::kNo, "configuration of libraries and tools; file modes keep secrets"},
};

constexpr std::array kDevices = {
    SystemFile{"/dev/null", "sink"},
    SystemFile{"/dev/zero", "zeros"},
    SystemFile{"/dev/full", "tests of ENOSPC"},
    SystemFile{"/dev/random", "randomness"},
    SystemFile{"/dev/urandom", "randomness"},
    SystemFile{"/dev/tty", "the session's own terminal"},
};

constexpr std::array kFacts = {
    SystemFile{"/sys/devices/system/cpu", "run-times count processors here"},
    SystemFile{"/sys/kernel/mm/transparent_hugepage", "allocators read the page size here"},
};

constexpr std::array kNameResolution = {
    SystemFile{"/run/systemd/resolve/stub-resolv.conf", "what /etc/resolv.conf links to"},
    SystemFile{"/run/systemd/resolve/resolv.conf", "what /etc/resolv.conf links to"},
    SystemFile{"/run/resolvconf/resolv.conf", "what /etc/resolv.conf links to"},
    SystemFile{"/run/NetworkManager/resolv.conf", "what /etc/resolv.conf links to"},
};

bool isSame(const struct stat& directory, std::string_view path) {
  struct stat status {};
  return stat(std::string(path).c_str(), &status) == 0 && status.st_dev == directory.st_dev &&
         status.st_ino == directory.st_ino;
}

}  // namespace

std::span<const SystemDirectory> systemDirectories() {
  return kDirectories;
}
std::span<const SystemFile> devices() {
  return kDevices;
}
std::span<const SystemFile> systemFacts() {
  return kFacts;
}
std::span<const SystemFile> nameResolution() {
  return kNameResolution;
}

std::optional<std::string_view> listedTree(const struct stat& directory) {
  for (const SystemDirectory& listed : kDirectories) {
    if (isSame(directory, listed.path)) return listed.path;
  }
  for (const SystemFile& listed : kFacts) {
    if (isSame(directory, listed.path)) return listed.path;
  }
  return std::nullopt;
}

bool isWithin(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace factionos::sandbox
