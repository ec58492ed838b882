#include "harness.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <capnp/message.h>

#include "protocol/rpc/deadline.h"
#include "protocol/rpc/descriptor.h"
#include "sandbox/seccomp.h"
#include "tests/absent.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::test {
namespace {

constexpr uid_t kTestUser = 54321;

void must(bool fact, const char* what) {
  if (fact) return;
  std::perror(what);
  _exit(99);
}

void writeFile(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  must(file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()), path);
  close(file);
}

// In a user namespace of its own, whose count of further ones of that kind is then set to 0: the kernel's own
// refusal. Where there is none to be had, nothing is left to do.
void forbidNamespaces(const char* kind) {
  if (!hasNamespaces()) return;
  const std::string user = std::to_string(getuid());
  const std::string group = std::to_string(getgid());
  must(unshare(CLONE_NEWUSER) == 0, "unshare");
  writeFile("/proc/self/setgroups", "deny");
  writeFile("/proc/self/uid_map", user + " " + user + " 1");
  writeFile("/proc/self/gid_map", group + " " + group + " 1");
  writeFile((std::string("/proc/sys/user/max_") + kind + "_namespaces").c_str(), "0");
}

void forbidLandlock() {
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  for (const int number : {444, 445, 446})
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0) == 0, "rule");
  must(seccomp_load(filter) == 0, "load");
}

