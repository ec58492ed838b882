#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <capnp/message.h>
#include <kj/async.h>

#include "broker/core/core.h"
#include "broker/executors/workers.h"
#include "broker/policy/policy.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// What is to be known of a command before policy is asked: that the request is whole, its digest, and what a
// supervisor found when it resolved and hashed the command without running it.
class Preparation {
 public:
  static kj::Own<capnp::MallocMessageBuilder> copyOf(schema::TerminalRun::Reader request);

  Preparation(Core& core, Workers& workers, kj::Own<capnp::MallocMessageBuilder> request);

  // Fills in what the request leaves to config.toml. To be called first.
  std::optional<actions::Refused> validate();

  schema::TerminalRun::Reader request() const { return request_->getRoot<schema::TerminalRun>().asReader(); }
  schema::NetworkProfile network() const;  // never unspecified
  const home::WorkspaceEntry& workspace() const { return *workspace_; }
  // Keyed, over everything that decides what runs. `replaces`: the session that a restart takes the place of.
  audit::Digest digest(std::string_view operation, std::string_view replaces) const;

  // Starts a supervisor and has it resolve and hash the command.
  kj::Promise<std::optional<actions::Refused>> run();

  // What a caller hears when a call to the supervisor failed: how its process ended decides.
  kj::Promise<actions::Refused> whyLost(const kj::Exception& exception);

  // After run() has refused nothing.
  const policy::Program& program() const { return found_->program; }
  const audit::Label& label() const { return found_->label; }
  const audit::Digest& programDigest() const { return found_->programDigest; }
  const std::vector<audit::Digest>& operandDigests() const { return found_->operandDigests; }
  // Waits ready to start exactly what was hashed.
  schema::Session::Client& session() { return found_->supervisor.session; }
  StartedSession takeSupervisor() { return kj::mv(found_->supervisor); }

 private:
  struct Found {
    StartedSession supervisor;
    policy::Program program;
    audit::Label label;
    audit::Digest programDigest;
    std::vector<audit::Digest> operandDigests;
  };

  void describe(schema::CommandSpec::Builder spec) const;
  std::optional<actions::Refused> take(StartedSession supervisor, schema::Prepared::Reader prepared);

  Core& core_;
  Workers& workers_;
  mutable kj::Own<capnp::MallocMessageBuilder> request_;  // mutable: a builder's root is not const
  const home::WorkspaceEntry* workspace_ = nullptr;
  kj::Maybe<schema::Worker::Client> process_;  // the supervisor's, once there is one
  std::optional<Found> found_;
};

}  // namespace factionos::broker
