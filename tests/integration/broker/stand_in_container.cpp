// A container worker without an engine, for tests of the broker: a container is a file, its program a script
// of one word, so that every end that an engine can bring about is brought about at will. Lies where the real
// worker would and speaks its interface.
//
// State: /tmp/factionos-stand-in-UID/TAG/, TAG being the image's; a file ACTION for each container, the file
// image-id for what the image is by now, the file effects with a line for each start. A file
// die-at-probe ends the worker that is asked next, once.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <unistd.h>

#include <capnp/message.h>
#include <capnp/schema.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "protocol/schemas/container.capnp.h"
#include "workers/common/descriptors.h"
#include "workers/common/lifetime.h"

namespace {

using namespace factionos;
namespace fs = std::filesystem;

const fs::path& root() {
  static const fs::path path = "/tmp/factionos-stand-in-" + std::to_string(getuid());
  return path;
}

fs::path folderOf(capnp::Text::Reader image) {
  const std::string text(image.cStr());
  auto path = root() / text.substr(text.find(':') + 1);
  fs::create_directories(path);
  return path;
}

std::string firstLine(const fs::path& file, const std::string& otherwise) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) ? line : otherwise;
}

std::string imageIdIn(const fs::path& folder) {
  return firstLine(folder / "image-id", "sha256:" + std::string(64, '0'));
}

// Labels as an engine keeps them: "name value" lines.
std::map<std::string, std::string> labelsOf(const fs::path& file) {
  std::map<std::string, std::string> labels;
  std::ifstream in(file);
  for (std::string name, value; in >> name >> value;) labels[name] = value;
  return labels;
}

void writeLabels(const fs::path& file, schema::ContainerOwner::Reader owner, const std::string& state) {
  std::ofstream(file) << "instance " << owner.getInstance().cStr() << "\nrun " << owner.getRun().cStr()
                      << "\naction " << owner.getAction().cStr() << "\nproof " << owner.getProof().cStr()
                      << "\nstate " << state << "\n";
}

using Outcome = capnp::MallocMessageBuilder;

struct Script {
  std::string word;
  std::vector<std::string> rest;
  std::string joined() const {
    std::string text;
    for (const auto& each : rest) text += (text.empty() ? "" : " ") + each;
    return text;
  }
  std::uint64_t number() const { return rest.empty() ? 0 : std::stoull(rest.front()); }
};

// One container, from its file to its end.
class Run final : public kj::Refcounted {
 public:
  Run(kj::Timer& timer, schema::ContainerSpec::Reader spec, schema::ContainerSink::Client sink)
      : timer_(timer), sink_(kj::mv(sink)), folder_(folderOf(spec.getImage())) {
    file_ = folder_ / spec.getOwner().getAction().cStr();
    const auto argv = spec.getArgv();
    script_.word = argv.size() > 1 ? argv[1].cStr() : "echo";
    for (unsigned i = 2; i < argv.size(); ++i) script_.rest.emplace_back(argv[i].cStr());
    timeoutMs_ = spec.getLimits().getTimeoutMs();
    auto paf = kj::newPromiseAndFulfiller<void>();
    ended_ = paf.promise.fork();
    endedFulfiller_ = kj::mv(paf.fulfiller);
    auto killed = kj::newPromiseAndFulfiller<void>();
    killed_ = killed.promise.fork();
    kill_ = kj::mv(killed.fulfiller);
    auto outcome = outcome_.initRoot<schema::ContainerOutcome>();
    outcome.setEnd(schema::ContainerEnd::EXITED);
    outcome.setExitCode(0);
    outcome.setRemoval(schema::Removal::REMOVED);
    if (imageIdIn(folder_) != spec.getImageId().cStr())
      script_ = {.word = "not-started", .rest = {"image_changed"}};
    if (script_.word == "not-started") {
      outcome.setEnd(schema::ContainerEnd::NOT_STARTED);
      outcome.setExitCode(-1);
      outcome.initDenial().setCode(script_.joined().c_str());
      return;
    }
    writeLabels(file_, spec.getOwner(), "running");
    std::ofstream(folder_ / "effects", std::ios::app) << "started\n";
    for (const auto mount : spec.getMounts())
      std::ofstream(folder_ / "mounts", std::ios::app)
          << static_cast<int>(mount.getRole()) << ' ' << static_cast<int>(mount.getAccess()) << ' '
          << mount.getSource().cStr() << '\n';
  }

  bool starts() const { return script_.word != "not-started"; }
  kj::Promise<void> play() {
    auto timeout = timer_.afterDelay(timeoutMs_ * kj::MILLISECONDS).then([this]() {
      end(schema::ContainerEnd::TIMED_OUT, 137);
    });
    auto killed = killed_.addBranch().then([this]() { end(schema::ContainerEnd::KILLED, 137); });
    return act()
        .exclusiveJoin(kj::mv(timeout))
        .exclusiveJoin(kj::mv(killed))
        .then([this]() { return finish(); })
        .then([this]() { endedFulfiller_->fulfill(); });
  }
  void kill() { kill_->fulfill(); }
  kj::Promise<void> whenEnded() { return ended_.addBranch(); }
  schema::ContainerOutcome::Reader outcome() {
    return outcome_.getRoot<schema::ContainerOutcome>().asReader();
  }

