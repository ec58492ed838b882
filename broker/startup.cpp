#include "broker/startup.h"

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "broker/home/user.h"
#include "sandbox/system_paths.h"

namespace factionos::broker {
namespace {

[[noreturn]] void refuse(const std::string& text, int status = 1) {
  throw StartRefused(text, status);
}

[[noreturn]] void failed(const std::string& what) {
  refuse(what + ": " + std::strerror(errno));
}

std::string launcherPath() {
  char self[PATH_MAX];
  const auto size = ::readlink("/proc/self/exe", self, sizeof self);
  if (size <= 0) failed("can't tell where factionosd lies");
  const std::string path(self, static_cast<std::size_t>(size));
  return path.substr(0, path.rfind('/')) + "/launcher";
}

// Async-signal-safe: between fork and exec.
// `audit`: -1 is none.
[[noreturn]] void becomeLauncher(const char* path, int line, int events, int homeFd, int audit) {
  // High numbers first, so that no dup2 overwrites a source.
  const unsigned many = audit < 0 ? 3 : 4;
  const std::array<int, 4> high{::fcntl(line, F_DUPFD, 64), ::fcntl(events, F_DUPFD, 64),
                                ::fcntl(homeFd, F_DUPFD, 64), audit < 0 ? -1 : ::fcntl(audit, F_DUPFD, 64)};
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0) ::_exit(71);
  for (int each = 0; each < 3; ++each) {
    if (::dup2(null, each) < 0) ::_exit(71);
  }
  for (unsigned each = 0; each < many; ++each) {
    if (high[each] < 0 || ::dup2(high[each], 3 + static_cast<int>(each)) < 0) ::_exit(71);
  }
  ::close_range(3 + many, ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const std::array<const char*, 5> argv{"launcher", "--home-fd", "5", audit < 0 ? nullptr : "--audit",
                                        nullptr};
  const std::array<const char*, 3> environment{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", nullptr};
  ::execve(path, const_cast<char* const*>(argv.data()), const_cast<char* const*>(environment.data()));
  ::_exit(72);
}

sandbox::Fd listenTcp(const home::ListenAddress& address, std::uint16_t& port) {
  const bool six = address.host == "::1";
  sandbox::Fd fd(::socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) failed("can't make a TCP socket");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (six) {
    auto* in6 = reinterpret_cast<sockaddr_in6*>(&storage);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(address.port);
    in6->sin6_addr = in6addr_loopback;
    size = sizeof *in6;
  } else {
    auto* in4 = reinterpret_cast<sockaddr_in*>(&storage);
    in4->sin_family = AF_INET;
    in4->sin_port = htons(address.port);
    in4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    size = sizeof *in4;
  }
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), size) != 0)
    failed("can't listen on the address of [listen] (is another factionosd running?)");
  if (::listen(fd.get(), SOMAXCONN) != 0) failed("can't listen on the address of [listen]");
  size = sizeof storage;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &size);
  port = ntohs(six ? reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&storage)->sin_port);
  return fd;
}

sandbox::Fd listenUnix(const home::SocketPlace& place, const char* name) {
  const auto path = place.path + "/" + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    refuse("the home's path is too long for a unix socket; choose a shorter --home", 2);
  path.copy(address.sun_path, path.size());
  sandbox::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) failed("can't make a unix socket");
  if (::unlinkat(place.directory.get(), name, 0) != 0 && errno != ENOENT)
    failed("can't replace an old socket of ours");
  // Nobody may connect before the mode is right.
  const auto mask = ::umask(0177);
  const int bound = ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  ::umask(mask);
  if (bound != 0) failed(std::string("can't bind ") + name);
  if (place.group != static_cast<gid_t>(-1) &&
      ::fchownat(place.directory.get(), name, static_cast<uid_t>(-1), place.group, AT_SYMLINK_NOFOLLOW) != 0)
    failed(std::string("can't give the group of config.toml to ") + name);
  if (::fchmodat(place.directory.get(), name, place.mode, 0) != 0)
    failed(std::string("can't set the mode of ") + name);
  if (::listen(fd.get(), SOMAXCONN) != 0) failed(std::string("can't listen on ") + name);
  return fd;
}

}  // namespace

void dropPrivileges(const std::optional<std::string>& user) {
  try {
    home::becomeUser(user, "factionosd");
  } catch (const home::UserRefused& refusal) {
    refuse(refusal.what(), 2);
  }
}

LauncherProcess startLauncher(const home::Home& home, sandbox::LandlockAudit audit) {
  // What a dead launcher leaves is ours to end.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) failed("can't become a subreaper");
  std::array<int, 2> line{};
  std::array<int, 2> events{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, line.data()) != 0)
    failed("can't make the launcher's line");
  sandbox::Fd ours(line[0]);
  sandbox::Fd theirs(line[1]);
  if (::pipe2(events.data(), O_CLOEXEC | O_NONBLOCK) != 0) failed("can't make the launcher's event pipe");
  sandbox::Fd read(events[0]);
  sandbox::Fd write(events[1]);
  sandbox::Fd homePath(::openat(home.fd(home::Folder::kTop), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!homePath) failed("can't open the home");
  const auto path = launcherPath();
  if (::access(path.c_str(), X_OK) != 0) failed("the launcher does not lie beside factionosd");
  const pid_t pid = ::fork();
  if (pid < 0) failed("can't fork the launcher");
  if (pid == 0) becomeLauncher(path.c_str(), theirs.get(), write.get(), homePath.get(), audit.socket.get());
  return {.pid = pid, .line = std::move(ours), .events = std::move(read)};
}

std::optional<audit::Anchor> openAnchor(const home::Home& home, const home::Config& config) {
  if (config.auditAnchor.empty()) return std::nullopt;
  const std::filesystem::path path(config.auditAnchor);
  std::error_code error;
  const auto folder = std::filesystem::canonical(path.parent_path(), error).string();
  const auto own = std::filesystem::canonical(home.path(), error).string();
  if (!error && sandbox::isWithin(folder, own))
    throw StartRefused(
        "config.toml: audit.anchor lies in the home; name a file outside, on another file system if there is "
        "one",
        1);
  try {
    return audit::Anchor::open(path);
  } catch (const audit::FileError& problem) {
    throw StartRefused("config.toml: audit.anchor: " + std::string(problem.what()) +
                           "; make its directory, writable for the broker's user, or take the line out",
                       1);
  }
}

Listeners bindListeners(const home::Home& home, const home::Config& config) {
  auto place = home::socketPlace(home, config.mode, config.group);
  if (!place) throw StartRefused(place.problem());
  Listeners listeners;
  listeners.front.push_back({listenTcp(config.listen, listeners.port), schema::Listener::Kind::TCP});
  listeners.front.push_back({listenUnix(*place, home::kApiSocketName), schema::Listener::Kind::UNIX_SOCKET});
  listeners.operatorSocket = listenUnix(*place, home::kOperatorSocketName);
  return listeners;
}

}  // namespace factionos::broker
