#include "broker/home/home.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <pwd.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/home/entry.h"

namespace factionos::home {
namespace {

constexpr std::array kFolders{Folder::kState, Folder::kRun, Folder::kSpool, Folder::kTokens};

std::string folderName(Folder folder) {
  std::string name = label(folder);
  if (!name.empty()) name.pop_back();
  return name;
}

std::string shownName(Folder folder, std::string_view name) {
  return label(folder) + std::string(name);
}

bool isComponent(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::string> passwdHome() {
  std::vector<char> buffer(16 * 1024);  // far above what _SC_GETPW_R_SIZE_MAX suggests (1 KiB with glibc)
  struct passwd entry {};
  struct passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return std::nullopt;
  }
  return std::string(found->pw_dir);
}

// The umask may have taken bits away that we need to open it. The name is ours: nobody else can exchange an
// entry of a directory whose ancestors have been judged.
Status makeDirectory(int parent, const std::string& name, const std::string& shown) {
  if (::mkdirat(parent, name.c_str(), 0700) == 0) {
    if (::fchmodat(parent, name.c_str(), 0700, 0) != 0) return systemProblem("make", shown, errno);
    return {};
  }
  if (errno == EEXIST) return {};  // judged by whoever opens it
  return systemProblem("make", shown, errno);
}

Status writeAll(int fd, std::string_view contents, const std::string& shown) {
  while (!contents.empty()) {
    const ssize_t written = ::write(fd, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return systemProblem("write", shown, errno);
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(fd) != 0) return systemProblem("write", shown, errno);
  return {};
}

std::string temporaryName(std::string_view name) {
  std::array<unsigned char, 8> random{};
  std::array<char, 17> text{};
  ::randombytes_buf(random.data(), random.size());
  ::sodium_bin2hex(text.data(), text.size(), random.data(), random.size());
  return "." + std::string(name.substr(0, 200)) + "." + text.data() + ".tmp";
}

Status createFile(int directory, const std::string& name, std::string_view contents,
                  const std::string& shown) {
  sandbox::Fd file(
      ::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return systemProblem("make", shown, errno);
  if (::fchmod(file.get(), 0600) != 0) return systemProblem("make", shown, errno);
  Status written = writeAll(file.get(), contents, shown);
  if (!written) ::unlinkat(directory, name.c_str(), 0);
  return written;
}

Problem notOneName() {
  return {ProblemCode::kInvalid, "an entry's name must be one path component", {}};
}

}  // namespace

const char* label(Folder folder) {
  switch (folder) {
    case Folder::kTop:
      return "";
    case Folder::kState:
      return "state/";
    case Folder::kRun:
      return "run/";
    case Folder::kSpool:
      return "spool/";
    case Folder::kTokens:
      return "tokens/";
  }
  return "";
}

HomeLookup HomeLookup::fromProcess(std::optional<std::string> flag) {
  HomeLookup lookup{std::move(flag), environment("FACTIONOS_HOME"), environment("HOME")};
  if (!lookup.userHome) lookup.userHome = passwdHome();
  return lookup;
}

Result<std::string> locateHome(const HomeLookup& lookup) {
  std::filesystem::path path;
  if (lookup.flag) {
    path = *lookup.flag;
  } else if (lookup.factionosHome) {
    path = *lookup.factionosHome;
  } else if (lookup.userHome) {
    path = std::filesystem::path(*lookup.userHome) / ".factionos";
  }
  std::error_code error;
  if (!path.empty()) path = std::filesystem::absolute(path, error).lexically_normal();
  if (path.empty() || error) {
    return Problem{ProblemCode::kNotFound, "there is no home to use",
                   "give --home DIR or set FACTIONOS_HOME"};
  }
  if (!path.has_filename()) path = path.parent_path();  // "dir/" means "dir"
  return path.string();
}

int Home::fd(Folder folder) const {
  return folders_.at(static_cast<std::size_t>(folder)).get();
}

Result<Home> Home::create(const std::string& path) {
  auto resolved = resolveHomePath(path);
  if (!resolved) return resolved.problem();
  if (Status made = makeDirectory(AT_FDCWD, *resolved, ""); !made) return made.problem();
  auto top = openDirectoryEntry(AT_FDCWD, *resolved, "");
  if (!top) return top.problem();
  for (const Folder folder : kFolders) {
    if (Status made = makeDirectory(top->get(), folderName(folder), label(folder)); !made)
      return made.problem();
  }
  if (::fsync(top->get()) != 0) return systemProblem("write", "", errno);
  return open(path);
}

Result<Home> Home::open(const std::string& path) {
  auto resolved = resolveHomePath(path);
  if (!resolved) return resolved.problem();
  if (auto problems = check(path); !problems.empty()) return problems.front();
  auto top = openDirectoryEntry(AT_FDCWD, *resolved, "");
  if (!top) return top.problem();
  Home home(*resolved);
  for (const Folder folder : kFolders) {
    auto opened = openDirectoryEntry(top->get(), folderName(folder), label(folder));
    if (!opened) return opened.problem();
    home.folders_.at(static_cast<std::size_t>(folder)) = std::move(*opened);
  }
  home.folders_.front() = std::move(*top);
  return home;
}

Result<sandbox::Fd> Home::openFile(Folder folder, std::string_view name, int flags) const {
  if (!isComponent(name)) return notOneName();
  const std::string shown = shownName(folder, name);
  // Non-blocking, so that a FIFO in a file's place is told instead of waited for.
  sandbox::Fd file(
      ::openat(fd(folder), std::string(name).c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file && errno == ELOOP) {
    return Problem{ProblemCode::kUnsafe, shown + " is a symbolic link",
                   "put the real file in its place: rm \"$FACTIONOS_HOME/" + shown + "\""};
  }
  if (!file) return systemProblem("open", shown, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return systemProblem("look at", shown, errno);
  if (auto problem = judgeEntry(status, EntryKind::kFile, shown)) return *std::move(problem);
  return file;
}

Result<std::string> Home::readFile(Folder folder, std::string_view name, std::size_t maxBytes) const {
  auto file = openFile(folder, name, O_RDONLY);
  if (!file) return file.problem();
  const std::string shown = shownName(folder, name);
  std::string contents(maxBytes + 1, '\0');
  std::size_t size = 0;
  while (size < contents.size()) {
    const ssize_t got = ::read(file->get(), contents.data() + size, contents.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return systemProblem("read", shown, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > maxBytes) {
    return Problem{
        ProblemCode::kInvalid, shown + " is longer than " + std::to_string(maxBytes) + " bytes", {}};
  }
  contents.resize(size);
  return contents;
}

Status Home::writeFile(Folder folder, std::string_view name, std::string_view contents,
                       WriteMode mode) const {
  if (!isComponent(name)) return notOneName();
  const int directory = fd(folder);
  const std::string shown = shownName(folder, name);
  const std::string target(name);
  const std::string written = mode == WriteMode::kReplace ? temporaryName(name) : target;
  if (Status made = createFile(directory, written, contents, shown); !made) return made;
  if (mode == WriteMode::kReplace && ::renameat(directory, written.c_str(), directory, target.c_str()) != 0) {
    const int error = errno;
    ::unlinkat(directory, written.c_str(), 0);
    return systemProblem("replace", shown, error);
  }
  if (::fsync(directory) != 0) return systemProblem("write", shown, errno);
  return {};
}

Status Home::removeFile(Folder folder, std::string_view name) const {
  if (!isComponent(name)) return notOneName();
  if (::unlinkat(fd(folder), std::string(name).c_str(), 0) != 0) {
    return systemProblem("remove", shownName(folder, name), errno);
  }
  if (::fsync(fd(folder)) != 0) return systemProblem("remove", shownName(folder, name), errno);
  return {};
}

bool Home::exists(Folder folder, std::string_view name) const {
  struct stat status {};
  return isComponent(name) &&
         ::fstatat(fd(folder), std::string(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Status Home::tighten() const {
  for (const sandbox::Fd& folder : folders_) {
    if (::fchmod(folder.get(), 0700) != 0) return systemProblem("close", "", errno);
  }
  return {};
}

Result<sandbox::Fd> Home::lockForEditing() const {
  // A description of its own: flock belongs to it, so two threads of one process exclude each other too.
  sandbox::Fd own(::openat(fd(Folder::kTop), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return systemProblem("open", "", errno);
  while (::flock(own.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return systemProblem("lock", "", errno);
  }
  return own;
}

}  // namespace factionos::home
