#pragma once

#include "broker/core/action_book.h"
#include "broker/core/core.h"
#include "broker/core/rule_book.h"
#include "broker/executors/container_executor.h"
#include "broker/executors/file_executor.h"
#include "broker/executors/git_executor.h"
#include "broker/executors/session_book.h"
#include "broker/executors/terminal.h"
#include "broker/home/home.h"
#include "broker/identity/posture.h"
#include "broker/identity/proof.h"
#include "broker/identity/token.h"
#include "broker/orchestration/events.h"
#include "broker/tasks/task_queue.h"
#include "broker/walls/kernel_posture.h"
#include "protocol/schemas/session.capnp.h"

namespace factionos::broker {

// What this kernel gave, as the launcher found it, and what of the guarantees it carries.
struct Readiness {
  sandbox::KernelSupport kernel;  // EPERM for whatever was refused; with which errno `reasons` say
  walls::KernelPosture posture;
  std::vector<audit::Label> reasons;

  static Readiness from(schema::KernelSupport::Reader support);
  [[nodiscard]] bool pty() const { return kernel.pty == 0; }
  // Why nothing can be started under the profiles: a required guarantee would not hold. Empty if all would.
  [[nodiscard]] redaction::Literal whyNoSandbox() const;
};

// Everything that serves a peer. Made by main; borrowed by the services on each line.
struct Services {
  Core& core;
  const home::Home& home;
  ActionBook& actions;
  RuleBook& rules;
  SessionBook& sessions;
  const ExecutorTable& executors;
  TerminalExecutor& terminal;
  FileExecutor& files;
  ContainerExecutor& containers;
  TaskQueue& tasks;
  GitExecutor& git;
  Events& events;
  identity::TokenIndex& tokens;
  identity::UidTable& uids;
  const Readiness& readiness;
  const MaskRules& masks;
  std::optional<identity::PublicKey> operatorKey;  // none: nobody can approve
  identity::ApprovalSeparation separation;
  identity::PublicKey brokerIdentity;  // the audit's first public key
  state::Time startedAt;
  std::uint64_t loginEpoch = 1;  // raised when a token is revoked
};

}  // namespace factionos::broker
