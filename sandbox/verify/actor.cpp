// The processes that stand where a keeper and its worker or command stand: namespaces, then the fork that
// makes an init, then the one that enters and tries.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/landlock.h"
#include "sandbox/setup_error.h"
#include "sandbox/tree.h"
#include "sandbox/verify/stage.h"

namespace factionos::sandbox::verify {
namespace {

using Depth = Setting::Depth;

constexpr std::chrono::milliseconds kIdle{60'000};  // without a question: nobody is there any more

void endWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) _exit(0);
}

void tellFailure(Desk& desk, unsigned step, int error, const char* reason) {
  desk.step = step;
  desk.error = error;
  std::strncpy(desk.reason.data(), reason, desk.reason.size() - 1);
  desk.phase = Desk::Phase::kFailed;
  desk.changed();
}

bool entersNamespaces(const Part& part) {
  switch (part.setting.depth) {
    case Depth::kOpen:
      return false;
    case Depth::kNamespaces:
    case Depth::kWhole:
      return true;
    case Depth::kAlone:
      break;
  }
  // Landlock's rules of a profile are made for the file system that its namespaces show; a limit on processes
  // counts within the user namespace.
  const Layer layer = part.setting.layer;
  return layer == Layer::kNamespaces || layer == Layer::kLandlock || layer == Layer::kLimits;
}

// The keeper's means to end a tree, in the same order of preference.
class TreeKeeper {
 public:
  static TreeKeeper make(const Part& part, const NamespacePosture& namespaces, pid_t witness) {
    TreeKeeper keeper;
    const bool whole = part.setting.depth == Depth::kWhole;
    const bool alone = part.setting.depth == Depth::kAlone && part.setting.endsTree;
    if (namespaces.pid || part.subject.tree != Tree::kParent || !(whole || alone)) return keeper;
    becomeSubreaper();
    keeper.kills_ = true;
    checked(Step::kNoNewPrivileges, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs_refused");
    // Below the layer that scopes nothing can be mounted.
    if (namespaces.mount || landlockAbi() < kAbiOfScopes) return keeper;
    const auto outside = OutsideWitness::take(witness);
    if (!outside) throw SetupError(Step::kTree, ESRCH, "witness_missing");
    LandlockPolicy scope;
    scope.files.scope = FileScope::kUnrestricted;
    scope.scopes = {Need::kOff, Need::kRequired};
    restrictByLandlock(scope);
    keeper.scope_ = ProvenScope::prove(*outside);
    if (!keeper.scope_) throw SetupError(Step::kTree, EPERM, "scope_not_proven");
    return keeper;
  }

  void endAll() const {
    constexpr std::chrono::seconds kLong{2};
    if (!kills_) return;
    if (scope_) {
      killDomain(*scope_, kLong);
    } else {
      killAdopted(kLong);
    }
  }

 private:
  bool kills_ = false;
  std::optional<ProvenScope> scope_;
};

// Descriptors where a worker has them, whatever number they had; and one that has to be gone afterwards.
void arrangeDescriptors(const Part& part) {
  const World& world = part.world;
  const std::string& scope = part.subject.scope == Scope::kHome ? world.home : world.workspace;
  Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  Fd task(open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Fd directory(open(scope.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const int standard = world.slave ? world.slave.get() : null.get();
  const std::array<std::array<int, 2>, 8> places{{{standard, 0},
                                                  {standard, 1},
                                                  {standard, 2},
                                                  {part.line, kLineDescriptor},
                                                  {part.events, kEventsDescriptor},
                                                  {directory.get(), kScopeDescriptor},
                                                  {task.get(), kTaskDescriptor},
                                                  {world.leak.get(), kLeakDescriptor}}};
  std::array<int, 8> high{};
  for (std::size_t each = 0; each < places.size(); ++each)
    high[each] = fcntl(places[each][0], F_DUPFD_CLOEXEC, 200);
  for (Fd* const own : {&null, &task, &directory}) own->reset();  // their numbers are among the places
  for (std::size_t each = 0; each < places.size(); ++each) dup2(high[each], places[each][1]);
  std::array<int, 8> keep{};
  std::transform(places.begin(), places.end(), keep.begin(), [](const auto& place) { return place[1]; });
  closeAllBut(keep);
}

// A control is to fail by nothing but what it lacks.
void raiseLimits() {
  for (const auto resource : {RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_CORE}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
  }
}

void enterSetting(const Part& part, const NamespacePosture& namespaces) {
  if (part.setting.depth == Depth::kOpen) return;
  std::vector<Policy> policies = part.subject.policies(part.world, namespaces);
  for (Policy& policy : policies) {
    if (part.setting.depth == Depth::kAlone) policy = only(part.setting.layer, std::move(policy));
    if (part.setting.depth == Depth::kNamespaces) policy = only(Layer::kNamespaces, std::move(policy));
  }
  if (part.setting.layer == Layer::kSupervisor && part.subject.enterSupervised)
    return part.subject.enterSupervised(part.world, policies.front(), namespaces);
  part.shelf.provide(policies);
  bool first = true;
  for (const Policy& policy : policies) {
    if (first) {
      part.subject.enter(policy, namespaces);
    } else {
      narrow({policy.files, policy.tcp, policy.scopes}, policy.seccomp, policy.traps);
    }
    first = false;
  }
}

// Nothing but a futex between the acts: a filter may know no more.
[[noreturn]] void tryActs(const Part& part) {
  Desk& desk = part.desk;
  int seen = 0;
  while (desk.waitUntil([&] { return desk.asked != seen; }, kIdle)) {
    seen = desk.asked;
    if (desk.isOver()) break;
    const Act* const act = desk.act;
    errno = 0;
    const long result = act->act(part.world, desk.evidence);
    desk.evidence.error = result < 0 ? errno : 0;
    desk.evidence.returned = true;
    desk.answered = seen;
    desk.changed();
  }
  _exit(0);
}

[[noreturn]] void playActor(Part& part, const NamespacePosture& namespaces) noexcept {
  Desk& desk = part.desk;
  try {
    endWithParent(getppid());
    arrangeDescriptors(part);
    raiseLimits();
    std::memcpy(secretAddress(), part.world.inActor.data(), kSecretBytes);
    const char byte = 'p';
    if (write(kLineDescriptor, &byte, 1) != 1) _exit(0);
    desk.phase = Desk::Phase::kUnentered;
    desk.changed();
    if (!desk.waitUntil([&] { return desk.mayEnter.load(); }, kIdle) || desk.isOver()) _exit(0);
    enterSetting(part, namespaces);
    desk.phase = Desk::Phase::kEntered;
    desk.changed();
  } catch (const SetupError& error) {
    tellFailure(desk, static_cast<unsigned>(error.step()), error.error(), error.what());
    _exit(1);
  } catch (const std::exception&) {
    tellFailure(desk, 0, 0, "internal_error");
    _exit(1);
  }
  tryActs(part);
}

// Reaps whatever comes, as an init has to, until the actor has ended.
void waitFor(pid_t actor, Desk& desk) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
    if (ended == actor) break;
  }
  desk.waitStatus = status;
  if (desk.phase != Desk::Phase::kFailed) desk.phase = Desk::Phase::kEnded;
  desk.changed();
}

void play(Part& part) {
  const pid_t runner = getppid();
  endWithParent(runner);
  const World& world = part.world;
  const int keep[] = {part.line, part.events, world.slave.get(), world.leak.get(), STDERR_FILENO};
  closeAllBut(keep);
  NamespacePosture namespaces;
  if (entersNamespaces(part)) namespaces = enterNamespaces(part.subject.namespaces, world.support);
  if (namespaces.pid) {
    const pid_t init = checked(Step::kNamespaces, fork(), "fork_refused");
    if (init != 0) {
      int status = 0;
      while (waitpid(init, &status, 0) < 0 && errno == EINTR) {
      }
      _exit(0);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // an init does not see its parent's pid
  }
  const TreeKeeper tree = TreeKeeper::make(part, namespaces, runner);
  const pid_t actor = checked(Step::kIdentity, fork(), "fork_refused");
  if (actor == 0) playActor(part, namespaces);
  waitFor(actor, part.desk);
  tree.endAll();
}

}  // namespace

[[noreturn]] void playWarden(Part& part) noexcept {
  try {
    play(part);
  } catch (const SetupError& error) {
    tellFailure(part.desk, static_cast<unsigned>(error.step()), error.error(), error.what());
  } catch (const std::exception&) {
    tellFailure(part.desk, 0, 0, "internal_error");
  }
  _exit(0);
}

}  // namespace factionos::sandbox::verify
