#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <kj/async.h>
#include <kj/one-of.h>

#include "broker/core/steps.h"
#include "broker/home/config.h"
#include "broker/links/links.h"
#include "broker/redaction/label.h"
#include "broker/redaction/words.h"
#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "protocol/schemas/launcher.capnp.h"
#include "protocol/schemas/pty.capnp.h"
#include "protocol/schemas/session.capnp.h"

namespace factionos::broker {

// One started worker and this side of its line. Dropping it ends the process.
struct StartedWorker {
  kj::Own<rpc::Connection> line;
  schema::Worker::Client process;
};

struct StartedPty {
  StartedWorker worker;
  schema::Pty::Client pty;
};

struct StartedSession {
  schema::Session::Client session;
  schema::Worker::Client process;
};

// Why a worker's line has ended.
struct WorkerEnd {
  enum class Kind { kLost, kMisbehaved } kind = Kind::kLost;
  redaction::Literal breach;  // of kMisbehaved: a name of ours, for the log
  int syscall = -1;           // that its filter refused, as far as it is known; -1: none
};

// Judges the worker behind `process`, whose line has ended by `cause`; kClosedHere: because it did not
// answer. One that broke the protocol may still live; dropping its capability ends it.
kj::Promise<WorkerEnd> judgeEnd(kj::Timer& timer, schema::Worker::Client process, rpc::DisconnectCause cause);

void logMisbehaved(redaction::Literal worker, const redaction::Label& session, const WorkerEnd& end);

// What the launcher answered instead of a worker. Fixed names of ours.
struct LaunchDenied {
  std::string code;
  std::string rule;
};

// A directory that a container may mount.
struct LookedAt {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

// The broker's hold on the launcher: asks for roles, nothing freer, and keeps one sandboxed pty worker in
// readiness, so that a command does not wait for it.
class Workers final : private kj::TaskSet::ErrorHandler {
 public:
  // `line`: this side of the launcher's socketpair.
  Workers(rpc::Loop& loop, rpc::OwnFd line, StepPoints* steps);
  ~Workers() noexcept(false);

  // Resolves when the launcher is gone; every promise of this object fails then.
  kj::Promise<void> lost();

  // `fillScope`: says what the role works in; a role without a scope leaves it as it is.
  using FillScope = std::function<void(schema::WorkerScope::Builder)>;
  kj::Promise<kj::OneOf<StartedWorker, LaunchDenied>> start(schema::Role role, const FillScope& fillScope,
                                                            kj::Maybe<capnp::Capability::Client> bootstrap);
  kj::Promise<kj::OneOf<StartedPty, LaunchDenied>> takePty();
  kj::Promise<kj::OneOf<StartedSession, LaunchDenied>> startSession(const std::string& workspacePath);
  kj::Promise<capnp::Response<schema::Launcher::SupportResults>> support();

  // Once, before anything is started: the launcher connects to these sockets, and starts this program, and no
  // others.
  kj::Promise<void> setEngines(const home::EngineSockets& engines);
  // Judges what a container is to mount, as it is now.
  kj::Promise<kj::OneOf<LookedAt, LaunchDenied>> look(schema::MountRole role, const std::string& path);
  kj::Promise<kj::OneOf<schema::EngineConnector::Client, LaunchDenied>> engine(schema::EngineKind engine);

 private:
  void taskFailed(kj::Exception&& exception) override;
  kj::Promise<kj::OneOf<StartedPty, LaunchDenied>> startPty();
  void prepareSpare();

  rpc::Loop& loop_;
  StepPoints* steps_;
  kj::Own<rpc::Connection> line_;
  schema::Launcher::Client launcher_;
  kj::Maybe<StartedPty> spare_;
  std::uint64_t spareId_ = 0;  // which spare a disconnect concerns
  bool preparing_ = false;
  kj::TaskSet tasks_;
};

}  // namespace factionos::broker