// Nobody answers on it, and nobody calls what it hears of. It is a listener as long as a process holds it: a
// child, until this one ends.
void takeListener() {
  sandbox::SeccompPolicy policy;
  policy.unlisted = sandbox::Verdict::allow();
  policy.foreignEntry = sandbox::Verdict::allow();
  policy.rules = {sandbox::notify({"nobody's", {{SYS_acct, {}}}}, "test")};
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  const pid_t parent = getpid();
  const int listener = sandbox::loadProgram(sandbox::compile(policy), sandbox::Listener::kWanted);
  must(listener >= 0, "listener");
  if (fork() != 0) return;
  must(dup2(listener, 0) == 0 && syscall(SYS_close_range, 1U, ~0U, 0U) == 0, "close_range");
  while (kill(parent, 0) == 0) usleep(10'000);
  _exit(0);
}

// What factionosd does: the line on 3, events on 4, the home on 5, and nothing else.
[[noreturn]] void becomeLauncher(Kernel kernel, int line, int events, int home) {
  if (kernel == Kernel::kNoUserNamespaces) forbidNamespaces("user");
  if (kernel == Kernel::kNoPidNamespaces) forbidNamespaces("pid");
  if (kernel == Kernel::kNoMountNamespaces) forbidNamespaces("mnt");
  if (kernel == Kernel::kNoLandlock) forbidLandlock();
  if (kernel == Kernel::kListenerTaken) takeListener();
  if (kernel == Kernel::kLandlock5) {
    forbidNamespaces("user");
    sandbox::testing::pretendAbi(5);
  }
  const int high[] = {fcntl(line, F_DUPFD, 64), fcntl(events, F_DUPFD, 64), fcntl(home, F_DUPFD, 64)};
  for (int i = 0; i < 3; ++i) must(dup2(high[i], 3 + i) == 3 + i, "dup2");
  must(syscall(SYS_close_range, 6U, ~0U, 0U) == 0, "close_range");
  const std::string path = std::string(FACTIONOS_LIBEXEC) + "/launcher";
  execl(path.c_str(), "launcher", "--home-fd", "5", nullptr);
  must(false, "exec launcher");
  _exit(99);
}

std::string hex(capnp::Data::Reader data) {
  std::ostringstream text;
  for (const kj::byte byte : data) {
    constexpr char kDigits[] = "0123456789abcdef";
    text << kDigits[byte >> 4] << kDigits[byte & 15];
  }
  return text.str();
}

void fill(schema::CommandSpec::Builder spec, const CommandLine& command, const std::string& scratch) {
  const auto copy = [](const std::vector<std::string>& from, auto to) {
    for (unsigned i = 0; i < to.size(); ++i) to.set(i, capnp::Text::Reader(from[i].data(), from[i].size()));
  };
  if (command.shell.empty()) {
    copy(command.argv, spec.initArgv(static_cast<unsigned>(command.argv.size())));
  } else {
    spec.setShell(command.shell.c_str());
  }
  copy(command.environment, spec.initEnvironment(static_cast<unsigned>(command.environment.size())));
  copy(command.programPaths, spec.initProgramPaths(static_cast<unsigned>(command.programPaths.size())));
  copy(command.readPaths, spec.initReadPaths(static_cast<unsigned>(command.readPaths.size())));
  spec.setNetwork(command.network);
  spec.setScratch(scratch.c_str());
  spec.setApiPort(command.apiPort);
  spec.setHasMountNamespace(command.story == Story::kNamespaces);
}

struct Wish {
  pid_t pid =
      0;  // whose descriptors; 0: a file of another user is to be written, or what is there given away
  bool give = false;
  std::size_t size = 0;
  char path[256] = {};
};

constexpr uid_t kAnother = 54322;

void giveAway(const Wish& wish) {
  must(chmod(wish.path, 0777) == 0 && lchown(wish.path, kAnother, kAnother) == 0, wish.path);
}

void writeForAnother(int line, const Wish& wish) {
  std::string content(wish.size, '\0');
  must(recv(line, content.data(), content.size(), MSG_WAITALL) == static_cast<ssize_t>(content.size()),
       "content");
  const int file = open(wish.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  must(file >= 0 && write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
           ftruncate(file, static_cast<off_t>(content.size())) == 0 && fchown(file, kAnother, kAnother) == 0,
       wish.path);
  close(file);
}

// The helper of descriptorsOf() and writeAsAnother(): answers with lines, an empty one at the end.
int helperLine = -1;
pid_t helperPid = 0;

[[noreturn]] void listDescriptors(int line) {
  for (Wish wish; recv(line, &wish, sizeof wish, MSG_WAITALL) == sizeof wish;) {
    const pid_t pid = wish.pid;
    if (pid == 0 && !wish.give) writeForAnother(line, wish);
    if (pid == 0 && wish.give) giveAway(wish);
    std::map<int, std::string> found;
    std::error_code ignored;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", ignored)) {
      found[std::stoi(entry.path().filename())] =
          std::filesystem::read_symlink(entry.path(), ignored).string();
    }
    std::string text;
    for (const auto& [number, target] : found) text += std::to_string(number) + " " + target + "\n";
    text += "\n";
    must(write(line, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "answer");
  }
  _exit(0);
}

void startHelper() {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  helperPid = fork();
  must(helperPid >= 0, "fork");
  if (helperPid == 0) {
    close(ends[0]);
    listDescriptors(ends[1]);
  }
  close(ends[1]);
  helperLine = ends[0];
}

}  // namespace

namespace {
std::string answer() {
  std::string text;
  while (text != "\n" && !text.ends_with("\n\n")) {
    char buffer[4096];
    const ssize_t got = read(helperLine, buffer, sizeof buffer);
    must(got > 0, "helper");
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}
}  // namespace

bool writeAsAnother(const std::string& path, const std::string& content) {
  if (helperLine < 0) return false;
  Wish wish;
  wish.size = content.size();
  path.copy(wish.path, sizeof wish.path - 1);
  must(write(helperLine, &wish, sizeof wish) == sizeof wish, "ask");
  must(write(helperLine, content.data(), content.size()) == static_cast<ssize_t>(content.size()), "ask");
  answer();
  return true;
}

bool giveToAnother(const std::string& path) {
  if (helperLine < 0) return false;
  Wish wish;
  wish.give = true;
  path.copy(wish.path, sizeof wish.path - 1);
  must(write(helperLine, &wish, sizeof wish) == sizeof wish, "ask");
  answer();
  return true;
}

std::optional<std::vector<std::string>> descriptorsOf(pid_t pid) {
  if (helperLine < 0) return std::nullopt;
  Wish wish;
  wish.pid = pid;
  must(write(helperLine, &wish, sizeof wish) == sizeof wish, "ask");
  std::vector<std::string> lines;
  std::istringstream list(answer());
  for (std::string line; std::getline(list, line) && !line.empty();) lines.push_back(line);
  return lines;
}

void becomeOrdinaryUser() {
  if (getuid() == 0) {
    startHelper();
    must(setgroups(0, nullptr) == 0, "setgroups");
    must(setresgid(kTestUser, kTestUser, kTestUser) == 0, "setresgid");
    must(setresuid(kTestUser, kTestUser, kTestUser) == 0, "setresuid");
    must(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0, "dumpable");
    setenv("HOME", "/nonexistent", 1);
  }
  must(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "subreaper");
}

World::World() {
  std::string pattern = "/tmp/factionos-test-XXXXXX";
  must(mkdtemp(pattern.data()) != nullptr, "mkdtemp");
  root_ = pattern;
  workspace = root_ + "/workspace";
  home = root_ + "/home";
  scratch = home + "/run/scratch";
  outside = root_ + "/outside";
  for (const std::string& path : {workspace, home, home + "/run", scratch, outside})
    must(mkdir(path.c_str(), 0700) == 0, "mkdir");
}

World::~World() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

void World::write(const std::string& path, const std::string& content, mode_t mode) const {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  must(chmod(path.c_str(), mode) == 0, "chmod");
}

std::string World::read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

bool World::exists(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

CommandLine argv(std::vector<std::string> words, Story story) {
  CommandLine command;
  command.argv = std::move(words);
  command.story = story;
  return command;
}

CommandLine shell(std::string line, Story story) {
  CommandLine command;
  command.shell = std::move(line);
  command.story = story;
  return command;
}

std::string denialText(schema::Denial::Reader denial) {
  std::string text = denial.getCode();
  if (denial.getRule().size() > 0) text += std::string("/") + denial.getRule().cStr();
  if (denial.getTarget().size() > 0) text += std::string("/") + denial.getTarget().cStr();
  return text;
}

Broker::Launched Broker::launch(Kernel kernel, const World& world) {
  rpc::SocketPair pair = rpc::socketPair();
  int events[2];
  must(pipe2(events, O_CLOEXEC) == 0, "pipe");
  const int homeHandle = open(world.home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const pid_t pid = fork();
  must(pid >= 0, "fork");
  if (pid == 0) becomeLauncher(kernel, pair.second.get(), events[1], homeHandle);
  close(events[0]);
  close(events[1]);
  close(homeHandle);
  return {pid, kj::mv(pair.first)};
}

Broker::Broker(Kernel kernel) : launched_(launch(kernel, world)), launcherPid(launched_.pid) {
  line = kj::heap<rpc::Connection>(loop, kj::mv(launched_.line),
                                   rpc::ConnectionOptions{.role = rpc::Role::kClient});
  launcher = line->bootstrapAs<schema::Launcher>();
}

void Broker::closeLine() {
  launcher = nullptr;
  line = nullptr;
}

Broker::~Broker() {
  closeLine();
  if (launcherPid > 0) waitpid(launcherPid, nullptr, 0);
}

Broker::PreparedAnswer Broker::prepare(const CommandLine& command) {
  PreparedAnswer answer;
  auto open = launcher.startSessionRequest();
  open.initScope().setWorkspace(world.workspace.c_str());
  auto opened = wait(open.send().then([](auto&& response) { return kj::mv(response); }));
  if (opened.hasDenial()) {
    answer.denial = denialText(opened.getDenial());
    return answer;
  }
  answer.session = opened.getSession();
  answer.worker = opened.getWorker();
  auto request = answer.session.prepareRequest();
  fill(request.initCommand(), command, world.scratch);
  auto response = wait(request.send().then([](auto&& got) { return kj::mv(got); }));
  if (response.hasDenial()) {
    answer.denial = denialText(response.getDenial());
    return answer;
  }
  const auto prepared = response.getPrepared();
  answer.program = prepared.getProgram();
  answer.label = prepared.getProgramLabel();
  answer.interactive = prepared.getInteractive();
  for (const auto digest : prepared.getDigests())
    answer.digests.emplace_back(digest.getLabel(), hex(digest.getSha()));
  return answer;
}

Broker::PtyWorker Broker::startPty() {
  PtyWorker worker;
  rpc::SocketPair pair = rpc::socketPair();
  auto request = launcher.startRequest();
  request.setRole(schema::Role::PTY);
  request.setLine(rpc::carryDescriptor<schema::Descriptor>(kj::mv(pair.second)));
  auto response = wait(request.send().then([](auto&& got) { return kj::mv(got); }));
  if (response.hasDenial()) {
    ADD_FAILURE() << "pty: " << denialText(response.getDenial());
    return worker;
  }
  worker.worker = response.getWorker();
  worker.line =
      kj::heap<rpc::Connection>(loop, kj::mv(pair.first), rpc::ConnectionOptions{.role = rpc::Role::kClient});
  worker.pty = worker.line->bootstrapAs<schema::Pty>();
  return worker;
}

struct Running::Drained {
  std::string output;
  std::uint64_t told = 0;
  bool over = false;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> changed;

  void change() {
    FACTIONOS_IF_SOME(fulfiller, changed) {
      fulfiller->fulfill();
    }
    changed = rpc::kNone;
  }
  kj::Promise<void> whenChanged() {
    auto pair = kj::newPromiseAndFulfiller<void>();
    changed = kj::mv(pair.fulfiller);
    return kj::mv(pair.promise);
  }
};

class Sink final : public schema::OutputSink::Server {
 public:
  explicit Sink(std::shared_ptr<Running::Drained> drained) : drained_(std::move(drained)) {}

  kj::Promise<void> write(WriteContext context) override {
    const auto bytes = context.getParams().getBytes();
    EXPECT_LE(bytes.size(), 65536U);
    drained_->output.append(bytes.asChars().begin(), bytes.size());
    drained_->change();
    return kj::READY_NOW;
  }
  kj::Promise<void> end(EndContext context) override {
    drained_->told = context.getParams().getTotalBytes();
    drained_->over = true;
    drained_->change();
    return kj::READY_NOW;
  }

 private:
  std::shared_ptr<Running::Drained> drained_;
};

Running::Running(Broker& broker, const CommandLine& command, schema::Limits::Reader limits)
    : broker_(broker), drained_(std::make_shared<Drained>()) {
  Broker::PreparedAnswer prepared = broker.prepare(command);
  result.denial = prepared.denial;
  session = kj::mv(prepared.session);
  sessionWorker = kj::mv(prepared.worker);
  if (!started()) return;

  auto request = session.startRequest();
  request.initWindow().setCols(80);
  request.getWindow().setRows(24);
  request.setLimits(limits);
  auto response = broker.wait(request.send().then([](auto&& got) { return kj::mv(got); }));
  if (response.hasDenial()) {
    result.denial = denialText(response.getDenial());
    return;
  }
  for (const auto label : response.getPosture()) result.posture.emplace_back(label.cStr());

  Broker::PtyWorker worker = broker.startPty();
  ptyWorker = kj::mv(worker.worker);
  ptyLine = kj::mv(worker.line);
  auto attach = worker.pty.attachRequest();
  attach.setMaster(response.getMaster());
  attach.setSink(kj::heap<Sink>(drained_));
  auto attached = broker.wait(attach.send().then([](auto&& got) { return kj::mv(got); }));
  if (attached.hasDenial()) {
    result.denial = denialText(attached.getDenial());
    return;
  }
  terminal = attached.getTerminal();
}

const std::string& Running::output() const {
  return drained_->output;
}

void Running::expectOutput(const std::string& text) {
  while (drained_->output.find(text) == std::string::npos) {
    if (drained_->over) {
      FAIL() << "ended without printing " << text << "; printed: " << drained_->output;
    }
    try {
      broker_.wait(drained_->whenChanged());
    } catch (const kj::Exception&) {
      FAIL() << "did not print " << text << "; printed: " << drained_->output;
    }
  }
}

std::string Running::input(const std::string& data) {
  auto request = KJ_ASSERT_NONNULL(terminal).inputRequest();
  request.setData(kj::arrayPtr(reinterpret_cast<const kj::byte*>(data.data()), data.size()));
  auto response = broker_.wait(request.send().then([](auto&& got) { return kj::mv(got); }));
  inputTarget = response.getDenial().getTarget();
  return response.getDenial().getCode();
}

std::string Running::resize(std::uint16_t columns, std::uint16_t rows) {
  auto request = KJ_ASSERT_NONNULL(terminal).resizeRequest();
  request.setCols(columns);
  request.setRows(rows);
  return broker_.wait(request.send().then([](auto&& got) { return std::string(got.getDenial().getCode()); }));
}

std::string Running::signal(int number) {
  auto request = session.signalRequest();
  request.setNumber(static_cast<std::uint8_t>(number));
  return broker_.wait(request.send().then([](auto&& got) { return std::string(got.getDenial().getCode()); }));
}

void Running::kill() {
  broker_.wait(session.killRequest().send().ignoreResult());
}

Result& Running::finish() {
  if (!started()) return result;
  auto response = broker_.wait(session.exitedRequest().send().then([](auto&& got) { return kj::mv(got); }));
  const auto exit = response.getExit();
  if (exit.isCode()) result.code = exit.getCode();
  if (exit.isSignal()) result.signal = exit.getSignal();
  result.reason = response.getReason();
  for (const auto row : response.getDenials())
    result.denials[kj::str(row.getOperation(), " ", row.getTarget(), " ", row.getSource()).cStr()] =
        row.getCount();
  result.maxRssBytes = response.getUsage().getMaxRssBytes();
  result.peakProcesses = response.getUsage().getPeakProcesses();
  while (!drained_->over) broker_.wait(drained_->whenChanged());
  result.output = drained_->output;
  result.toldBytes = drained_->told;
  return result;
}

void Running::drop() {
  session = nullptr;
  sessionWorker = rpc::kNone;
  terminal = rpc::kNone;
  ptyWorker = rpc::kNone;
  ptyLine = nullptr;
}

std::unique_ptr<Running> Broker::start(const CommandLine& command, schema::Limits::Reader limits) {
  return std::make_unique<Running>(*this, command, limits);
}

std::unique_ptr<Running> Broker::start(const CommandLine& command) {
  capnp::MallocMessageBuilder message;
  return start(command, message.initRoot<schema::Limits>().asReader());
}

Result Broker::run(const CommandLine& command) {
  return start(command)->finish();
}

std::vector<pid_t> childrenOf(pid_t parent) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::istringstream list(World::read(task.path().string() + "/children"));
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

std::string nameOf(pid_t pid) {
  std::string name = World::read("/proc/" + std::to_string(pid) + "/comm");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

namespace {
bool isZombie(pid_t pid) {
  const std::string status = World::read("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name = status.rfind(')');
  return name == std::string::npos || status[name + 2] == 'Z' || status[name + 2] == 'X';
}
}  // namespace

std::vector<pid_t> descendants() {
  std::vector<pid_t> found;
  std::vector<pid_t> open = childrenOf(getpid());
  std::erase(open, helperPid);
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    if (!isZombie(pid) && nameOf(pid) != sandbox::testing::kOldKernel) found.push_back(pid);
    for (const pid_t child : childrenOf(pid)) open.push_back(child);
  }
  return found;
}

void expectNothingAlive() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  std::vector<pid_t> left = descendants();
  while (!left.empty() && std::chrono::steady_clock::now() < end) {
    siginfo_t info{};
    waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    poll(nullptr, 0, 5);
    left = descendants();
  }
  std::string names;
  for (const pid_t pid : left) names += nameOf(pid) + " ";
  EXPECT_TRUE(left.empty()) << "still alive: " << names;
}

bool hasNamespaces() {
  static const bool has = [] {
    const pid_t child = fork();
    // Some systems grant the user namespace and refuse what it is for.
    if (child == 0)
      _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
                    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
                ? 0
                : 1);
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }();
  return has;
}

bool refusesConnections(std::uint16_t port) {
  const rpc::OwnFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

bool hasProgram(const std::string& name) {
  for (const char* directory : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {
    if (access((directory + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

bool lacks(const char* feature) {
  if (mustHaveAll()) {
    ADD_FAILURE() << "this machine must have " << feature;
    return false;
  }
  std::cerr << "skipped: this machine has no " << feature << "\n";
  return true;
}

std::string storyName(const testing::TestParamInfo<Story>& info) {
  return info.param == Story::kNamespaces ? "Namespaces" : "NoNamespaces";
}

}  // namespace factionos::test

int main(int argumentCount, char** arguments) {
  testing::InitGoogleTest(&argumentCount, arguments);
  factionos::test::becomeOrdinaryUser();
  return RUN_ALL_TESTS();
}
