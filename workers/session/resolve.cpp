#include "workers/session/resolve.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

std::string descriptorPath(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

// A handle (O_PATH) becomes readable only once it is known to be a regular file: opening a device or a FIFO
// has effects. Who holds a write lease on it could make an open that waits wait for long (45 s by default).
sandbox::Fd reopenForReading(int handle) {
  return sandbox::Fd(::open(descriptorPath(handle).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

Denied busy() {
  return {"program_busy", "write_lease"};
}

bool isRegular(int handle) {
  struct stat status {};
  return fstat(handle, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

std::string realPath(int descriptor) {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size = readlink(descriptorPath(descriptor).c_str(), buffer.data(), buffer.size());
  struct stat status {};
  if (size <= 0 || size == static_cast<ssize_t>(buffer.size()) || buffer[0] != '/') return {};
  if (fstat(descriptor, &status) != 0 || status.st_nlink == 0) return {};
  return {buffer.data(), static_cast<std::size_t>(size)};
}

bool ledByNames(int start, std::string_view path, int file) {
  std::string expected = path.starts_with('/') ? "/" : realPath(start);
  if (expected.empty()) return false;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (part == "..") return false;
    if (part.empty() || part == ".") continue;
    if (expected != "/") expected += '/';
    expected += part;
  }
  return realPath(file) == expected;
}

sandbox::Fd openBeneath(int directory, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return sandbox::Fd(static_cast<int>(syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
}

Resolver::Resolver(int workspace, std::string workspacePath, std::vector<std::string> profileDirectories)
    : workspace_(workspace),
      workspacePath_(std::move(workspacePath)),
      profileDirectories_(std::move(profileDirectories)) {}

std::variant<Found, Denied> Resolver::program(const std::string& name) const {
  if (name.empty() || name.size() >= PATH_MAX || name.find('\0') != std::string::npos) {
    return Denied{"program_not_found", "program_name"};
  }
  if (name.find('/') == std::string::npos) return search(name);
  std::string path = name;
  if (name.front() == '/') {
    path = std::filesystem::path(name).lexically_normal();
    Place ignored{};
    if (!place(path, ignored)) return Denied{"program_outside", "system_or_profile_directory"};
  }
  sandbox::Fd handle = open(path);
  if (!handle) {
    if (errno == EXDEV || errno == ELOOP) return Denied{"program_outside", "workspace_only"};
    return Denied{"program_not_found", "program_path"};
  }
  return judge(std::move(handle));
}

sandbox::Fd Resolver::open(const std::string& path) const {
  const std::string relative = inWorkspace(path);
  return relative.empty() ? sandbox::Fd(::open(path.c_str(), O_PATH | O_CLOEXEC))
                          : openBeneath(workspace_, relative, O_PATH);
}

std::string Resolver::inWorkspace(const std::string& name) const {
  if (name.empty() || name.front() != '/') return name;
  if (!isWithin(name, workspacePath_)) return {};
  return name.size() == workspacePath_.size() ? "." : name.substr(workspacePath_.size() + 1);
}

std::variant<Found, Denied> Resolver::search(const std::string& name) const {
  std::string_view rest = kSearchPath;
  std::variant<Found, Denied> last = Denied{"program_not_found", "search_path"};
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string candidate = std::string(rest.substr(0, colon)) + "/" + name;
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    sandbox::Fd handle(::open(candidate.c_str(), O_PATH | O_CLOEXEC));
    if (!handle) continue;
    std::variant<Found, Denied> found = judge(std::move(handle));
    if (const Found* program = std::get_if<Found>(&found)) {
      if (program->place != Place::kWorkspace) return found;
      found = Denied{"program_outside", "bare_name_in_workspace"};
    }
    last = std::move(found);
  }
  return last;
}

std::variant<Found, Denied> Resolver::judge(sandbox::Fd handle) const {
  Found found{{}, realPath(handle.get()), Place::kSystem};
  if (!place(found.path, found.place)) return Denied{"program_outside", "system_or_profile_directory"};
  if (!isRegular(handle.get())) return Denied{"program_not_regular", "regular_file"};
  if (faccessat(handle.get(), "", X_OK, AT_EMPTY_PATH | AT_EACCESS) != 0) {
    return Denied{"program_not_executable", "execute_permission"};
  }
  found.file = reopenForReading(handle.get());
  if (!found.file && errno == EWOULDBLOCK) return busy();
  if (!found.file) return Denied{"program_unreadable", "hashed_before_run"};
  return found;
}

bool Resolver::place(const std::string& path, Place& place) const {
  if (path.empty()) return false;
  if (isWithin(path, workspacePath_)) {
    place = Place::kWorkspace;
  } else if (isSystemProgram(path)) {
    place = Place::kSystem;
  } else if (std::ranges::any_of(profileDirectories_, [&path](const std::string& directory) {
               return isWithin(path, directory);
             })) {
    place = Place::kProfile;
  } else {
    return false;
  }
  return true;
}

std::variant<sandbox::Fd, Denied> Resolver::operand(const std::string& name) const {
  if (name.empty() || name.size() >= PATH_MAX || name.find('\0') != std::string::npos) return sandbox::Fd();
  const std::string relative = inWorkspace(name);
  if (relative.empty()) return sandbox::Fd();
  const sandbox::Fd handle = openBeneath(workspace_, relative, O_PATH);
  if (!handle || !isRegular(handle.get())) return sandbox::Fd();
  sandbox::Fd file = reopenForReading(handle.get());
  // Passed over, it would be read by the command without being covered.
  if (!file && errno == EWOULDBLOCK) return busy();
  return file;
}

}  // namespace factionos::session
