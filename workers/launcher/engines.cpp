#include "workers/launcher/engines.h"

#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "protocol/rpc/descriptor.h"
#include "sandbox/descriptors.h"
#include "sandbox/errno_name.h"

namespace factionos::launcher {
namespace {

// A run takes about eight, one a request: no request of a run waits behind another, or finds a line that has
// gone stale.
constexpr unsigned kConnectsPerSecond = 1000;

struct Connected {
  rpc::OwnFd socket;
  int error = 0;
};

// By descriptor, so that what was judged is what is connected. Whoever may put a socket there could give us
// an engine of his own; so only root's and our own count.
Connected connectTo(const std::string& path) {
  const sandbox::Fd file(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!file) return {nullptr, errno};
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return {nullptr, errno};
  if (!S_ISSOCK(status.st_mode)) return {nullptr, ENOTSOCK};
  if (status.st_uid != 0 && status.st_uid != getuid()) return {nullptr, EACCES};
  rpc::OwnFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return {nullptr, errno};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string again = "/proc/self/fd/" + std::to_string(file.get());
  again.copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {nullptr, errno};
  return {kj::mv(socket), 0};
}

class Connector final : public schema::EngineConnector::Server {
 public:
  Connector(kj::Timer& timer, std::string path)
      : timer_(timer), path_(std::move(path)), second_(timer.now()) {}

  kj::Promise<void> connect(ConnectContext context) override {
    auto results = context.getResults();
    if (timer_.now() - second_ >= 1 * kj::SECONDS) {
      second_ = timer_.now();
      count_ = 0;
    }
    if (++count_ > kConnectsPerSecond) {
      auto denial = results.initDenial();
      denial.setCode("too_many_connections");
      denial.setRule("connects_1000_a_second");
      return kj::READY_NOW;
    }
    Connected made = connectTo(path_);
    if (made.error == 0) {
      results.setSocket(rpc::carryDescriptor<schema::Descriptor>(kj::mv(made.socket)));
      return kj::READY_NOW;
    }
    const std::string_view name = sandbox::errnoName(made.error);
    auto denial = results.initDenial();
    denial.setCode("engine_unreachable");
    denial.setRule(kj::heapString(name.data(), name.size()));
    return kj::READY_NOW;
  }

 private:
  kj::Timer& timer_;
  const std::string path_;
  kj::TimePoint second_;
  unsigned count_ = 0;
};

// `most`: with the end of a text.
bool isPath(const std::string& text, std::size_t most) {
  return text.starts_with('/') && text.size() < most && text.find('\0') == text.npos;
}

bool isKnown(schema::EngineKind engine) {
  return engine == schema::EngineKind::DOCKER || engine == schema::EngineKind::PODMAN;
}

}  // namespace

const char* Engines::set(capnp::List<schema::EngineSocket>::Reader engines,
                         capnp::Text::Reader appleProgram) {
  if (state_ == State::kFixed) return "engines_fixed";
  std::map<schema::EngineKind, std::string> paths;
  for (const auto engine : engines) {
    const std::string path(engine.getPath().begin(), engine.getPath().size());
    if (!isPath(path, sizeof(sockaddr_un::sun_path)) || !isKnown(engine.getEngine()) ||
        !paths.emplace(engine.getEngine(), path).second)
      return "engine_invalid";
  }
  std::string program(appleProgram.begin(), appleProgram.size());
  if (!program.empty() && !isPath(program, PATH_MAX)) return "engine_invalid";
  paths_ = std::move(paths);
  appleProgram_ = std::move(program);
  fix();
  return nullptr;
}

kj::Maybe<schema::EngineConnector::Client> Engines::connector(schema::EngineKind engine) const {
  const auto path = paths_.find(engine);
  if (path == paths_.end()) return rpc::kNone;
  return schema::EngineConnector::Client(kj::heap<Connector>(timer_, path->second));
}

}  // namespace factionos::launcher
