// A whole broker behind its RPC interfaces, in a temporary home, with a launcher that starts nothing.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "broker/api/gate.h"
#include "broker/api/services.h"
#include "broker/state/writer.h"

namespace factionos::fuzz {

// Removed when the process ends.
class ScratchFolder {
 public:
  ScratchFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The line to a launcher that denies every role and gives sessions that know one program and start none.
rpc::OwnFd denyingLauncher();

// One for the process; everything that a request can reach, as serve() puts it together.
struct BrokerCore {
  BrokerCore();

  ScratchFolder folder;
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
  broker::MaskRules masks;
  broker::Workers workers;
  broker::ActionBook actions;
  broker::SessionBook sessions;
  broker::TerminalExecutor terminal;
  broker::Events events;
  identity::TokenIndex tokens;
  identity::UidTable uids;
  broker::Readiness readiness;
  broker::Services services;
  std::vector<broker::FrontListener> listeners;
  broker::FrontLink front;
  broker::RequestTable requests;
};

BrokerCore& brokerCore();

}  // namespace factionos::fuzz
