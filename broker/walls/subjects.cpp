#include <vector>

#include <unistd.h>

#include "broker/walls/guarantees.h"
#include "broker/walls/profiles.h"
#include "sandbox/environment.h"
#include "sandbox/verify/world.h"
#include "workers/session/protected_paths.h"
#include "workers/session/supervised_entry.h"

namespace factionos::walls {
namespace {

namespace verify = sandbox::verify;

// Caps that a probe reaches in a moment; what is proven is that the kernel keeps to the cap, not its value.
session::TreeLimits smallLimits() {
  session::TreeLimits limits;
  limits.processes = 48;
  limits.openFiles = 256;
  limits.fileBytes = std::uint64_t{4} << 20;
  return limits;
}

void settleCommand(session::CommandScope& scope, const verify::World& world,
                   const sandbox::NamespacePosture& given) {
  scope.workspace = world.workspace;
  scope.terminal = world.terminal.empty() ? "/dev/null" : world.terminal;
  scope.apiPort = world.api.port;
  scope.limits = smallLimits();
  scope.keep = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  if (given.mount) {
    scope.temporary = "/tmp";
    scope.home = "/tmp/.home";
    scope.protectedPaths = session::findProtected(verify::kScopeDescriptor).present;
  } else {
    scope.temporary = world.scratch + "/tmp";
    scope.home = world.scratch + "/home";
  }
}

Scene sceneOf(const verify::World& world, const sandbox::NamespacePosture& given) {
  Scene scene;
  scene.landlockAbi = sandbox::landlockAbi();
  scene.support = world.support;
  scene.namespaces = given;
  scene.home = verify::kScopeDescriptor;
  scene.children = verify::kTaskDescriptor;
  scene.programs = verify::kTaskDescriptor;
  scene.workspace = verify::kScopeDescriptor;
  scene.keep = {STDIN_FILENO,
                STDOUT_FILENO,
                STDERR_FILENO,
                verify::kLineDescriptor,
                verify::kEventsDescriptor,
                verify::kScopeDescriptor,
                verify::kTaskDescriptor};
  settleCommand(scene.command, world, given);
  return scene;
}

std::vector<std::string> handedOn(std::span<const char* const> present) {
  return sandbox::buildEnvironment(present, {});
}

verify::Subject subjectOf(const Profile& profile) {
  verify::Subject subject;
  subject.name = profile.name;
  subject.role = profile.role;
  subject.purpose = profile.purpose;
  if (profile.namespaces != nullptr) subject.namespaces = profile.namespaces();
  // Only what is entered by narrow() is entered on top of another profile; a worker's own enter() stands
  // alone.
  const bool narrowed = profile.name == "session-running" || profile.name == "probe-program";
  const Profile* const below = narrowed ? findProfile(profile.within) : nullptr;
  subject.policies = [&profile, below](const verify::World& world, const sandbox::NamespacePosture& given) {
    const Scene scene = sceneOf(world, given);
    std::vector<sandbox::Policy> policies;
    if (below != nullptr) policies.push_back(below->policy(scene));
    policies.push_back(profile.policy(scene));
    return policies;
  };
  if (profile.role == "command") {
    // Of the scope what the gofer looks at: where names are kept. What its network is the profile alone says.
    subject.enterSupervised = [](const verify::World& world, const sandbox::Policy& policy,
                                 const sandbox::NamespacePosture& given) {
      session::enterSupervised(policy, sceneOf(world, given).command,
                               session::findProtected(verify::kScopeDescriptor), given);
    };
  }
  subject.environment = handedOn;
  const bool ended = profile.role == "command" || profile.role == "gofer" || profile.name == "probe-program";
  subject.tree = ended ? verify::Tree::kParent : verify::Tree::kNobody;
  subject.scope = profile.role == "broker" ? verify::Scope::kHome : verify::Scope::kWorkspace;
  return subject;
}

}  // namespace

std::span<const verify::Subject> subjects() {
  static const std::vector<verify::Subject> all = [] {
    std::vector<verify::Subject> made;
    for (const Profile& profile : profiles()) made.push_back(subjectOf(profile));
    return made;
  }();
  return all;
}

}  // namespace factionos::walls
