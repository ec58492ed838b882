// A whole broker behind its RPC interfaces, in a temporary home, with no process beside it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "broker/api/gate.h"
#include "broker/api/services.h"
#include "broker/identity/operator_key.h"
#include "broker/state/writer.h"
#include "tests/fuzz/scratch_folder.h"
#include "tests/fuzz/stub_launcher.h"

namespace factionos::fuzz {

// Everything that a request can reach, as serve() puts it together; a new one for each input, so that an
// input does the same whatever came before it.
struct BrokerCore {
  BrokerCore();
  ~BrokerCore();

  ScratchFolder folder;
  const identity::OperatorKey& operatorKey;
  std::string token;  // of a principal with every scope
  home::Home home;
  home::Config config;
  audit::AuditPaths auditPaths;
  state::Keys keys;
  state::Database database;
  std::unique_ptr<audit::AuditLog> auditLog;
  state::Database reader;
  state::Writer writer;
  state::IdGenerator ids;
  idempotency::Idempotency idempotency;
  idempotency::LivedClock lived;
  state::AsyncWriter asyncWriter;
  broker::Pulse changes;
  broker::Health health;
  std::string scratch;
  broker::Core core;
  broker::RuleBook rules;
  const broker::MaskRules& masks;
  StubLauncher launcher;
  broker::Workers workers;
  broker::ActionBook actions;
  broker::SessionBook sessions;
  broker::ExecutorTable executors;
  broker::ActionRunner runner;
  broker::TerminalExecutor terminal;
  broker::FileExecutor files;
  broker::ContainerExecutor containers;
  broker::TaskQueue tasks;
  broker::GitExecutor git;
  broker::Events events;
  identity::TokenIndex tokens;
  identity::UidTable uids;
  broker::Readiness readiness;
  broker::Services services;
  std::vector<broker::FrontListener> listeners;
  std::optional<broker::FrontLink> front;  // made by whoever wants one: it costs as much as all the rest

  broker::Caller caller(const std::string& ofToken);
};

// What has happened in a broker that is worth an attacker's while.
struct Story {
  std::string approved;  // an action of the token's principal under the key "k0", at revision 2
  std::string waiting;   // an action of somebody else, at revision 1
  std::string approval;  // the operator key's proofs for it
  std::string rejection;
  std::string session;  // that lives, of the token's principal
};
Story tell(BrokerCore& broker);

// What is the same for every broker and takes long to make.
const broker::MaskRules& maskRules();
const broker::RequestTable& requestTable();

}  // namespace factionos::fuzz