 private:
  void end(schema::ContainerEnd how, std::int32_t code) {
    auto outcome = outcome_.getRoot<schema::ContainerOutcome>();
    outcome.setEnd(how);
    outcome.setExitCode(code);
  }
  kj::Promise<void> act() {
    auto outcome = outcome_.getRoot<schema::ContainerOutcome>();
    const auto& word = script_.word;
    if (word == "echo") return write(schema::OutputStream::STDOUT, script_.joined() + "\n");
    if (word == "complain") return write(schema::OutputStream::STDERR, script_.joined() + "\n");
    if (word == "exit") outcome.setExitCode(static_cast<std::int32_t>(script_.number()));
    if (word == "processes") {
      outcome.setExitCode(1);
      outcome.setPidsReached(true);
    }
    if (word == "memory") end(schema::ContainerEnd::OUT_OF_MEMORY, 137);
    if (word == "lost") end(schema::ContainerEnd::LOST, -1);
    if (word == "garbled") outcome.initDenial().setCode("output_unreadable");
    if (word == "left") outcome.setRemoval(schema::Removal::LEFT);
    if (word == "bad-outcome") outcome.setExitCode(999);
    if (word == "bad-stream") return write(static_cast<schema::OutputStream>(9), "x");
    if (word == "bad-chunk") return write(schema::OutputStream::STDOUT, std::string(64 * 1024 + 1, 'x'));
    if (word == "bad-call") return call(capnp::typeId<schema::ContainerSink>(), 2);
    if (word == "bad-interface") return call(capnp::typeId<schema::ContainerRun>(), 0);
    if (word == "die") ::kill(getpid(), SIGKILL);
    if (word == "gap") return gap();
    if (word == "flood") return flood(script_.number());
    if (word == "sleep") return timer_.afterDelay(script_.number() * kj::MILLISECONDS);
    return kj::READY_NOW;
  }
  // Which its sink does not have.
  kj::Promise<void> call(std::uint64_t interfaceId, std::uint16_t method) {
    auto request = capnp::Capability::Client(sink_).typelessRequest(interfaceId, method, rpc::kNone);
    return request.send().ignoreResult().catch_([](kj::Exception&&) {});
  }
  // As the real worker tells what it had to drop.
  kj::Promise<void> gap() {
    return write(schema::OutputStream::STDOUT, "before ghp_abcd").then([this]() {
      return write(schema::OutputStream::STDOUT, "mnopqrstuvwxyz0123456789\nand on\n", 8);
    });
  }
  kj::Promise<void> flood(std::uint64_t left) {
    if (left == 0) return kj::READY_NOW;
    const auto now = std::min<std::uint64_t>(left, 64 * 1024);
    return write(schema::OutputStream::STDOUT, std::string(now - 1, 'y') + "\n").then([this, left, now]() {
      return flood(left - now);
    });
  }
  kj::Promise<void> write(schema::OutputStream stream, const std::string& text, std::uint64_t dropped = 0) {
    total_ += text.size() + dropped;
    dropped_ += dropped;
    auto call = sink_.writeRequest();
    call.setStream(stream);
    call.setDropped(dropped);
    call.setBytes({reinterpret_cast<const kj::byte*>(text.data()), text.size()});
    return kj::Promise<void>(call.send());
  }
  kj::Promise<void> finish() {
    if (script_.word != "left" && script_.word != "lost") remove();
    auto call = sink_.endRequest();
    call.setTotalBytes(total_);
    call.setDroppedBytes(dropped_);
    return call.send().ignoreResult();
  }
  void remove() {
    std::error_code ignored;
    if (script_.word != "left" && script_.word != "lost") fs::remove(file_, ignored);
  }

  kj::Timer& timer_;
  schema::ContainerSink::Client sink_;
  fs::path folder_;
  fs::path file_;
  Script script_;
  std::uint64_t timeoutMs_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t dropped_ = 0;
  Outcome outcome_;
  kj::ForkedPromise<void> ended_ = nullptr;
  kj::Own<kj::PromiseFulfiller<void>> endedFulfiller_;
  kj::ForkedPromise<void> killed_ = nullptr;
  kj::Own<kj::PromiseFulfiller<void>> kill_;
};

class RunServer final : public schema::ContainerRun::Server {
 public:
  explicit RunServer(kj::Own<Run> run) : run_(kj::mv(run)), playing_(nullptr) {
    playing_ = run_->play().eagerlyEvaluate(nullptr);
  }
  kj::Promise<void> started(StartedContext context) override {
    context.getResults().setStarted(run_->starts());
    return kj::READY_NOW;
  }
  kj::Promise<void> ended(EndedContext context) override {
    return run_->whenEnded().then(
        [this, context]() mutable { context.getResults().setOutcome(run_->outcome()); });
  }
  kj::Promise<void> kill(KillContext) override {
    run_->kill();
    return kj::READY_NOW;
  }

