#include "broker/api/snapshot.h"

#include <array>

#include "broker/actions/view.h"
#include "broker/api/readiness_view.h"
#include "broker/policy/operations.h"
#include "broker/state/writer.h"

namespace factionos::broker {
namespace {

using actions::Outgoing;
using redaction::Boundary;
using redaction::Literal;
using redaction::Redactor;
using schema::Posture;

constexpr Literal kVersion = "0.1.0";
constexpr std::array<Literal, 5> kCapabilities{Literal("terminal.pty"), Literal("idempotency"),
                                               Literal("audit.signed"), Literal("masking.stream"),
                                               Literal("operator.proof")};
constexpr std::array<Literal, 3> kDocs{Literal("docs/operating.md"), Literal("docs/threat-model.md"),
                                       Literal("docs/openapi.json")};

// Why the family can run nothing; empty if it can.
Literal reasonFor(const Services& services, policy::Family family) {
  const auto unready = services.executors.whyNot(family);
  return unready ? unready->reason : Literal();
}

Literal label(walls::Cleanup cleanup) {
  switch (cleanup) {
    case walls::Cleanup::kPidNamespace:
      return "pid_namespace";
    case walls::Cleanup::kSignalScope:
      return "signal_scope";
    case walls::Cleanup::kSubreaper:
      break;
  }
  return "subreaper";
}

Literal label(walls::ProtectedPaths paths) {
  switch (paths) {
    case walls::ProtectedPaths::kWhole:
      return "whole";
    case walls::ProtectedPaths::kExistingOnly:
      return "existing_only";
    case walls::ProtectedPaths::kNone:
      break;
  }
  return "none";
}

template <Boundary B>
void fillFamily(policy::Family family, const Services& services, Outgoing<B, schema::FamilyPosture> out) {
  using F = schema::FamilyPosture::Builder;
  using O = schema::OperationPosture::Builder;
  using R = Redactor<B>;
  out.set(&F::setFamily, actions::toSchema(family));
  const auto reason = reasonFor(services, family);
  out.set(&F::setStatus, reason.empty() ? Posture::AVAILABLE : Posture::UNAVAILABLE);
  if (!reason.empty()) out.set(&F::setReason, R::words(reason));
  unsigned count = 0;
  for (const auto& operation : policy::allOperations()) count += operation.family == family ? 1U : 0U;
  auto operations = out.init(&F::initOperations, count);
  unsigned index = 0;
  for (const auto& operation : policy::allOperations()) {
    if (operation.family != family) continue;
    auto row = operations[index++];
    row.set(&O::setOperation, R::code(audit::Code::of(operation.name)));
    const bool lowered = !reason.empty() && operation.posture == policy::Posture::kAvailable;
    row.set(&O::setStatus, lowered ? Posture::UNAVAILABLE : actions::toSchema(operation.posture));
    if (lowered) row.set(&O::setReason, R::words(reason));
  }
}

template <Boundary B>
void fillTerminal(Services& services, Outgoing<B, schema::TerminalReadiness> out) {
  using T = schema::TerminalReadiness::Builder;
  using R = Redactor<B>;
  const auto& readiness = services.readiness;
  const auto& limits = services.core.config.limits;
  out.set(&T::setPty, readiness.pty() ? Posture::AVAILABLE : Posture::UNAVAILABLE);
  out.set(&T::setSafeShell, R::words("sh"));
  out.set(&T::setSafeCwd, R::words("workspace"));
  out.set(&T::setActiveSessions, services.sessions.live());
  out.set(&T::setMaxSessions, limits.maxSessions);
  out.set(&T::setTimeoutMs,
          static_cast<std::uint32_t>(std::chrono::milliseconds(limits.commandTimeout).count()));
  out.set(&T::setOutputCapBytes, static_cast<std::uint32_t>(limits.outputCapBytes));
  out.set(&T::setCleanup, R::words(label(readiness.posture.cleanup)));
  const auto reason = reasonFor(services, policy::Family::kTerminal);
  if (!reason.empty()) out.set(&T::setFallbackReason, R::words(reason));
}

template <Boundary B>
void fillSandbox(const Readiness& readiness, Outgoing<B, schema::SandboxReadiness> out) {
  using S = schema::SandboxReadiness::Builder;
  using R = Redactor<B>;
  out.set(&S::setStatus, readiness.posture.holds() ? Posture::AVAILABLE : Posture::UNAVAILABLE);
  out.set(&S::setLandlockAbi, static_cast<std::uint32_t>(readiness.kernel.landlockAbi));
  out.set(&S::setSeccomp, readiness.kernel.seccompFilter);
  out.set(&S::setUserNamespaces, readiness.kernel.namespaces.user == 0);
  // A delegated cgroup is not used yet.
  out.set(&S::setLimits, R::words("watched"));
  out.set(&S::setProtectedPaths, R::words(label(readiness.posture.protectedPaths)));
  const bool own = readiness.posture.processes == walls::ProcessView::kOwn;
  out.set(&S::setProc, R::words(own ? Literal("own") : Literal("proc_shared")));
  out.set(&S::setCleanup, R::words(label(readiness.posture.cleanup)));
  auto reasons = out.init(&S::initReasons, readiness.reasons.size());
  for (unsigned i = 0; i < readiness.reasons.size(); ++i) reasons.set(i, R::label(readiness.reasons[i]));
}

template <Boundary B>
void fillMasking(const MaskRules::Coverage& coverage, Outgoing<B, schema::MaskingReadiness> out) {
  using M = schema::MaskingReadiness::Builder;
  out.set(&M::setStatus, coverage.refused == 0 ? Posture::AVAILABLE : Posture::UNAVAILABLE);
  out.set(&M::setKnown, coverage.known);
  out.set(&M::setWeak, coverage.weak);
  out.set(&M::setRefused, coverage.refused);
}

template <Boundary B>
void fillCounts(Services& services, Outgoing<B, schema::Counts> out) {
  using C = schema::Counts::Builder;
  out.set(&C::setActionsWaiting, services.actions.waiting());
  out.set(&C::setActionsExecuting,
          static_cast<std::uint32_t>(
              state::ActionTable(services.core.reader).count(state::ActionState::kExecuting)));
  out.set(&C::setSessionsActive, services.sessions.live());
  out.set(&C::setEvents, services.events.count());
  out.set(&C::setAuditRecords, state::committedThrough(services.core.reader));
}

template <Boundary B, typename List, std::size_t N>
void setAll(actions::OutgoingList<B, List> list, const std::array<Literal, N>& values) {
  for (unsigned i = 0; i < N; ++i) list.set(i, Redactor<B>::words(values[i]));
}

}  // namespace

template <Boundary B>
void fillDiagnostics(Services& services, Outgoing<B, schema::Diagnostics> out) {
  using D = schema::Diagnostics::Builder;
  using R = Redactor<B>;
  out.set(&D::setTime, actions::millis(audit::systemNow()));
  out.set(&D::setStartedAt, actions::millis(services.startedAt));
  out.set(&D::setVersion, R::words(kVersion));
  out.set(&D::setReady, reasonFor(services, policy::Family::kTerminal).empty());
  out.set(&D::setMode,
          R::words(services.core.config.mode == home::Mode::kUser ? Literal("user") : Literal("system")));
  out.set(&D::setApprovalSeparation, R::code(audit::Code::of(identity::label(services.separation))));
  out.set(&D::setAudit, services.core.health.audit ? Posture::AVAILABLE : Posture::UNAVAILABLE);
  constexpr std::array kFamilies{policy::Family::kFile,     policy::Family::kGit,
                                 policy::Family::kTerminal, policy::Family::kContainer,
                                 policy::Family::kRemote,   policy::Family::kHosted};
  auto families = out.init(&D::initFamilies, kFamilies.size());
  for (unsigned i = 0; i < kFamilies.size(); ++i) fillFamily(kFamilies[i], services, families[i]);
  fillTerminal(services, out.init(&D::initTerminal));
  fillReadiness(ContainerView::last(services.core.config, services.containers.engines()),
                out.init(&D::initContainer));
  fillSandbox(services.readiness, out.init(&D::initSandbox));
  fillMasking(services.masks.coverage(), out.init(&D::initMasking));
  fillCounts(services, out.init(&D::initCounts));
  setAll(out.init(&D::initCapabilities, kCapabilities.size()), kCapabilities);
  setAll(out.init(&D::initDocs, kDocs.size()), kDocs);
}

template void fillDiagnostics(Services&, Outgoing<Boundary::kWebSocketFrame, schema::Diagnostics>);
template void fillDiagnostics(Services&, Outgoing<Boundary::kCli, schema::Diagnostics>);

void fillSnapshot(Services& services, std::uint64_t revision, OutgoingSnapshot snapshot) {
  using S = schema::Snapshot::Builder;
  using C = schema::CommandCenter::Builder;
  snapshot.set(&S::setRevision, revision);
  fillDiagnostics(services, snapshot.init(&S::initDiagnostics));
  auto center = snapshot.init(&S::initCommandCenter);
  center.set(&C::setRevision, revision);
  const auto& sessions = services.sessions.all();
  auto rows = center.init(&C::initSessions, sessions.size());
  auto list = snapshot.init(&S::initSessions, sessions.size());
  unsigned index = 0;
  // Newest first.
  for (auto each = sessions.rbegin(); each != sessions.rend(); ++each, ++index) {
    each->second->fillSummary(rows[index]);
    each->second->fillSummary(list[index]);
  }
  const auto page = services.actions.list({}, {}, kCommandCenterRows);
  auto actions = center.init(&C::initActions, page.rows.size());
  for (unsigned i = 0; i < page.rows.size(); ++i) actions::fillAction(page.rows[i], {}, actions[i]);
  const auto containers =
      services.actions.list({.family = audit::Code::of("container")}, {}, kCommandCenterRows);
  std::vector<const state::ActionRow*> runs;
  for (const auto& row : containers.rows) {
    if (row.operation.text() == "run") runs.push_back(&row);
  }
  auto runRows = center.init(&C::initRuns, runs.size());
  for (unsigned i = 0; i < runs.size(); ++i) fillRun(services.containers.rowsOf(*runs[i]), runRows[i]);
  const auto tasks = services.tasks.list({}, {}, kCommandCenterRows);
  auto taskRows = center.init(&C::initTasks, tasks.size());
  for (unsigned i = 0; i < tasks.size(); ++i) fillTask(tasks[i], taskRows[i]);
}

}  // namespace factionos::broker
