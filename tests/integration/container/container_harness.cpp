#include "container_harness.h"

#include <cstdio>

#include <unistd.h>

#include <capnp/message.h>
#include <kj/debug.h>

#include "protocol/rpc/descriptor.h"
#include "protocol/text.h"

namespace factionos::test {
namespace {

class Sink final : public schema::ContainerSink::Server {
 public:
  Sink(kj::Timer& timer, std::shared_ptr<Heard> heard) : timer_(timer), heard_(std::move(heard)) {}

  kj::Promise<void> write(WriteContext context) override {
    const auto params = context.getParams();
    const auto bytes = params.getBytes();
    std::string& to = params.getStream() == schema::OutputStream::STDERR ? heard_->errors : heard_->out;
    to.append(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
    heard_->dropped += params.getDropped();
    EXPECT_LE(bytes.size(), 65536U);
    if (heard_->pace == 0 * kj::SECONDS) return kj::READY_NOW;
    return timer_.afterDelay(heard_->pace);
  }
  kj::Promise<void> end(EndContext context) override {
    heard_->totalBytes = context.getParams().getTotalBytes();
    heard_->droppedBytes = context.getParams().getDroppedBytes();
    EXPECT_FALSE(heard_->ended);
    heard_->ended = true;
    return kj::READY_NOW;
  }

 private:
  kj::Timer& timer_;
  std::shared_ptr<Heard> heard_;
};

const char* nameOf(schema::ContainerEnd end) {
  constexpr const char* kNames[] = {"unspecified",   "exited",      "killed", "timed_out",
                                    "out_of_memory", "not_started", "lost"};
  return kNames[static_cast<int>(end)];
}

}  // namespace

void fill(schema::ContainerSpec::Builder out, const RunSpec& spec) {
  static int count = 0;
  out.setTemplate("test.template");
  out.setImage(spec.image.c_str());
  if (!spec.imageId.empty()) out.setImageId(spec.imageId.c_str());
  auto argv = out.initArgv(static_cast<unsigned>(spec.argv.size()));
  for (unsigned i = 0; i < argv.size(); ++i) argv.set(i, {spec.argv[i].data(), spec.argv[i].size()});
  out.setUser(getuid());
  out.setGroup(getgid());
  auto limits = out.initLimits();
  limits.setMemoryBytes(spec.memoryBytes);
  limits.setMilliCpus(500);
  limits.setPids(spec.pids);
  limits.setOpenFiles(256);
  limits.setTemporaryBytes(1 << 20);
  limits.setTimeoutMs(spec.timeoutMs);
  limits.setGraceMs(spec.graceMs);
  const unsigned mounts = (spec.workspace.empty() ? 0U : 1U) + (spec.auth.empty() ? 0U : 1U);
  auto list = out.initMounts(mounts);
  unsigned next = 0;
  if (!spec.workspace.empty()) {
    list[next].setRole(schema::MountRole::WORKSPACE);
    list[next].setSource(spec.workspace.c_str());
    list[next++].setAccess(spec.writable ? schema::MountAccess::WRITE : schema::MountAccess::READ);
  }
  if (!spec.auth.empty()) {
    list[next].setRole(schema::MountRole::AUTH);
    list[next].setSource(spec.auth.c_str());
    list[next].setAccess(schema::MountAccess::WRITE);  // which is not given
  }
  out.setNetwork(spec.network);
  auto owner = out.initOwner();
  owner.setInstance(spec.instance.c_str());
  owner.setRun("run_of_a_test");
  if (spec.action.empty()) {
    owner.setAction(("act_" + std::to_string(getpid()) + "-" + std::to_string(++count)).c_str());
  } else {
    owner.setAction(spec.action.c_str());
  }
  owner.setPid(static_cast<std::uint32_t>(getpid()));
  owner.setStartTime(12345);
  owner.setProof(spec.proof.c_str());
}

std::string text(schema::ContainerOutcome::Reader outcome) {
  std::string text = nameOf(outcome.getEnd());
  if (outcome.hasDenial()) text += "/" + std::string(view(outcome.getDenial().getCode()));
  return text;
}

bool EngineRun::started() {
  auto request = KJ_ASSERT_NONNULL(run).startedRequest();
  return broker_->wait(request.send().then([](auto&& response) { return response.getStarted(); }));
}

void EngineRun::kill() {
  broker_->wait(KJ_ASSERT_NONNULL(run).killRequest().send().ignoreResult());
}

schema::ContainerOutcome::Reader EngineRun::end() {
  auto request = KJ_ASSERT_NONNULL(run).endedRequest();
  outcome_ = broker_->wait(request.send().then([](auto&& response) { return kj::mv(response); }));
  EXPECT_TRUE(heard->ended) << "the sink is told before";
  return KJ_ASSERT_NONNULL(outcome_).getOutcome();
}

EngineWorker::EngineWorker(Broker& broker, const std::string& socket, schema::EngineKind engine)
    : broker_(broker) {
  auto set = broker.launcher.setEnginesRequest();
  auto list = set.initEngines(1);
  list[0].setEngine(engine);
  list[0].setPath(socket.c_str());
  const auto fixed = call(set);  // denied to the second worker of a launcher: the path is the first one's

  rpc::SocketPair pair = rpc::socketPair();
  auto start = broker.launcher.startRequest();
  start.setRole(schema::Role::CONTAINER);
  start.setLine(rpc::carryDescriptor<schema::Descriptor>(kj::mv(pair.second)));
  auto started = call(start);
  denial = denialText(started.getDenial());
  if (!denial.empty()) return;
  process = started.getWorker();
  line_ = kj::heap<rpc::Connection>(broker.loop, kj::mv(pair.first),
                                    rpc::ConnectionOptions{.role = rpc::Role::kClient});
  auto connector = broker.launcher.engineRequest();
  connector.setEngine(engine);
  auto opening = line_->bootstrapAs<schema::Container>().openRequest();
  opening.setConnector(call(connector).getConnector());
  opening.setEngine(engine);
  auto opened = call(opening);
  denial = denialText(opened.getDenial());
  if (denial.empty()) containers = opened.getContainers();
}

EngineRun EngineWorker::start(const RunSpec& spec) {
  EngineRun started;
  started.broker_ = &broker_;
  auto request = containers.runRequest();
  fill(request.initSpec(), spec);
  request.setSink(kj::heap<Sink>(broker_.loop.timer(), started.heard));
  auto response = call(request);
  started.denial = denialText(response.getDenial());
  if (started.denial.empty()) started.run = response.getRun();
  return started;
}

EngineRun EngineWorker::run(const RunSpec& spec) {
  EngineRun started = start(spec);
  if (started.denial.empty()) started.end();
  return started;
}

std::string EngineWorker::settle(const RunSpec& spec, std::uint32_t graceMs) {
  auto request = containers.settleRequest();
  capnp::MallocMessageBuilder message;
  auto whole = message.initRoot<schema::ContainerSpec>();
  fill(whole, spec);
  request.setOwner(whole.getOwner());
  request.setGraceMs(graceMs);
  auto response = call(request);
  if (response.hasDenial()) return denialText(response.getDenial());
  constexpr const char* kNames[] = {"unspecified", "absent", "removed", "foreign", "left"};
  return kNames[static_cast<int>(response.getSettlement())];
}

std::size_t EngineWorker::count(const std::string& instance) {
  auto request = containers.listRequest();
  request.setInstance(instance.c_str());
  auto response = call(request);
  EXPECT_EQ(denialText(response.getDenial()), "");
  return response.getContainers().size();
}

void EngineWorker::killWorker() {
  broker_.wait(KJ_ASSERT_NONNULL(process).killRequest().send().ignoreResult());
  containers = nullptr;
}

}  // namespace factionos::test
