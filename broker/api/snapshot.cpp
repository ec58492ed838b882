#include "broker/api/snapshot.h"

#include <array>

#include "broker/actions/view.h"
#include "broker/policy/operations.h"

namespace factionos::broker {
namespace {

using actions::asText;
using schema::Posture;

constexpr std::string_view kVersion = "0.1.0";

// Families whose executor this build has; every other one is unavailable whatever its table says.
bool hasExecutor(policy::Family family) {
  return family == policy::Family::kTerminal;
}

const char* reasonFor(const Readiness& readiness) {
  if (readiness.landlockAbi == 0) return "landlock_missing";
  if (!readiness.seccomp) return "seccomp_missing";
  if (!readiness.pty) return "pty_unavailable";
  return nullptr;
}

void fillFamily(policy::Family family, const Readiness& readiness, schema::FamilyPosture::Builder out) {
  out.setFamily(actions::toSchema(family));
  const bool built = hasExecutor(family);
  const char* reason = !built ? "not_implemented" : reasonFor(readiness);
  out.setStatus(reason == nullptr ? Posture::AVAILABLE : Posture::UNAVAILABLE);
  if (reason != nullptr) out.setReason(reason);
  unsigned count = 0;
  for (const auto& operation : policy::allOperations()) count += operation.family == family ? 1U : 0U;
  auto operations = out.initOperations(count);
  unsigned index = 0;
  for (const auto& operation : policy::allOperations()) {
    if (operation.family != family) continue;
    auto row = operations[index++];
    row.setOperation(asText(std::string(operation.name)));
    const bool shipped = operation.posture == policy::Posture::kAvailable;
    row.setStatus(reason != nullptr && shipped ? Posture::UNAVAILABLE : actions::toSchema(operation.posture));
    if (reason != nullptr && shipped) row.setReason(reason);
  }
}

void fillTerminal(Services& services, schema::TerminalReadiness::Builder out) {
  const auto& readiness = services.readiness;
  const auto& limits = services.core.config.limits;
  out.setPty(readiness.pty ? Posture::AVAILABLE : Posture::UNAVAILABLE);
  out.setSafeShell("sh");
  out.setSafeCwd("workspace");
  out.setActiveSessions(services.sessions.live());
  out.setMaxSessions(limits.maxSessions);
  out.setTimeoutMs(static_cast<std::uint32_t>(std::chrono::milliseconds(limits.commandTimeout).count()));
  out.setOutputCapBytes(static_cast<std::uint32_t>(limits.outputCapBytes));
  out.setCleanup(readiness.pidNamespace       ? "pid_namespace"
                 : readiness.landlockAbi >= 6 ? "signal_scope"
                                              : "subreaper");
  if (const char* reason = reasonFor(readiness)) out.setFallbackReason(reason);
}

void fillSandbox(const Readiness& readiness, schema::SandboxReadiness::Builder out) {
  out.setStatus(readiness.sandbox() ? Posture::AVAILABLE : Posture::UNAVAILABLE);
  out.setLandlockAbi(readiness.landlockAbi);
  out.setSeccomp(readiness.seccomp);
  out.setUserNamespaces(readiness.userNamespaces);
  // A delegated cgroup is not used yet.
  out.setLimits("watched");
  out.setProtectedPaths(readiness.mountNamespace ? "existing_only" : "none");
  out.setProc(readiness.pidNamespace ? "own" : "proc_shared");
  out.setCleanup(readiness.pidNamespace ? "pid_namespace" : readiness.landlockAbi >= 6 ? "signal_scope" : "subreaper");
  auto reasons = out.initReasons(static_cast<unsigned>(readiness.reasons.size()));
  for (unsigned i = 0; i < readiness.reasons.size(); ++i) reasons.set(i, asText(readiness.reasons[i]));
}

void fillContainer(schema::ContainerReadiness::Builder out) {
  out.setDocker(Posture::UNAVAILABLE);
  out.setPodman(Posture::UNAVAILABLE);
  out.setApple(Posture::UNAVAILABLE);
  out.setImage(Posture::UNAVAILABLE);
  out.setBrowserDependencies(Posture::UNAVAILABLE);
  out.setAuthMount(Posture::UNAVAILABLE);
  out.setWorktreeMount(Posture::UNAVAILABLE);
  out.setNetworkProfile(Posture::UNAVAILABLE);
  out.setProviderRuntime(Posture::UNAVAILABLE);
  out.setFallbackReason("not_implemented");
}

template <typename List, std::size_t N>
void setAll(List list, const std::array<const char*, N>& values) {
  for (unsigned i = 0; i < N; ++i) list.set(i, values[i]);
}

}  // namespace

Readiness Readiness::from(schema::KernelSupport::Reader support) {
  Readiness readiness{.landlockAbi = support.getLandlockAbi(),
                      .seccomp = support.getSeccomp(),
                      .userNamespaces = support.getUserNamespaces(),
                      .mountNamespace = support.getMountNamespace(),
                      .pidNamespace = support.getPidNamespace(),
                      .cgroup = support.getCgroup(),
                      .pty = support.getPty(),
                      .reasons = {}};
  for (const auto reason : support.getReasons()) {
    if (readiness.reasons.size() < 16 && audit::Label::parse(reason.cStr()))
      readiness.reasons.emplace_back(reason.cStr());
  }
  return readiness;
}

void fillDiagnostics(Services& services, schema::Diagnostics::Builder out) {
  out.setTime(actions::millis(audit::systemNow()));
  out.setStartedAt(actions::millis(services.startedAt));
  out.setVersion(asText(std::string(kVersion)));
  out.setReady(services.readiness.terminal());
  out.setMode(services.core.config.mode == home::Mode::kUser ? "user" : "system");
  out.setApprovalSeparation(identity::label(services.separation));
  out.setAudit(services.core.health.audit ? Posture::AVAILABLE : Posture::UNAVAILABLE);
  constexpr std::array kFamilies{policy::Family::kFile,     policy::Family::kGit,
                                 policy::Family::kTerminal, policy::Family::kContainer,
                                 policy::Family::kRemote,   policy::Family::kHosted};
  auto families = out.initFamilies(kFamilies.size());
  for (unsigned i = 0; i < kFamilies.size(); ++i) fillFamily(kFamilies[i], services.readiness, families[i]);
  fillTerminal(services, out.initTerminal());
  fillContainer(out.initContainer());
  fillSandbox(services.readiness, out.initSandbox());
  auto counts = out.initCounts();
  counts.setActionsWaiting(services.actions.waiting());
  counts.setActionsExecuting(static_cast<std::uint32_t>(
      state::ActionTable(services.core.reader).count(state::ActionState::kExecuting)));
  counts.setSessionsActive(services.sessions.live());
  counts.setEvents(services.events.count());
  setAll(out.initCapabilities(5),
         std::array{"terminal.pty", "idempotency", "audit.signed", "masking.stream", "operator.proof"});
  setAll(out.initDocs(3), std::array{"docs/operating.md", "docs/threat-model.md", "docs/openapi.json"});
}

void fillSnapshot(Services& services, std::uint64_t revision, schema::Snapshot::Builder snapshot) {
  snapshot.setRevision(revision);
  fillDiagnostics(services, snapshot.initDiagnostics());
  auto center = snapshot.initCommandCenter();
  center.setRevision(revision);
  const auto& sessions = services.sessions.all();
  const auto size = static_cast<unsigned>(sessions.size());
  auto rows = center.initSessions(size);
  auto list = snapshot.initSessions(size);
  unsigned index = 0;
  // Newest first.
  for (auto each = sessions.rbegin(); each != sessions.rend(); ++each, ++index) {
    each->second->fillSummary(rows[index]);
    each->second->fillSummary(list[index]);
  }
  const auto page = services.actions.list({}, {}, kCommandCenterRows);
  auto actions = center.initActions(static_cast<unsigned>(page.rows.size()));
  for (unsigned i = 0; i < page.rows.size(); ++i) actions::fillAction(page.rows[i], {}, actions[i]);
}

}  // namespace factionos::broker
