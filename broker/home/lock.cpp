#include <array>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "broker/home/entry.h"
#include "broker/home/home.h"

namespace factionos::home {
namespace {

// An open-file-description lock: unlike flock it can be asked for without being taken, so that a command of
// the CLI that looks whether a broker runs never stands in the way of one that starts.
constexpr const char* kLockFile = "broker.lock";
constexpr const char* kShown = "run/broker.lock";

struct flock wholeFile() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

pid_t readPid(int fd) {
  std::array<char, 16> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  pid_t pid = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, pid);
  return pid > 0 ? pid : 0;
}

Problem busy(pid_t pid) {
  const std::string who = pid > 0 ? " (pid " + std::to_string(pid) + ")" : "";
  return {ProblemCode::kBusy, "a broker already serves this home" + who,
          "stop it first, or give another home with --home"};
}

}  // namespace

Result<HomeLock> Home::lock() const {
  // A description of its own, since flock belongs to the description and this object may be shared.
  sandbox::Fd folder(::openat(fd(Folder::kRun), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return systemProblem("open", "run/", errno);
  auto file = openFile(Folder::kRun, kLockFile, O_RDWR | O_CREAT);
  if (!file) return file.problem();
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return busy(readPid(file->get()));
    return systemProblem("lock", "run/", errno);
  }
  struct flock request = wholeFile();
  if (::fcntl(file->get(), F_OFD_SETLK, &request) != 0) {
    if (errno == EAGAIN || errno == EACCES) return busy(readPid(file->get()));
    return systemProblem("lock", kShown, errno);
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file->get(), 0) != 0 ||
      ::pwrite(file->get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return systemProblem("write", kShown, errno);
  }
  return HomeLock(std::move(*file), std::move(folder));
}

Result<LockState> Home::lockState() const {
  auto file = openFile(Folder::kRun, kLockFile, O_RDONLY);
  if (!file && file.problem().code == ProblemCode::kNotFound) return LockState{};
  if (!file) return file.problem();
  struct flock question = wholeFile();
  if (::fcntl(file->get(), F_OFD_GETLK, &question) != 0) return systemProblem("ask for", kShown, errno);
  if (question.l_type == F_UNLCK) return LockState{};
  return LockState{LockState::Holder::kBroker, readPid(file->get())};
}

}  // namespace factionos::home
