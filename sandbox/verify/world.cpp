#include "sandbox/verify/world.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/landlock.h"

namespace factionos::sandbox::verify {
namespace {

[[noreturn]] void failed(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::string randomText() {
  std::array<unsigned char, kSecretBytes / 2> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) failed("getrandom");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// Only what is not so already: truncating costs more than all the rest.
void write(const std::string& path, const std::string& content, mode_t mode = 0600) {
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && status.st_mode == (S_IFREG | mode) && contentOf(path) == content)
    return;
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file || ::write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()))
    failed("a probe's file");
  fchmod(file.get(), mode);
}

void makeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) failed("a probe's directory");
}

std::string script(const std::string& marker) {
  return "#!/bin/sh\necho started > '" + marker + "'\n";
}

const sockaddr* generic(const void* address) {
  return static_cast<const sockaddr*>(address);
}

Listener listenInternet(int type) {
  Listener listener{Fd(socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (!listener.socket || bind(listener.socket.get(), generic(&address), size) != 0 ||
      getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    failed("a probe's listener");
  if (type == SOCK_STREAM && listen(listener.socket.get(), 8) != 0) failed("a probe's listener");
  listener.port = ntohs(address.sin_port);
  return listener;
}

enum class Name { kPath, kAbstract };

Listener listenUnix(const std::string& name, Name kind) {
  Listener listener{Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t lead = kind == Name::kAbstract ? 1 : 0;
  if (name.size() + lead >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    failed("a probe's socket; set TMPDIR to a shorter path");
  }
  std::memcpy(address.sun_path + lead, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + lead + name.size() +
                                           (kind == Name::kPath ? 1 : 0));
  if (!listener.socket || bind(listener.socket.get(), generic(&address), size) != 0 ||
      listen(listener.socket.get(), 8) != 0)
    failed("a probe's socket");
  return listener;
}

// Lives as long as its line is open, whoever else dies.
[[noreturn]] void live(int line) {
  char byte = 0;
  while (read(line, &byte, 1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

// Whether an attack of before left its mark.
bool unchanged(pid_t pid) {
  rlimit own{};
  rlimit its{};
  getrlimit(RLIMIT_NOFILE, &own);
  return prlimit(pid, RLIMIT_NOFILE, nullptr, &its) == 0 && own.rlim_max == its.rlim_max &&
         getpriority(PRIO_PROCESS, static_cast<id_t>(pid)) == getpriority(PRIO_PROCESS, 0);
}

void enterDomain() {
  LandlockPolicy policy;
  policy.files.rules.push_back(allowPath("/", access::kRead, "a sibling's own rules do not matter here"));
  policy.scopes = {Need::kIfAvailable, Need::kIfAvailable};
  if (landlockAbi() > 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) restrictByLandlock(policy);
}

}  // namespace

char* secretAddress() {
  alignas(64) static char place[kSecretBytes];
  return place;
}

std::string memoryOf(pid_t pid) {
  std::string text(kSecretBytes, '\0');
  const Fd memory(open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  const auto place = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(secretAddress()));
  const bool whole =
      pread(memory.get(), text.data(), text.size(), place) == static_cast<ssize_t>(text.size());
  return whole ? text : std::string();
}

std::string contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool exists(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

bool Listener::heard() const {
  const Fd accepted(accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (accepted) return true;
  std::array<char, 64> datagram{};
  return recv(socket.get(), datagram.data(), datagram.size(), MSG_DONTWAIT) > 0;
}

bool World::lineHeard() const {
  char byte = 0;
  return recv(line, &byte, 1, MSG_DONTWAIT) == 1;
}

Victim::Victim(Victim&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), line_(std::move(other.line_)) {}

Victim& Victim::operator=(Victim&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(line_, other.line_);
  return *this;
}

Victim::~Victim() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

// A zombie is dead: nobody reaps but the destructor.
bool Victim::alive() const {
  siginfo_t info{};
  return pid_ > 0 && waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

Victim Victim::forked(const std::string& secret, int descriptor, Domain domain) {
  Pipe line = makePipe();
  Pipe ready = makePipe();
  Victim victim;
  victim.pid_ = fork();
  if (victim.pid_ < 0) failed("fork");
  if (victim.pid_ == 0) {
    signal(SIGINT, SIG_IGN);  // of the terminal: its owner ends it
    dup2(descriptor, kVictimDescriptor);
    const int keep[] = {line.read.get(), ready.write.get(), kVictimDescriptor};
    closeAllBut(keep);
    std::memcpy(secretAddress(), secret.data(), kSecretBytes);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // where Yama would let ancestors alone
    if (domain == Domain::kOwn) enterDomain();
    ready.write.reset();
    live(line.read.get());
  }
  ready.write.reset();
  char byte = 0;
  if (read(ready.read.get(), &byte, 1) < 0) failed("a probe's victim");
  victim.line_ = std::move(line.write);
  return victim;
}

Victim Victim::executed(const std::string& secret, const std::string& directory) {
  Pipe line = makePipe();
  Victim victim;
  Pipe ready = makePipe();
  victim.pid_ = fork();
  if (victim.pid_ < 0) failed("fork");
  if (victim.pid_ == 0) {
    if (chdir(directory.c_str()) != 0 || dup2(line.read.get(), STDIN_FILENO) < 0) _exit(127);
    signal(SIGINT, SIG_IGN);
    std::string variable = secret;
    char shell[] = "sh", option[] = "-c", text[] = "read line";
    char* const arguments[] = {shell, option, text, nullptr};
    char* const environment[] = {variable.data(), nullptr};
    execve("/bin/sh", arguments, environment);
    _exit(127);
  }
  ready.write.reset();
  char byte = 0;
  if (read(ready.read.get(), &byte, 1) < 0) failed("a probe's victim");  // the pipe closes on exec
  victim.line_ = std::move(line.write);
  return victim;
}

World::World(const NamespaceSupport& itsSupport) : support(itsSupport) {
  const char* const temporary = std::getenv("TMPDIR");
  base = std::string(temporary != nullptr && temporary[0] == '/' ? temporary : "/tmp") +
         "/factionos-verify.XXXXXX";
  if (mkdtemp(base.data()) == nullptr)
    failed("no directory for the probes; set TMPDIR to one that you may write");
  base = std::filesystem::canonical(base).string();
  startJanitor();
  void* const memory =
      mmap(nullptr, sizeof(VictimPids), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) failed("shared memory");
  pids = new (memory) VictimPids;
  secret = randomText();
  inMemory = randomText();
  inActor = randomText();
  variable = "FACTIONOS_CANARY";
  variableValue = randomText();
  inEnvironment = "FACTIONOS_PROBE=" + randomText();
  home = base + "/home";
  state = home + "/state/secret";
  outside = base + "/outside";
  privateFile = outside + "/private";
  workspace = base + "/workspace";
  scratch = base + "/scratch";
  abstractName = "factionos-verify-" + randomText();
  makeFiles();
  makeSockets();
  leak.reset(open(privateFile.c_str(), O_RDONLY | O_CLOEXEC));
  openTerminal();
  makeVictims();
}

World::~World() {
  munmap(pids, sizeof *pids);
  janitor_.reset();
  if (janitorPid_ > 0) waitpid(janitorPid_, nullptr, 0);
}

// Waits for the end of file that any end of its parent brings, in a session of its own that no ^C reaches.
void World::startJanitor() {
  Pipe life = makePipe();
  janitorPid_ = fork();
  if (janitorPid_ < 0) failed("fork");
  if (janitorPid_ == 0) {
    setsid();
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) signal(number, SIG_IGN);
    const int keep[] = {life.read.get()};
    closeAllBut(keep);
    char byte = 0;
    while (read(life.read.get(), &byte, 1) < 0 && errno == EINTR) {
    }
    std::error_code ignored;
    std::filesystem::remove_all(base, ignored);
    _exit(0);
  }
  janitor_ = std::move(life.write);
}

void World::makeFiles() {
  // The very directory comes back: mounts lie on it, and not on its name.
  rename((workspace + "/git-moved").c_str(), (workspace + "/.git").c_str());
  for (const std::string& directory :
       {home, home + "/state", outside, outside + "/empty", workspace, workspace + "/.git",
        workspace + "/.git/hooks", workspace + "/.git/modules", workspace + "/.git/modules/deep",
        workspace + "/.git/modules/deep/logs", workspace + "/.claude", scratch, scratch + "/tmp",
        scratch + "/home", base + "/run"})
    makeDirectory(directory);
  for (const std::string& stray :
       {outside + "/created", outside + "/new-directory", workspace + "/moved", workspace + "/alias",
        workspace + "/own", workspace + "/marker", workspace + "/seen", workspace + "/large",
        workspace + "/set-id", workspace + "/.git/hooks/new", workspace + "/git-moved",
        workspace + "/.mcp.json", workspace + "/.codex", workspace + "/.git/commondir", workspace + "/HEAD",
        workspace + "/.git/modules/deep/logs/hooks", home + "/state/own", outside + "/marker"}) {
    std::error_code ignored;
    std::filesystem::remove_all(stray, ignored);
  }
  write(state, secret);
  write(privateFile, secret);
  write(outside + "/movable", secret);
  write(outside + "/removable", secret);
  write(outside + "/script", script(workspace + "/marker"), 0700);
  write(workspace + "/note", secret, 0644);
  write(workspace + "/movable", secret, 0644);
  write(workspace + "/script", script(workspace + "/marker"), 0700);
  write(workspace + "/.git/config", "[core]\n");
  write(workspace + "/.git/hooks/pre-commit", "#!/bin/sh\n", 0700);
  write(workspace + "/.git/modules/deep/logs/config", "[core]\n");
  write(workspace + "/.claude/settings.json", "{}");
  const std::string link = workspace + "/link";
  if (symlink(privateFile.c_str(), link.c_str()) != 0 && errno != EEXIST) failed("a probe's link");
}

void World::makeSockets() {
  tcp = listenInternet(SOCK_STREAM);
  api = listenInternet(SOCK_STREAM);
  udp = listenInternet(SOCK_DGRAM);
  engine = base + "/run/engine.sock";
  manager = base + "/run/manager";
  bus = base + "/run/bus";
  door = base + "/run/operator.sock";
  engineSocket = listenUnix(engine, Name::kPath);
  managerSocket = listenUnix(manager, Name::kPath);
  busSocket = listenUnix(bus, Name::kPath);
  doorSocket = listenUnix(door, Name::kPath);
  abstractSocket = listenUnix(abstractName, Name::kAbstract);
}

void World::openTerminal() {
  controller.reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  std::array<char, 64> name{};
  if (!controller || grantpt(controller.get()) != 0 || unlockpt(controller.get()) != 0 ||
      ptsname_r(controller.get(), name.data(), name.size()) != 0)
    return;
  slave.reset(open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (slave) terminal = name.data();
}

void World::makeVictims() {
  const auto renew = [this](Victim& victim, Victim::Domain domain) {
    if (!victim.alive() || memoryOf(victim.pid()) != inMemory || !unchanged(victim.pid()))
      victim = Victim::forked(inMemory, leak.get(), domain);
  };
  renew(outsider, Victim::Domain::kNone);
  renew(sibling, Victim::Domain::kOwn);
  if (!program.alive()) program = Victim::executed(inEnvironment, outside);
  pids->outsider = outsider.pid();
  pids->sibling = sibling.pid();
  pids->program = program.pid();
}

void World::reset() {
  makeFiles();
  makeVictims();
  for (const Listener* listener :
       {&tcp, &udp, &api, &engineSocket, &managerSocket, &busSocket, &doorSocket, &abstractSocket}) {
    while (listener->heard()) {
    }
  }
}

}  // namespace factionos::sandbox::verify
