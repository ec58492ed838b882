#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <capnp/message.h>

#include "harness_parts.h"
#include "protocol/rpc/deadline.h"
#include "protocol/rpc/descriptor.h"

namespace factionos::test {
namespace {

// What factionosd does: the line on 3, events on 4, the home on 5, and nothing else.
[[noreturn]] void becomeLauncher(Kernel kernel, int line, int events, int home) {
  takeAway(kernel);
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

}  // namespace

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

}  // namespace factionos::test

int main(int argumentCount, char** arguments) {
  testing::InitGoogleTest(&argumentCount, arguments);
  factionos::test::becomeOrdinaryUser();
  return RUN_ALL_TESTS();
}
