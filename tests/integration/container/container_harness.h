// Plays the broker to a container worker: the real launcher, the real worker under its real profile, and
// whichever engine listens at a path.
#pragma once

#include <string>
#include <vector>

#include "harness.h"
#include "protocol/schemas/container.capnp.h"

namespace factionos::test {

// What a container said, and in what order.
struct Heard {
  std::string out;
  std::string errors;
  std::uint64_t dropped = 0;  // announced before a piece
  std::uint64_t totalBytes = 0;
  std::uint64_t droppedBytes = 0;
  bool ended = false;
  kj::Duration pace = 0 * kj::SECONDS;  // how long each write takes its reader
};

struct RunSpec {
  std::vector<std::string> argv = {"/bin/true"};
  std::string image = "factionos-isolated:latest";
  std::string imageId = {};
  std::string instance = "test-instance";
  std::string action = {};  // empty: a new one
  std::string proof = "proof-of-the-test";
  std::string workspace = {};  // empty: none
  bool writable = true;
  std::string auth = {};
  schema::ContainerNetwork network = schema::ContainerNetwork::NONE;
  std::uint64_t memoryBytes = 64 << 20;
  std::uint32_t pids = 32;
  std::uint64_t timeoutMs = 20'000;
  std::uint32_t graceMs = 1'000;
};

using Outcome = capnp::Response<schema::ContainerRun::EndedResults>;

// One run of the worker: what it said so far, and how to end it.
class EngineRun {
 public:
  bool started();
  schema::ContainerOutcome::Reader end();  // waits
  void kill();

  std::string denial;  // of run()
  std::shared_ptr<Heard> heard = std::make_shared<Heard>();
  kj::Maybe<schema::ContainerRun::Client> run;

 private:
  friend class EngineWorker;
  Broker* broker_ = nullptr;
  kj::Maybe<Outcome> outcome_;
};

class EngineWorker {
 public:
  EngineWorker(Broker& broker, const std::string& socket,
               schema::EngineKind engine = schema::EngineKind::DOCKER);

  EngineRun start(const RunSpec& spec);
  // To its end.
  EngineRun run(const RunSpec& spec);

  template <typename Request>
  auto call(Request&& request) {
    return broker_.wait(request.send().then([](auto&& response) { return kj::mv(response); }));
  }
  std::string settle(const RunSpec& spec, std::uint32_t graceMs = 1'000);
  std::size_t count(const std::string& instance);

  std::string denial;
  schema::Containers::Client containers = nullptr;
  kj::Maybe<schema::Worker::Client> process;
  // As a worker that is killed: nothing of it is told to anybody.
  void killWorker();

 private:
  Broker& broker_;
  kj::Own<rpc::Connection> line_;
};

void fill(schema::ContainerSpec::Builder out, const RunSpec& spec);
// Names of the schema's own: "exited", "not_started/image_missing".
std::string text(schema::ContainerOutcome::Reader outcome);

}  // namespace factionos::test
