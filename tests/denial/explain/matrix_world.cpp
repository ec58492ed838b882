#include "matrix_world.h"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace factionos::test {
namespace {

namespace fs = std::filesystem;

constexpr int kWaiting = 64;  // connections of a whole batch

}  // namespace

MatrixWorld::MatrixWorld(const World& world)
    : world_(world), hidden_("/tmp/factionos-hidden-" + std::to_string(getpid())) {
  fillWorkspace();
  fillRepository();
  fillOutside();
  nameMachine();
  listen();
}

MatrixWorld::~MatrixWorld() {
  unlink(hidden_.c_str());
  kill(other_, SIGKILL);
  waitpid(other_, nullptr, 0);
  // Of a directory that nobody may enter nothing could be removed.
  chmod((world_.workspace + "/closed").c_str(), 0700);
}

void MatrixWorld::fillWorkspace() {
  const std::string& root = world_.workspace;
  world_.write(root + "/file", "x");
  world_.write(root + "/readonly", "x", 0444);
  world_.write(root + "/secret", "x", 0000);
  world_.write(root + "/script", "#!/bin/sh\nexit 0\n", 0755);
  world_.write(root + "/script-with-word", "#! /bin/sh -e\nexit 0\n", 0755);
  world_.write(root + "/script-without-mode", "#!/bin/sh\n", 0644);
  world_.write(root + "/script-of-nobody", "#!/nonexistent/interpreter\n", 0755);
  world_.write(root + "/script-of-outside", "#!" + world_.outside + "/interpreter\n", 0755);
  world_.write(root + "/script-of-script", "#!" + root + "/script\n", 0755);
  world_.write(root + "/no-program", "text\n", 0755);
  world_.write(root + "/directory/inner", "x");
  world_.write(root + "/closed/inner", "x");
  fs::copy_file("/bin/true", root + "/program");
  const auto link = [&root](const std::string& text, const char* name) {
    fs::create_symlink(text, root + "/" + name);
  };
  link("file", "to-file");
  link("directory", "to-directory");
  link("../outside/secret", "to-outside");
  link(world_.outside + "/secret", "to-outside-absolute");
  link("/usr/bin/true", "to-program");
  link("/etc/passwd", "to-etc");
  link("/dev/null", "to-null");
  link("nowhere", "to-nowhere");
  link("to-itself", "to-itself");
  link("/tmp/new", "to-temporary");
  mkfifo((root + "/pipe").c_str(), 0600);
  // Both ends, or who opens one end alone would be told that there is no other.
  open_.emplace_back(open((root + "/pipe").c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  chmod((root + "/closed").c_str(), 0000);
  for (const char* name : {".",
                           "file",
                           "readonly",
                           "secret",
                           "script",
                           "script-with-word",
                           "no-program",
                           "program",
                           "directory",
                           "directory/inner",
                           "directory/new",
                           "closed",
                           "to-file",
                           "to-directory",
                           "to-outside",
                           "to-program",
                           "to-etc",
                           "to-null",
                           "to-nowhere",
                           "to-itself",
                           "to-temporary",
                           "script-of-script",
                           "script-of-nobody",
                           "closed/inner",
                           "pipe",
                           "new",
                           "none/new",
                           "file/new",
                           "closed/new",
                           "to-directory/new",
                           "./file",
                           "directory/..",
                           "script-of-outside",
                           "to-outside-absolute",
                           "script-without-mode",
                           "../outside/secret",
                           "directory/../../outside/secret",
                           "to-directory/../file",
                           "directory//inner"}) {
    targets_.emplace_back(name);
  }
  targets_.push_back(root);
  targets_.push_back(root + "/file");
}

void MatrixWorld::fillRepository() {
  const std::string& root = world_.workspace;
  world_.write(root + "/.git/HEAD", "ref: refs/heads/main\n");
  world_.write(root + "/.git/config", "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../included\n");
  world_.write(root + "/.git/hooks/pre-commit", "#!/bin/sh\n", 0755);
  world_.write(root + "/.git/objects/one", "x");
  world_.write(root + "/.git/modules/sub/config", "");
  world_.write(root + "/.git/modules/sub/hooks/post-merge", "#!/bin/sh\n", 0755);
  world_.write(root + "/included", "");
  world_.write(root + "/tools/hooks/pre-push", "#!/bin/sh\n", 0755);
  world_.write(root + "/.claude/settings.json", "{}");
  world_.write(root + "/.mcp.json", "{}");
  for (const char* name : {".git",
                           ".git/HEAD",
                           ".git/config",
                           ".git/hooks",
                           ".git/hooks/pre-commit",
                           ".git/hooks/new",
                           ".git/objects/one",
                           ".git/new",
                           ".git/config.worktree",
                           ".git/modules/sub/config",
                           ".git/modules/sub/hooks/post-merge",
                           ".git/modules/sub/hooks/new",
                           ".git/modules/sub/new",
                           "included",
                           "tools",
                           "tools/new",
                           "tools/hooks/pre-push",
                           "tools/hooks/new",
                           ".claude",
                           ".claude/settings.json",
                           ".claude/new",
                           ".mcp.json",
                           ".envrc",
                           ".vscode/tasks.json",
                           ".cursor"}) {
    targets_.emplace_back(name);
  }
}

void MatrixWorld::fillOutside() {
  world_.write(world_.outside + "/secret", "x");
  world_.write(world_.outside + "/interpreter", "#!/bin/sh\n", 0755);
  world_.write(programs() + "/tool", "#!/bin/sh\nexit 0\n", 0755);
  world_.write(data() + "/table", "x");
  world_.write(data() + "/tool", "#!/bin/sh\nexit 0\n", 0755);
  world_.write(world_.home + "/state/database", "x");
  world_.write(hidden_, "x");
  fs::create_hard_link(world_.outside + "/secret", world_.workspace + "/hard-link");
  targets_.insert(targets_.end(), {"hard-link", world_.outside, world_.outside + "/secret",
                                   world_.outside + "/new", world_.outside + "/interpreter", world_.home,
                                   world_.home + "/state/database", world_.home + "/new", world_.scratch,
                                   world_.scratch + "/new", fs::path(world_.outside).parent_path(),
                                   programs(), programs() + "/tool", programs() + "/new", data(),
                                   data() + "/table", data() + "/tool", data() + "/new", hidden_});
}

void MatrixWorld::nameMachine() {
  // Somebody else's terminal, that stays for as long as the cells are tried.
  sandbox::Fd master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  std::array<char, 64> terminal{};
  unlockpt(master.get());
  ptsname_r(master.get(), terminal.data(), terminal.size());
  open_.push_back(std::move(master));
  other_ = fork();
  if (other_ == 0) {
    pause();
    _exit(0);
  }
  const std::string other = "/proc/" + std::to_string(other_);
  targets_.insert(targets_.end(), {"/",
                                   "/new",
                                   "/usr",
                                   "/usr/bin",
                                   "/usr/bin/true",
                                   "/usr/bin/new",
                                   "/usr/lib",
                                   "/usr/share/common-licenses/MIT",
                                   "/bin",
                                   "/bin/sh",
                                   "/bin/true",
                                   "/bin/new",
                                   "/sbin",
                                   "/lib",
                                   "/lib/new",
                                   "/lib64/ld-linux-x86-64.so.2",
                                   "/opt",
                                   "/opt/new",
                                   "/etc",
                                   "/etc/passwd",
                                   "/etc/shadow",
                                   "/etc/hostname",
                                   "/etc/resolv.conf",
                                   "/etc/new",
                                   "/etc/ssl",
                                   "/etc/none/new",
                                   "/root",
                                   "/root/new",
                                   "/root/.ssh",
                                   "/home",
                                   "/home/new",
                                   "/var",
                                   "/var/new",
                                   "/var/log",
                                   "/var/tmp",
                                   "/var/tmp/new",
                                   "/var/lib/dpkg/status",
                                   "/srv",
                                   "/srv/new",
                                   "/mnt",
                                   "/media",
                                   "/boot",
                                   "/run",
                                   "/run/new",
                                   "/run/systemd",
                                   "/tmp",
                                   "/tmp/new",
                                   "/tmp/none/new",
                                   "$TMPDIR",
                                   "$TMPDIR/new",
                                   "$TMPDIR/none/new",
                                   "$HOME",
                                   "$HOME/new",
                                   "/nonexistent",
                                   "/nonexistent/new",
                                   "/dev",
                                   "/dev/new",
                                   "/dev/null",
                                   "/dev/zero",
                                   "/dev/full",
                                   "/dev/random",
                                   "/dev/urandom",
                                   "/dev/tty",
                                   "$TTY",
                                   "/dev/ptmx",
                                   "/dev/pts",
                                   "/dev/pts/ptmx",
                                   terminal.data(),
                                   "/dev/shm",
                                   "/dev/shm/new",
                                   "/dev/mem",
                                   "/dev/kmsg",
                                   "/dev/fuse",
                                   "/dev/net/tun",
                                   "/dev/vda",
                                   "/dev/console",
                                   "/dev/null/new",
                                   "/proc",
                                   "/proc/new",
                                   "/proc/self",
                                   "/proc/self/status",
                                   "/proc/self/environ",
                                   "/proc/self/maps",
                                   "/proc/self/oom_score_adj",
                                   "/proc/self/new",
                                   "/proc/cpuinfo",
                                   "/proc/meminfo",
                                   "/proc/mounts",
                                   "/proc/sys",
                                   "/proc/sys/kernel/hostname",
                                   "/proc/sysrq-trigger",
                                   "/proc/kcore",
                                   "/proc/kmsg",
                                   "/proc/4194305",
                                   other,
                                   other + "/status",
                                   other + "/environ",
                                   other + "/mem",
                                   other + "/maps",
                                   other + "/smaps",
                                   other + "/cmdline",
                                   other + "/auxv",
                                   other + "/pagemap",
                                   other + "/smaps_rollup",
                                   other + "/numa_maps",
                                   other + "/fd",
                                   other + "/task",
                                   other + "/stat",
                                   other + "/io",
                                   other + "/stack",
                                   other + "/syscall",
                                   other + "/personality",
                                   other + "/mountinfo",
                                   other + "/cwd",
                                   other + "/ns",
                                   "/sys",
                                   "/sys/new",
                                   "/sys/devices/system/cpu",
                                   "/sys/devices/system/cpu/online",
                                   "/sys/devices/system/cpu/new",
                                   "/sys/devices",
                                   "/sys/class",
                                   "/sys/kernel",
                                   "/sys/kernel/mm/transparent_hugepage/enabled",
                                   "/sys/fs/cgroup",
                                   "/sys/fs/cgroup/new"});
}

std::uint16_t MatrixWorld::listenOn(int family, int type) {
  sandbox::Fd socket(::socket(family, type | SOCK_CLOEXEC, 0));
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  auto* four = reinterpret_cast<sockaddr_in*>(&address);
  auto* six = reinterpret_cast<sockaddr_in6*>(&address);
  if (family == AF_INET) four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (family == AF_INET6) six->sin6_addr = in6addr_loopback;
  socklen_t size = family == AF_INET ? sizeof *four : sizeof *six;
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return 0;
  if (type == SOCK_STREAM) ::listen(socket.get(), kWaiting);
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const std::uint16_t port = ntohs(family == AF_INET ? four->sin_port : six->sin6_port);
  const std::string kind = type == SOCK_STREAM ? "tcp:" : "udp:";
  const std::string where = family == AF_INET ? "127.0.0.1:" : "[::1]:";
  peers_.push_back({kind + where + std::to_string(port), socket.get()});
  open_.push_back(std::move(socket));
  return port;
}

void MatrixWorld::listenAt(const std::string& path) {
  sandbox::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool abstract = path.front() == '@';
  const std::string name = abstract ? path.substr(1) : path;
  std::memcpy(address.sun_path + (abstract ? 1 : 0), name.data(), name.size());
  const std::size_t size = offsetof(sockaddr_un, sun_path) + name.size() + 1;
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size)) != 0) return;
  ::listen(socket.get(), kWaiting);
  peers_.push_back({"unix:" + path, socket.get()});
  open_.push_back(std::move(socket));
}

void MatrixWorld::listen() {
  apiPort_ = listenOn(AF_INET, SOCK_STREAM);
  for (const int family : {AF_INET, AF_INET6}) {
    listenOn(family, SOCK_STREAM);
    listenOn(family, SOCK_DGRAM);
  }
  listenAt(world_.workspace + "/socket");
  listenAt(world_.outside + "/socket");
  listenAt(world_.home + "/operator.sock");
  listenAt("@factionos-matrix-" + std::to_string(getpid()));
  peers_.push_back({"unix:" + world_.workspace + "/file"});
  peers_.push_back({"unix:" + world_.workspace + "/none"});
  targets_.insert(targets_.end(), {"socket", world_.outside + "/socket", world_.home + "/operator.sock"});
}

bool MatrixWorld::heard(int listener) {
  bool any = false;
  for (pollfd ready{listener, POLLIN, 0}; poll(&ready, 1, 0) == 1; ready.revents = 0) {
    char byte = 0;
    const sandbox::Fd peer(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer && recv(listener, &byte, 1, MSG_DONTWAIT) < 0) break;
    any = true;
  }
  return any;
}

}  // namespace factionos::test