 private:
  kj::Own<Run> run_;
  kj::Promise<void> playing_;
};

class ContainersServer final : public schema::Containers::Server {
 public:
  explicit ContainersServer(kj::Timer& timer) : timer_(timer) {}

  kj::Promise<void> probe(ProbeContext context) override {
    const auto image = context.getParams().getImage();
    const auto folder = folderOf(image);
    if (fs::remove(folder / "die-at-probe")) ::kill(getpid(), SIGKILL);
    const std::string name(image.cStr());
    auto probe = context.getResults().initProbe();
    const auto set = [](schema::Probe::Builder gate, bool there, const char* reason) {
      gate.setStatus(there ? schema::Posture::AVAILABLE : schema::Posture::UNAVAILABLE);
      if (!there) gate.setReason(reason);
    };
    const bool down = fs::exists(folder / "down");
    const bool image_there = !down && !name.starts_with("missing");
    set(probe.initEngine(), !down, "engine_unreachable");
    set(probe.initIsolation(), !down, "seccomp_missing");
    set(probe.initImage(), image_there, "image_missing");
    set(probe.initBrowserDependencies(), false, "label_missing");
    set(probe.initEgress(), fs::exists(folder / "egress"), "network_missing");
    set(probe.initCleanup(), !down, "engine_unreachable");
    probe.setKind(schema::EngineKind::DOCKER);
    probe.setRootless(true);
    probe.setApiVersion("1.41");
    auto providers = probe.initImageProviders(1);
    providers.set(0, "claude");
    if (image_there) probe.setImageId(imageIdIn(folder).c_str());
    return kj::READY_NOW;
  }

  kj::Promise<void> run(RunContext context) override {
    const auto params = context.getParams();
    auto run = kj::refcounted<Run>(timer_, params.getSpec(), params.getSink());
    context.getResults().setRun(kj::heap<RunServer>(kj::mv(run)));
    return kj::READY_NOW;
  }

  kj::Promise<void> list(ListContext context) override {
    std::vector<fs::path> files;
    for (const auto& file : all()) {
      if (labelsOf(file)["instance"] == context.getParams().getInstance().cStr()) files.push_back(file);
    }
    auto list = context.getResults().initContainers(static_cast<unsigned>(files.size()));
    for (unsigned i = 0; i < list.size(); ++i) fill(files[i], list[i]);
    return kj::READY_NOW;
  }

  kj::Promise<void> settle(SettleContext context) override {
    const auto owner = context.getParams().getOwner();
    context.getResults().setSettlement(schema::Settlement::ABSENT);
    for (const auto& file : all()) {
      if (file.filename() != owner.getAction().cStr()) continue;
      auto labels = labelsOf(file);
      const bool ours =
          labels["instance"] == owner.getInstance().cStr() && labels["proof"] == owner.getProof().cStr();
      context.getResults().setSettlement(ours ? schema::Settlement::REMOVED : schema::Settlement::FOREIGN);
      if (!ours) continue;
      fill(file, context.getResults().initFound());
      fs::remove(file);
    }
    return kj::READY_NOW;
  }

 private:
  static std::vector<fs::path> all() {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& folder : fs::directory_iterator(root(), ignored)) {
      for (const auto& file : fs::directory_iterator(folder, ignored)) {
        if (file.path().filename().string().starts_with("act_")) files.push_back(file.path());
      }
    }
    return files;
  }
  static void fill(const fs::path& file, schema::FoundContainer::Builder found) {
    auto labels = labelsOf(file);
    auto owner = found.initOwner();
    owner.setInstance(labels["instance"].c_str());
    owner.setRun(labels["run"].c_str());
    owner.setAction(labels["action"].c_str());
    owner.setProof(labels["proof"].c_str());
    const bool ended = labels["state"] == "ended";
    found.setState(ended ? schema::ContainerState::ENDED : schema::ContainerState::RUNNING);
    if (const auto& exit = labels["exit"]; !exit.empty()) found.setExitCode(std::stoi(exit));
  }
  kj::Timer& timer_;
};

class ContainerServer final : public schema::Container::Server {
 public:
  explicit ContainerServer(kj::Timer& timer) : timer_(timer) {}
  kj::Promise<void> open(OpenContext context) override {
    context.getResults().setContainers(kj::heap<ContainersServer>(timer_));
    return kj::READY_NOW;
  }

 private:
  kj::Timer& timer_;
};

}  // namespace

int main() {
  std::signal(SIGPIPE, SIG_IGN);
  rpc::Loop loop;
  rpc::Connection connection(loop, rpc::OwnFd(worker::kLine), {.role = rpc::Role::kServer},
                             capnp::Capability::Client(kj::heap<ContainerServer>(loop.timer())));
  worker::serveUntilGone(loop, connection);
  return 0;
}
