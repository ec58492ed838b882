// The session's interface: all but start, which would execute what the fuzzer wrote.
#include <cstdlib>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

#include "protocol/rpc/descriptor.h"
#include "protocol/schemas/session.capnp.h"
#include "tests/fuzz/rpc_peer.h"
#include "tests/fuzz/scratch_folder.h"
#include "workers/session/service.h"

namespace {

using namespace factionos;

class AllButStart final : public schema::Session::Server {
 public:
  explicit AllButStart(int workspace) : service_(fuzz::loop(), {}, lastResort_), session_(open(workspace)) {}

  kj::Promise<void> prepare(PrepareContext context) override {
    auto request = session_.prepareRequest();
    request.setCommand(context.getParams().getCommand());
    return context.tailCall(kj::mv(request));
  }
  kj::Promise<void> start(StartContext) override { return kj::READY_NOW; }
  kj::Promise<void> exited(ExitedContext) override { return kj::READY_NOW; }
  kj::Promise<void> signal(SignalContext context) override {
    auto request = session_.signalRequest();
    request.setNumber(context.getParams().getNumber());
    return context.tailCall(kj::mv(request));
  }
  kj::Promise<void> kill(KillContext context) override { return context.tailCall(session_.killRequest()); }
  kj::Promise<void> denials(DenialsContext context) override {
    return context.tailCall(session_.denialsRequest());
  }

 private:
  schema::Session::Client open(int workspace) {
    auto request = service_.capability().openRequest();
    request.setWorkspace(
        rpc::carryDescriptor<schema::Descriptor>(rpc::OwnFd(fcntl(workspace, F_DUPFD_CLOEXEC, 0))));
    return request.send().getSession();
  }

  session::LastResort lastResort_{std::nullopt};
  session::Service service_;
  schema::Session::Client session_;
};

bool writeScript(const std::string& path) {
  std::ofstream file(path);
  file << "#!/usr/bin/env -S sh -e\ntrue\n";
  file.close();
  return file.good() && chmod(path.c_str(), 0700) == 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const rpc::QuietKj quiet;
  static const fuzz::ScratchFolder folder;
  static const bool written = writeScript(folder.path() + "/script");
  if (!written) std::abort();
  static const int workspace = open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  static auto& plan = *new fuzz::Peer::Plan{
      .interfaces = {capnp::Schema::from<schema::Session>()},
      .texts = {"true", "/bin/sh", "-c", "env", "../x", "./script"},
      .named = {{"shell", {"true"}},
                {"programPaths", {"/usr/bin", "/etc", "not-absolute"}},
                {"readPaths", {"/usr/share", folder.path()}},
                {"environment", {"LANG=C", "LD_PRELOAD=x", "=", "A"}},
                {"scratch", {folder.path()}},
                // What a digest, a shebang and an interpreter's operand are read from.
                {"argv", {"true", "/bin/sh", "sh", "env", "-c", "-S", "./script", "script", "dash", "--"}}}};
  fuzz::run(plan, data, size, {.role = rpc::Role::kServer},
            []() -> capnp::Capability::Client { return kj::heap<AllButStart>(workspace); });
  return 0;
}
