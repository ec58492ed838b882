#pragma once

#include <optional>

#include <kj/time.h>

#include "broker/adopted.h"
#include "broker/audit/anchor.h"
#include "broker/audit/fault_points.h"
#include "broker/core/steps.h"
#include "broker/executors/container_owner.h"
#include "broker/executors/session_output.h"
#include "broker/home/config.h"
#include "broker/home/home.h"
#include "broker/identity/operator_key.h"
#include "broker/identity/secret.h"
#include "broker/policy/policy.h"
#include "broker/startup.h"

namespace factionos::broker {

// Where tests stop the process, and what they don't wait for; as it is here in production.
struct Seams {
  StepPoints* steps = nullptr;
  audit::FaultPoints* writes = nullptr;
  std::optional<kj::Duration> settleAgain = std::nullopt;  // of a ContainerExecutor
};

// What runDaemon() gathered before the sandbox was entered.
struct Gathered {
  const home::Home& home;
  const home::Config& config;
  policy::Policy rules;
  std::optional<identity::PublicKey> operatorKey;
  identity::KeyState operatorKeyState = identity::KeyState::kMissing;
  identity::SecretBytes tokenKey;
  const MaskRules& masks;
  sandbox::AuditReading auditReading = sandbox::AuditReading::kNoRecords;
  LauncherProcess launcher;
  Listeners listeners;
  const AdoptedChildren& adopted;
  audit::Anchor* anchor = nullptr;  // null: none is configured
  OwnProcess process;
  bool printAddress = false;
  Seams seams;
};

// Opens the state, recovers, serves until SIGTERM or SIGINT; SIGHUP reads the policy again. Inside the
// sandbox. Returns the exit status: 0, or 1 when the launcher was lost or the state can't be opened.
int serve(Gathered gathered);

}  // namespace factionos::broker
