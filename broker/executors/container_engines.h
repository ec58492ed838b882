#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <kj/async.h>

#include "broker/core/core.h"
#include "broker/executors/apple_runtime.h"
#include "broker/executors/container_facts.h"
#include "broker/executors/workers.h"

namespace factionos::broker {

// One running container worker, for one engine.
struct EngineWorker {
  schema::EngineKind kind;
  StartedWorker started;
  schema::Containers::Client containers;
};

// The engines that config.toml names, each behind a worker of its own: started when it is needed, replaced
// when it is lost.
class ContainerEngines final : private kj::TaskSet::ErrorHandler {
 public:
  ContainerEngines(Core& core, Workers& workers, std::string instance);
  ~ContainerEngines() noexcept(false);

  static constexpr std::array kKinds{schema::EngineKind::DOCKER, schema::EngineKind::PODMAN};
  std::vector<schema::EngineKind> configured() const;
  const std::string& instance() const { return instance_; }
  // Which is no engine of these: nothing runs on it.
  AppleRuntime& apple() { return apple_; }
  const AppleRuntime& apple() const { return apple_; }

  using Taken = Outcome<std::shared_ptr<EngineWorker>>;
  kj::Promise<Taken> take(schema::EngineKind kind);

  // Of all kinds, configured or not, each bounded in time and independent of the others. What was found less
  // than a moment ago is found again without asking, unless a worker was lost over it.
  kj::Promise<std::vector<EngineFacts>> facts(const std::string& image);
  // As they were found last, without asking.
  std::vector<EngineFacts> lastFacts(const std::string& image) const;

  // What callers of a call that failed hear. The worker is not handed out again.
  kj::Promise<Refused> whyLost(std::shared_ptr<EngineWorker> worker, const kj::Exception& exception);
  Refused misbehaved(const std::shared_ptr<EngineWorker>& worker, redaction::Literal breach);

 private:
  void taskFailed(kj::Exception&& exception) override;
  void forget(const EngineWorker& worker);
  kj::Promise<Taken> start(schema::EngineKind kind);
  kj::Promise<Taken> open(schema::EngineKind kind, StartedWorker started);
  kj::Promise<void> watch(std::shared_ptr<EngineWorker> worker);
  kj::Promise<EngineFacts> ask(schema::EngineKind kind, std::string image);

  struct Found {
    kj::TimePoint at;
    std::vector<EngineFacts> facts;
  };

  Core& core_;
  Workers& workers_;
  std::string instance_;
  AppleRuntime apple_;
  std::map<schema::EngineKind, std::shared_ptr<EngineWorker>> running_;
  std::map<schema::EngineKind, kj::ForkedPromise<Taken>> starting_;
  std::map<std::string, Found> found_;  // by image: as many as templates have
  std::map<std::string, kj::ForkedPromise<std::vector<EngineFacts>>> asking_;
  kj::TaskSet tasks_;
};

}  // namespace factionos::broker
