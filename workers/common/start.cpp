#include "workers/common/start.h"

#include <exception>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/events.h"

namespace factionos::worker {
namespace {

bool isOwnSocketpair(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return false;
  sockaddr_un name{};
  size = sizeof name;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&name), &size) != 0) return false;
  // A socketpair has no name at either end: what was connected by a path or an abstract name shows it here.
  if (name.sun_family != AF_UNIX || size != sizeof(sa_family_t)) return false;
  ucred maker{};
  size = sizeof maker;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0) return false;
  return maker.uid == getuid();
}

bool isEventPipe(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISFIFO(status.st_mode)) return false;
  const int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == O_WRONLY;
}

bool isOfKind(int descriptor, mode_t kind) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

// Whatever 0 to 2 were, and if they were closed: no later descriptor may get a number that libraries print
// to.
void silenceStandardStreams() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) _exit(kSetupFailed);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (dup2(null, standard) != standard) _exit(kSetupFailed);
  }
  if (null > STDERR_FILENO) close(null);
}

[[noreturn]] void refuse(std::string_view name) {
  const std::string text =
      std::string(name) + ": is started by FactionOS only; run 'factionos serve' instead\n";
  const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(ignored);
  _exit(kStartedByHand);
}

}  // namespace

void mustBeStarted(std::string_view name, const std::vector<int>& scopes, const std::vector<int>& programs) {
  if (!isOwnSocketpair(kLine) || !isEventPipe(kEvents)) refuse(name);
  for (const int scope : scopes) {
    if (!isOfKind(scope, S_IFDIR)) refuse(name);
    fcntl(scope, F_SETFD, FD_CLOEXEC);
  }
  for (const int program : programs) {
    if (!isOfKind(program, S_IFREG)) refuse(name);
    fcntl(program, F_SETFD, FD_CLOEXEC);
  }
  silenceStandardStreams();
  fcntl(kLine, F_SETFD, FD_CLOEXEC);
  fcntl(kEvents, F_SETFD, FD_CLOEXEC);
  umask(077);
  if (chdir("/") != 0) _exit(kSetupFailed);
}

void selfCheck(const sandbox::Policy& policy, const sandbox::Posture& posture) {
  using sandbox::SetupError;
  using sandbox::Step;
  if (!posture.noNewPrivileges) throw SetupError(Step::kSelfCheck, 0, "no_new_privs_missing");
  if (posture.dumpable) throw SetupError(Step::kSelfCheck, 0, "dumpable");
  if (policy.seccomp.scope == sandbox::SeccompScope::kFiltered && posture.seccompMode != 2) {
    throw SetupError(Step::kSelfCheck, 0, "filter_missing");
  }
  constexpr int kHighest = 64;  // descriptors are handed out lowest first, so a leak of ours lies below
  if (sandbox::firstUnexpected(policy.keep, kHighest) >= 0) {
    throw SetupError(Step::kSelfCheck, 0, "descriptor_left_open");
  }
}

int guarded(kj::FunctionParam<void()> body) noexcept {
  try {
    body();
    return 0;
  } catch (const sandbox::SetupError& error) {
    sandbox::writeEvent(kEvents, sandbox::eventOf(error));
    return kSetupFailed;
  } catch (const std::exception&) {  // what KJ throws is one, too
    sandbox::writeEvent(kEvents, {sandbox::EventCode::kInternalError, {}});
  }
  return kInternalError;
}

}  // namespace factionos::worker
