#include "broker/walls/profiles.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "broker/profile.h"
#include "workers/container/policy.h"
#include "workers/file/policy.h"
#include "workers/front/policy.h"
#include "workers/git/policy.h"
#include "workers/launcher/audit_reader.h"
#include "workers/launcher/policy.h"
#include "workers/probe/policy.h"
#include "workers/pty/policy.h"
#include "workers/session/gofer_policy.h"
#include "workers/session/keeper_policy.h"
#include "workers/session/policy.h"

namespace factionos::walls {
namespace {

using session::Namespaces;
using session::Network;

sandbox::Policy broker(const Scene& scene) {
  return broker::profile(scene.home, scene.children, scene.keep);
}

sandbox::Policy launcher(const Scene& scene) {
  return launcher::policy(scene.programs, scene.support);
}

sandbox::Policy front(const Scene&) {
  return front::frontPolicy();
}

sandbox::Policy pty(const Scene&) {
  return pty::policy();
}

sandbox::Policy file(const Scene& scene) {
  return file::policy(scene.workspace);
}

template <git::Access access>
sandbox::Policy gitWorker(const Scene& scene) {
  return git::policy(access, {scene.workspace});
}

sandbox::Policy container(const Scene&) {
  return container::policy();
}

sandbox::Policy probeWorker(const Scene& scene) {
  return probe::policy(scene.programs, scene.command.userTasks);
}

sandbox::Policy probeProgram(const Scene& scene) {
  return probe::programPolicy(scene.programs, scene.command.userTasks);
}

sandbox::Policy sessionStart(const Scene& scene) {
  return session::policy(scene.support);
}

// What enterSecondStage() adds to the first stage, as one value.
sandbox::Policy sessionRunning(const Scene& scene) {
  sandbox::Policy policy = session::policy(scene.support);
  const auto ends = scene.namespaces.pid ? session::TreeEnds::kWithKeeper : session::TreeEnds::kBySession;
  const sandbox::LandlockPolicy landlock = session::afterStartFiles(ends);
  policy.name = "session-running";
  policy.files = landlock.files;
  policy.tcp = landlock.tcp;
  policy.scopes = landlock.scopes;
  policy.seccomp = session::afterStartCalls();
  policy.traps = sandbox::Traps::kReport;
  return policy;
}

sandbox::Policy auditReader(const Scene& scene) {
  return launcher::auditReaderPolicy(scene.keep);
}

sandbox::Policy keeper(const Scene& scene) {
  return session::keeperPolicy(scene.keep);
}

template <Network network>
sandbox::Policy command(const Scene& scene) {
  session::CommandScope scope = scene.command;
  scope.network = network;
  return session::commandPolicy(scope, scene.namespaces, scene.landlockAbi);
}

template <Network network>
sandbox::Namespaces wherePossible() {
  return session::commandNamespaces(network, Namespaces::kWherePossible);
}

// What enterFiles() leaves of the command's, with the calls that it narrows to, as one value.
sandbox::Policy gofer(const Scene& scene) {
  sandbox::Policy policy = command<Network::kNone>(scene);
  policy.name = "gofer";
  policy.keep = scene.keep;
  policy.seccomp = session::goferCalls();
  return policy;
}

constexpr std::array kProfiles = {
    Profile{"broker", "broker", "policy, approvals, audit and state; reads typed messages only", "", nullptr,
            broker},
    Profile{"launcher", "launcher", "starts known workers; what it can't do, nobody below can", "", nullptr,
            launcher},
    Profile{"front", "front", "parses what strangers send over HTTP", "launcher", nullptr, front},
    Profile{"pty", "pty", "pumps the bytes of one terminal", "launcher", nullptr, pty},
    Profile{"file", "file", "reads and changes the files of one workspace", "launcher", nullptr, file},
    Profile{"git-read", "git", "reads one repository by libgit2", "launcher", nullptr,
            gitWorker<git::Access::kRead>},
    Profile{"git-write", "git", "changes one repository by libgit2", "launcher", nullptr,
            gitWorker<git::Access::kWrite>},
    Profile{"container", "container", "speaks to one container engine, which may be root", "launcher",
            nullptr, container},
    Profile{"probe", "probe", "starts one program of the operator's for one question", "launcher", nullptr,
            probeWorker},
    Profile{"probe-program", "probe", "that program: a container runtime that has no socket", "probe",
            nullptr, probeProgram},
    Profile{"session", "session", "resolves and hashes one command, builds its sandbox", "launcher", nullptr,
            sessionStart},
    Profile{"session-running", "session", "supervises a command that runs: listens, reaps, kills", "session",
            nullptr, sessionRunning},
    Profile{"keeper", "keeper", "parent of one command's tree: watches its limits, ends it", "session",
            nullptr, keeper},
    Profile{"gofer", "gofer", "carries out a command's calls that make or move names, within its walls",
            "session", wherePossible<Network::kNone>, gofer},
    Profile{"gofer-plain", "gofer", "the same where there are no namespaces", "session", nullptr, gofer},
    Profile{"command", "command", "a user's program, without a network", "session",
            wherePossible<Network::kNone>, command<Network::kNone>},
    Profile{"command-loopback", "command", "the same with a loopback of its own", "session",
            wherePossible<Network::kLoopback>, command<Network::kLoopback>},
    Profile{"command-full", "command", "the same with the machine's network", "session",
            wherePossible<Network::kFull>, command<Network::kFull>},
    Profile{"command-plain", "command", "a user's program where there are no namespaces, without a network",
            "session", nullptr, command<Network::kNone>},
    Profile{"command-full-plain", "command", "the same with the machine's network", "session", nullptr,
            command<Network::kFull>},
    Profile{"audit-reader", "audit-reader", "reads the kernel's records of everybody's denials", "launcher",
            nullptr, auditReader},
};

}  // namespace

std::span<const Profile> profiles() {
  return kProfiles;
}

const Profile* findProfile(std::string_view name) {
  const auto* found = std::find_if(kProfiles.begin(), kProfiles.end(),
                                   [name](const Profile& profile) { return profile.name == name; });
  return found == kProfiles.end() ? nullptr : found;
}

sandbox::NamespacePosture namespacesOf(const Profile& profile, const sandbox::NamespaceSupport& support) {
  using sandbox::Need;
  if (profile.namespaces == nullptr) return {};
  const sandbox::Namespaces wanted = profile.namespaces();
  const auto has = [](Need need, int error) { return need != Need::kOff && error == 0; };
  sandbox::NamespacePosture posture;
  posture.user = support.user == 0;
  posture.pid = has(wanted.pid, support.pid);
  posture.mount = has(wanted.mount, support.mount);
  posture.network = has(wanted.network, support.network);
  posture.ipc = has(wanted.ipc, support.ipc);
  posture.uts = has(wanted.uts, support.uts);
  return posture;
}

Scene documentScene(const Profile& profile, const sandbox::NamespaceSupport& support) {
  Scene scene;
  scene.landlockAbi = 7;
  scene.support = support;
  scene.namespaces = namespacesOf(profile, support);
  scene.command.workspace = "/workspace";
  scene.command.temporary = scene.namespaces.mount ? "/tmp" : "/scratch/tmp";
  scene.command.home = scene.namespaces.mount ? "/tmp/.home" : "/scratch/home";
  scene.command.terminal = "/dev/pts/0";
  scene.command.apiPort = 4519;
  scene.command.keep = {0, 1, 2};
  return scene;
}

}  // namespace factionos::walls
