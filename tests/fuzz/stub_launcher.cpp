#include "tests/fuzz/stub_launcher.h"

#include <csignal>

#include <fcntl.h>

#include <kj/refcount.h>
#include <kj/vector.h>

#include "protocol/rpc/compat.h"
#include "protocol/schemas/launcher.capnp.h"
#include "protocol/schemas/pty.capnp.h"
#include "protocol/schemas/session.capnp.h"
#include "tests/fuzz/rpc_peer.h"

namespace factionos::fuzz {
namespace {

// One run, as its session and its worker know it.
struct Run final : public kj::Refcounted {
  Run() : killed(nullptr) {
    auto paf = kj::newPromiseAndFulfiller<void>();
    kill = kj::mv(paf.fulfiller);
    killed = paf.promise.fork();
  }
  kj::Own<kj::PromiseFulfiller<void>> kill;
  kj::ForkedPromise<void> killed;
};

class Session final : public schema::Session::Server {
 public:
  explicit Session(kj::Own<Run> run) : run_(kj::mv(run)) {}

  kj::Promise<void> prepare(PrepareContext context) override {
    auto prepared = context.getResults().initPrepared();
    prepared.setProgram(context.getParams().getCommand().hasShell() ? "sh" : "/usr/bin/true");
    prepared.setProgramLabel("true");
    auto digest = prepared.initDigests(1)[0];
    digest.setLabel("program");
    digest.initSha(32);
    return kj::READY_NOW;
  }
  kj::Promise<void> start(StartContext context) override {
    auto results = context.getResults();
    results.setMaster(
        rpc::carryDescriptor<schema::Descriptor>(rpc::OwnFd(open("/dev/null", O_RDWR | O_CLOEXEC))));
    auto posture = results.initPosture(2);
    posture.set(0, "proc_shared");
    posture.set(1, "metadata:unguarded");
    return kj::READY_NOW;
  }
  kj::Promise<void> exited(ExitedContext context) override {
    rpc::allowCancellation(context);
    return run_->killed.addBranch().then(
        [context]() mutable { context.getResults().initExit().setSignal(SIGKILL); });
  }
  kj::Promise<void> signal(SignalContext) override { return kj::READY_NOW; }
  kj::Promise<void> kill(KillContext) override {
    run_->kill->fulfill();
    return kj::READY_NOW;
  }

 private:
  kj::Own<Run> run_;
};

class Worker final : public schema::Worker::Server {
 public:
  explicit Worker(kj::Own<Run> run) : run_(kj::mv(run)) {}

  kj::Promise<void> kill(KillContext) override {
    run_->kill->fulfill();
    return kj::READY_NOW;
  }
  kj::Promise<void> exited(ExitedContext context) override {
    rpc::allowCancellation(context);
    return run_->killed.addBranch().then(
        [context]() mutable { context.getResults().initExit().setSignal(SIGKILL); });
  }

 private:
  kj::Own<Run> run_;
};

class Terminal final : public schema::Terminal::Server {
  kj::Promise<void> input(InputContext) override { return kj::READY_NOW; }
  kj::Promise<void> resize(ResizeContext) override { return kj::READY_NOW; }
};

class Pty final : public schema::Pty::Server {
  kj::Promise<void> attach(AttachContext context) override {
    context.getResults().setTerminal(kj::heap<Terminal>());
    static constexpr kj::StringPtr kLine = "a line of output\r\n"_kj;
    auto sink = context.getParams().getSink();
    auto write = sink.writeRequest();
    write.setBytes(kLine.asBytes());
    return write.send().then([sink]() mutable {
      auto end = sink.endRequest();
      end.setTotalBytes(kLine.size());
      return end.send().ignoreResult();
    });
  }
};

class Launcher final : public schema::Launcher::Server {
  kj::Promise<void> start(StartContext context) override {
    if (context.getParams().getRole() != schema::Role::PTY) {
      context.getResults().initDenial().setCode("role_unknown");
      return kj::READY_NOW;
    }
    return rpc::takeDescriptor(context.getParams().getLine()).then([this, context](rpc::OwnFd line) mutable {
      workers_.add(kj::heap<rpc::Connection>(
          loop(), kj::mv(line), rpc::ConnectionOptions{.role = rpc::Role::kServer, .maxFdsPerMessage = 1},
          capnp::Capability::Client(kj::heap<Pty>())));
      context.getResults().setWorker(kj::heap<Worker>(kj::refcounted<Run>()));
    });
  }
  kj::Promise<void> startSession(StartSessionContext context) override {
    auto run = kj::refcounted<Run>();
    context.getResults().setWorker(kj::heap<Worker>(kj::addRef(*run)));
    context.getResults().setSession(kj::heap<Session>(kj::mv(run)));
    return kj::READY_NOW;
  }

  kj::Vector<kj::Own<rpc::Connection>> workers_;
};

}  // namespace

StubLauncher::StubLauncher() {
  auto pair = rpc::socketPair();
  brokerEnd_ = kj::mv(pair.first);
  line_ = kj::heap<rpc::Connection>(loop(), kj::mv(pair.second),
                                    rpc::ConnectionOptions{.role = rpc::Role::kServer, .maxFdsPerMessage = 4},
                                    capnp::Capability::Client(kj::heap<Launcher>()));
}

}  // namespace factionos::fuzz
