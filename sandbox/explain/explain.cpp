#include "sandbox/explain/explain.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/explain/check.h"
#include "sandbox/seccomp_eval.h"
#include "sandbox/system_paths.h"

namespace factionos::sandbox::explain {
namespace {

bool isSpecial(mode_t mode) {
  return S_ISCHR(mode) || S_ISBLK(mode) || S_ISFIFO(mode) || S_ISSOCK(mode);
}

// Whether the file system that this machine has there was mounted so.
bool mountedWith(const Place& place, unsigned long flag) {
  struct statvfs status {};
  const std::string& at = place.machine;
  return !at.empty() && statvfs(at.c_str(), &status) == 0 && (status.f_flag & flag) != 0;
}

bool allowedByModes(const Place& place, int wanted) {
  return place.machine.empty() || faccessat(AT_FDCWD, place.machine.c_str(), wanted, AT_EACCESS) == 0 ||
         errno == EROFS;
}

}  // namespace

Explainer::Explainer(Scene scene) : scene_(std::move(scene)), view_(scene_.policy.mounts, scene_.made) {
  for (const FileRule& rule : scene_.policy.files.rules) {
    struct stat status {};
    if (rule.descriptor >= 0 && fstat(rule.descriptor, &status) == 0)
      granted_.push_back({{status.st_dev, status.st_ino, {}}, &rule});
    if (rule.path.empty()) continue;
    const Place place = view_.walk(rule.path);
    if (place.error == 0) granted_.push_back({view_.identityOf(place.path), &rule});
  }
}

Answer Explainer::file(Operation operation, const std::string& path) const {
  std::vector<Check> checks;
  if (operation == Operation::kExecute) {
    checks.push_back(call(SYS_execve, {}));
    const Place place = view_.walk(path);
    checks.push_back(walked(place));
    if (place.error == 0 && !place.perProcess) {
      for (Check& check : executing(place, 0)) checks.push_back(std::move(check));
    }
    return settle(checks);
  }
  const bool creates = operation == Operation::kCreate;
  const auto flags = static_cast<std::uint64_t>(creates                          ? O_WRONLY | O_CREAT | O_EXCL
                                                : operation == Operation::kWrite ? O_WRONLY
                                                                                 : O_RDONLY);
  checks.push_back(call(SYS_openat, {static_cast<std::uint64_t>(AT_FDCWD), 0, flags, 0644}));
  const Place place = view_.walk(path, creates ? Links::kKeepLast : Links::kFollow);
  checks.push_back(supervised(operation, place));
  if (!creates || !place.lastMissing) checks.push_back(walked(place));
  if (place.perProcess || (place.error != 0 && !(creates && place.lastMissing))) return settle(checks);
  for (Check& check : creates ? creating(place) : opening(operation, place))
    checks.push_back(std::move(check));
  return settle(checks);
}

// The first that fails gives the errno. Where it is none of ours and a later one of ours says the same, ours
// is named: without it the answer would stay.
Answer Explainer::settle(const std::vector<Check>& checks) {
  const auto refuses = [](const Check& check) { return !check.passes; };
  auto decides = std::find_if(checks.begin(), checks.end(), refuses);
  if (decides == checks.end()) {
    Answer answer{.allowed = true};
    for (const Check& check : checks) {
      if (check.layer == Layer::kNone) continue;
      answer.layer = check.layer;
      answer.rule = check.rule;
      answer.reason = check.reason;
    }
    return answer;
  }
  if (decides->layer == Layer::kSystem) {
    const auto ours = std::find_if(decides, checks.end(), [&decides](const Check& check) {
      return !check.passes && check.layer != Layer::kSystem && check.error == decides->error;
    });
    if (ours != checks.end()) decides = ours;
  }
  return {false, decides->error, decides->ends, decides->layer, decides->rule, decides->reason};
}

Explainer::Check Explainer::call(int number, std::initializer_list<std::uint64_t> arguments) const {
  if (scene_.policy.seccomp.scope == SeccompScope::kNone) return Check::pass();
  const Ruling ruling = rulingOf(scene_.policy.seccomp, callData(number, arguments));
  const std::string row =
      ruling.rule != nullptr ? std::string(ruling.rule->family.name) : "calls that are not listed";
  const std::string_view reason =
      ruling.rule != nullptr ? ruling.rule->reason : "the profile lists what it needs";
  if (ruling.verdict == Verdict::allow()) {
    return ruling.rule == nullptr ? Check::pass() : Check::pass(Layer::kSeccomp, row, reason);
  }
  Check check = Check::fail(ruling.verdict.error, Layer::kSeccomp, callName(number) + ": " + row, reason);
  check.ends = ruling.verdict.kind != Verdict::Kind::kErrno;
  return check;
}

Explainer::Check Explainer::supervised(Operation operation, const Place& place) const {
  const bool creates = operation == Operation::kCreate;
  const bool asked = creates                          ? place.lastMissing
                     : operation == Operation::kWrite ? place.error == 0 && !S_ISDIR(place.mode)
                                                      : false;
  if (!scene_.supervisor || !asked || place.perProcess) return Check::pass();
  const std::optional<Supervised> said = scene_.supervisor(operation, place.path);
  return said ? Check::fail(said->error, Layer::kSupervisor, said->rule, said->reason) : Check::pass();
}

Explainer::Check Explainer::walked(const Place& place) const {
  if (place.perProcess) {
    return Check::fail(0, Layer::kSystem, "a link of /proc",
                       "it leads each process to what is its own: ask about that instead");
  }
  switch (place.error) {
    case 0:
      return Check::pass();
    case ENOENT:
      break;
    case EACCES:
      return Check::ordinary(EACCES, "file modes: a directory on the way may not be searched");
    default:
      return Check::ordinary(place.error, "there is no such path");
  }
  if (place.absence == Absence::kNowhere) return Check::ordinary(ENOENT, "it does not exist");
  if (isWithin(place.path, "/proc"))
    return Check::fail(ENOENT, Layer::kNamespace, "a pid namespace of its own", "the process is not in it");
  return Check::fail(ENOENT, Layer::kMounts, "a root of its own", "it is not among what is mounted there");
}

// The right may come from any row above the file; every wanted one is needed.
Explainer::Check Explainer::rights(const std::string& real, Access wanted) const {
  if (scene_.policy.files.scope == FileScope::kUnrestricted)
    return Check::pass(Layer::kNone, "files", "not restricted");
  wanted = wanted & rightsOfAbi(scene_.landlockAbi);
  Access missing = wanted;
  const FileRule* by = nullptr;
  bool covered = false;
  for (std::string at = real; !missing.empty(); at = at.substr(0, std::max<std::size_t>(at.rfind('/'), 1))) {
    const Identity identity = view_.identityOf(at);
    for (const Granted& granted : granted_) {
      if (granted.identity != identity) continue;
      covered = true;
      if (!(granted.rule->access & missing).empty()) by = granted.rule;
      missing = missing - granted.rule->access;
    }
    if (at == "/") break;
  }
  // Of two rows for one directory (/bin leads to /usr/bin) the one that the path is named by, and the
  // innermost.
  std::size_t longest = 0;
  for (const Granted& granted : granted_) {
    const FileRule& rule = *granted.rule;
    if (!rule.access.has(wanted) || rule.path.size() <= longest || !isWithin(real, rule.path)) continue;
    longest = rule.path.size();
    by = &rule;
  }
  if (missing.empty() && by != nullptr)
    return Check::pass(Layer::kLandlock, spoken(by->path) + ": " + rightsText(by->access), by->reason);
  const std::string rule = covered ? "no row grants: " + rightsText(missing) : "no row covers it";
  return Check::fail(EACCES, Layer::kLandlock, rule, "files that the profile lists, and no others");
}

Explainer::Check Explainer::asMounted(Operation operation, const Place& place) const {
  const MountStep* mount = place.mount;
  const bool bound = mount != nullptr && mount->kind == MountStep::Kind::kBind;
  const bool changes = operation == Operation::kWrite || operation == Operation::kCreate;
  if (changes && bound && mount->writable == Writable::kNo)
    return Check::fail(EROFS, Layer::kMounts, "mounted read-only: " + spoken(mount->target), mount->reason);
  if (changes && mountedWith(place, ST_RDONLY)) return Check::ordinary(EROFS, "a read-only file system");
  if (operation != Operation::kExecute) return Check::pass();
  const bool noPrograms = mount != nullptr && (mount->kind == MountStep::Kind::kProc ||
                                               (bound && mount->executable == Executable::kNo));
  if (noPrograms)
    return Check::fail(EACCES, Layer::kMounts, "mounted without programs: " + spoken(mount->target),
                       mount->reason);
  if (mountedWith(place, ST_NOEXEC)) return Check::ordinary(EACCES, "a file system without programs");
  return Check::pass();
}

// Where the machine's own /proc is seen, a Landlock domain keeps to its own processes.
Explainer::Check Explainer::otherProcess(const Place& place) const {
  constexpr std::string_view kProc = "/proc/";
  if (!place.machine.starts_with(kProc)) return Check::pass();
  const std::string rest = place.machine.substr(kProc.size());
  const std::string number = rest.substr(0, rest.find('/'));
  const bool process = number.find_first_not_of("0123456789") == std::string::npos;
  if (!process || number == std::to_string(getpid())) return Check::pass();
  constexpr std::string_view kGuarded[] = {"environ", "mem",          "maps",      "smaps",
                                           "auxv",    "smaps_rollup", "numa_maps", "pagemap"};
  const std::string name = rest.substr(rest.rfind('/') + 1);
  if (std::ranges::find(kGuarded, name) == std::end(kGuarded)) return Check::pass();
  return Check::fail(EACCES, Layer::kLandlock, "processes outside of the domain",
                     "their memory is opaque to who is inside of it");
}

std::vector<Explainer::Check> Explainer::opening(Operation operation, const Place& place) const {
  const bool writes = operation == Operation::kWrite;
  std::vector<Check> checks;
  if (writes && S_ISDIR(place.mode)) checks.push_back(Check::ordinary(EISDIR, "it is a directory"));
  const bool device = S_ISCHR(place.mode) || S_ISBLK(place.mode);
  if (device && place.mount != nullptr && place.mount->kind != MountStep::Kind::kDevice)
    checks.push_back(Check::fail(EACCES, Layer::kMounts, "mounted without devices", place.mount->reason));
  if (device && place.mount == nullptr && mountedWith(place, ST_NODEV))
    checks.push_back(Check::ordinary(EACCES, "a file system without devices"));
  if (!allowedByModes(place, writes ? W_OK : R_OK)) checks.push_back(Check::ordinary(EACCES, "file modes"));
  if (!isSpecial(place.mode)) checks.push_back(asMounted(operation, place));
  checks.push_back(rights(place.path, writes                ? access::kWriteFile
                                      : S_ISDIR(place.mode) ? access::kReadDir
                                                            : access::kReadFile));
  checks.push_back(otherProcess(place));
  if (S_ISSOCK(place.mode)) checks.push_back(Check::ordinary(ENXIO, "it is a socket: connect to it"));
  return checks;
}

std::vector<Explainer::Check> Explainer::creating(const Place& place) const {
  if (place.error == 0) return {Check::ordinary(EEXIST, "it exists")};
  if (isWithin(place.path, "/proc")) return {Check::ordinary(ENOENT, "no file can be made in /proc")};
  const Place parent = view_.walk(place.parent);
  std::vector<Check> checks = {asMounted(Operation::kCreate, parent)};
  checks.push_back(rights(place.parent, access::kMakeReg | access::kWriteFile));
  if (!allowedByModes(parent, W_OK)) checks.push_back(Check::ordinary(EACCES, "file modes"));
  return checks;
}

std::string Explainer::spoken(const std::string& path) const {
  if (path.empty()) return "a descriptor";
  for (const Spoken& known : scene_.spoken) {
    if (known.path == path) return known.name;
  }
  return path;
}

}  // namespace factionos::sandbox::explain
