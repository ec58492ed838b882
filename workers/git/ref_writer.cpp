#include "workers/git/ref_writer.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/entries.h"
#include "workers/git/durable.h"
#include "workers/git/files.h"
#include "workers/git/lock_file.h"
#include "workers/git/plan.h"

namespace factionos::git {
namespace {

std::string parentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}
std::string leafOf(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

void mustWrite(bool fact) {
  git::mustWrite(fact, "reference");
}

using Folders = std::map<std::string, sandbox::Fd>;

// The directory that `path` lies in, made as it is needed; none with errno where something is in the way.
// `above`: of what was made, what its name lies in, by path; the caller's to make durable. Without it they
// are when this returns.
sandbox::Fd directoryFor(int base, const std::string& path, Folders* above = nullptr) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    sandbox::Fd parent = openBeneath(base, parentOf(part), O_RDONLY | O_DIRECTORY);
    if (!parent) return {};
    if (!makeDirectory(parent.get(), leafOf(part))) continue;
    if (above != nullptr) {
      above->emplace(parentOf(part), std::move(parent));
    } else {
      mustWrite(fsync(parent.get()) == 0);
    }
  }
  return openBeneath(base, parentOf(path), O_RDONLY | O_DIRECTORY);
}

Refusal lockedFor(std::time_t age) {
  return {"locked", "ref_lock", std::to_string(age)};
}

// Folders of references that are gone, or of their logs, as git leaves them and clears them where a reference
// is to have the name. Nothing else goes.
void clearEmptyFolders(int parent, const std::string& name) {
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) return;
  const sandbox::DirectoryStream stream =
      sandbox::streamOf(openBeneath(parent, name, O_RDONLY | O_DIRECTORY));
  while (const dirent* entry = stream ? sandbox::nextEntry(stream.get()) : nullptr)
    clearEmptyFolders(dirfd(stream.get()), entry->d_name);
  unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

}  // namespace

// A reference's lock, and the directory that both lie in.
class RefWriter::Lock {
 public:
  // `content`: what it is to become, where that is known.
  Lock(int base, const std::string& name, const std::string& actionId, const std::string& content = {})
      : parent_(directoryFor(base, name)), leaf_(leafOf(name)) {
    if (!parent_) throw repositoryRefused("reference_unreadable");
    lock_ = std::make_unique<LockFile>(parent_.get(), leaf_, actionId, content);
    if (!lock_->held()) throw lockedFor(LockFile::ageOf(parent_.get(), leaf_).value_or(0));
  }

  [[nodiscard]] int parent() const { return parent_.get(); }
  [[nodiscard]] const std::string& leaf() const { return leaf_; }
  void put() { lock_->put(); }
  void replace(const std::string& text) { lock_->replace(text); }

 private:
  sandbox::Fd parent_;
  std::string leaf_;
  std::unique_ptr<LockFile> lock_;  // stays where it is
};

RefWriter::RefWriter(git_repository* repository, int gitDir, int commonDir, std::string actionId)
    : repository_(repository), gitDir_(gitDir), commonDir_(commonDir), actionId_(std::move(actionId)) {
  logs_ = "false";
}

RefWriter::RefWriter(git_repository* repository, const Place& place, std::string actionId)
    : repository_(repository),
      gitDir_(place.gitDir.handle.get()),
      commonDir_(place.commonDir.handle.get()),
      actionId_(std::move(actionId)),
      logs_(place.config.logs) {}

void RefWriter::identify(const std::string& committer) {
  if (committer.find_first_of(std::string_view("\n\0", 2)) == std::string::npos && !committer.empty())
    person_ = committer;
}

// A log that is there goes on; one that is not is begun as core.logAllRefUpdates says. Opened before anything
// is changed, and written by what was opened.
sandbox::Fd RefWriter::logOf(const std::string& name) const {
  const auto isOf = [&name](std::string_view prefix) { return name.starts_with(prefix); };
  const bool usual = name == "HEAD" || isOf("refs/heads/") || isOf("refs/remotes/") || isOf("refs/notes/");
  const bool begin = logs_ == "always" ? !isOf("refs/factionos/") : usual && logs_ != "false";
  const std::string path = "logs/" + name;
  const sandbox::Fd parent = begin ? directoryFor(baseOf(name), path)
                                   : openBeneath(baseOf(name), parentOf(path), O_RDONLY | O_DIRECTORY);
  if (!parent && errno == ENOENT) return {};
  if (parent && begin) clearEmptyFolders(parent.get(), leafOf(path));
  const int flags = O_WRONLY | O_APPEND | O_NONBLOCK | (begin ? O_CREAT : 0);
  sandbox::Fd log = parent ? openBeneath(parent.get(), leafOf(path), flags, 0666) : sandbox::Fd();
  if (!log && errno == ENOENT) return {};
  struct stat status {};
  if (!log || fstat(log.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1)
    throw repositoryRefused("reflog_no_plain_file");
  return log;
}

std::vector<sandbox::Fd> RefWriter::logsOf(const std::string& name) const {
  std::vector<sandbox::Fd> logs;
  logs.push_back(logOf(name));
  if (name != "HEAD" && endOf(repository_, "HEAD") == name) logs.push_back(logOf("HEAD"));
  return logs;
}

std::string RefWriter::commitOf(const std::string& value) const {
  std::string state = value.starts_with(kSymbolic)
                          ? refStateOf(repository_, endOf(repository_, value.substr(kSymbolic.size())))
                          : value;
  return state.size() == GIT_OID_HEXSZ ? state : std::string(GIT_OID_HEXSZ, '0');
}

struct RefWriter::Held::One {
  RefEdit ref;
  Lock lock;
  std::vector<sandbox::Fd> logs = {};
};

RefWriter::Held::Held() = default;
RefWriter::Held::Held(Held&&) noexcept = default;
RefWriter::Held::~Held() = default;

RefWriter::Held RefWriter::hold(std::span<const RefEdit> refs) const {
  Held held;
  for (const RefEdit& ref : refs) {
    const bool isNew = ref.before.empty() && !ref.name.starts_with("refs/factionos/");
    if (isNew) mustBeFree(ref.name);
    const std::string content = ref.after.empty() ? std::string() : ref.after + "\n";
    held.all_.push_back(
        std::unique_ptr<Held::One>(new Held::One{ref, Lock(baseOf(ref.name), ref.name, actionId_, content)}));
    Held::One& one = *held.all_.back();
    if (refStateOf(repository_, ref.name) != ref.before) throw Refusal{"state_moved", "ref_moved"};
    if (ref.after.empty()) {
      if (!held.packed_ && isPacked(ref.name))
        held.packed_ = std::make_unique<Lock>(commonDir_, kPackedRefs, actionId_);
      continue;
    }
    clearEmptyFolders(one.lock.parent(), one.lock.leaf());
    one.logs = logsOf(ref.name);
  }
  return held;
}

void RefWriter::write(Held held, const std::string& message) const {
  for (const auto& one : held.all_) write(*one, held.packed_, message);
}

void RefWriter::write(const RefEdit& ref, const std::string& message) const {
  write(hold({&ref, 1}), message);
}

void RefWriter::refuseWhatHoldWould(std::span<const RefEdit> refs) const {
  for (const RefEdit& ref : refs) {
    if (ref.before.empty() && ref.name.starts_with(kHeads)) mustBeFree(ref.name);
    const sandbox::Fd parent = openBeneath(baseOf(ref.name), parentOf(ref.name), O_RDONLY | O_DIRECTORY);
    const auto age = parent ? LockFile::ageOf(parent.get(), leafOf(ref.name)) : std::nullopt;
    if (age) throw lockedFor(*age);
    const auto packed =
        ref.after.empty() && isPacked(ref.name) ? LockFile::ageOf(commonDir_, kPackedRefs) : std::nullopt;
    if (packed) throw lockedFor(*packed);
  }
}

void RefWriter::write(Held::One& one, std::unique_ptr<Lock>& packed, const std::string& message) const {
  const RefEdit& ref = one.ref;
  if (ref.after.empty()) return remove(one.lock, ref.name, packed);
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char zone[16];
  std::strftime(zone, sizeof zone, "%z", &local);
  const std::string line = commitOf(ref.before) + " " + commitOf(ref.after) + " " + person_ + " " +
                           std::to_string(now) + " " + zone + "\t" + message + "\n";
  // While it is locked, as git does: nobody else's line comes between.
  for (const sandbox::Fd& log : one.logs)
    if (log) mustWrite(writeAll(log.get(), line));
  one.lock.put();
}

void RefWriter::set(const std::string& name, const std::string& after) const {
  write({name, refStateOf(repository_, name), after}, "factionos snapshot");
}

void RefWriter::bring(const std::vector<NewRef>& refs, const std::vector<sandbox::Fd>& first) const {
  constexpr std::size_t kMostOpen = 64;  // of descriptors
  for (std::size_t at = 0; at < refs.size(); at += kMostOpen)
    bringSome(std::span(refs).subspan(at, std::min(kMostOpen, refs.size() - at)), first);
}

void RefWriter::bringSome(std::span<const NewRef> refs, const std::vector<sandbox::Fd>& first) const {
  Folders folders;
  Folders above;
  std::vector<ComingFile> coming;
  coming.reserve(refs.size());
  std::vector<int> files;
  for (const sandbox::Fd& each : first) files.push_back(each.get());
  for (const NewRef& ref : refs) {
    sandbox::Fd& folder = folders[parentOf(ref.name)];
    if (!folder) folder = directoryFor(commonDir_, ref.name, &above);
    if (!folder) throw repositoryRefused("reference_unreadable");
    coming.emplace_back(folder.get(), leafOf(ref.name), actionId_, ref.value + "\n");
    files.push_back(coming.back().file());
  }
  git::makeDurable(files, "reference");
  for (ComingFile& each : coming) each.put();
  files.clear();
  for (const Folders* each : {&folders, &above})
    for (const auto& [path, folder] : *each) files.push_back(folder.get());
  git::makeDurable(files, "reference");
}

bool RefWriter::copy(const std::string& from, const std::string& to) const {
  const sandbox::Fd folder = openBeneath(commonDir_, parentOf(to), O_RDONLY | O_DIRECTORY);
  struct stat status {};
  const std::string lock = leafOf(to) + ".lock";
  if (!folder || fstatat(folder.get(), lock.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ||
      linkat(folder.get(), leafOf(from).c_str(), folder.get(), leafOf(to).c_str(), 0) != 0)
    return false;
  mustWrite(fsync(folder.get()) == 0);
  return true;
}

// No branch lies in another one: packed ones are no directories.
void RefWriter::mustBeFree(const std::string& name) const {
  for (std::size_t slash = name.find('/', 5); slash != std::string::npos; slash = name.find('/', slash + 1))
    if (!refStateOf(repository_, name.substr(0, slash)).empty()) throw Refusal{"exists", "object_or_ref"};
  const auto iterator =
      make<ReferenceIterator>(git_reference_iterator_glob_new, repository_, (name + "/*").c_str());
  const char* below = nullptr;
  if (git_reference_next_name(&below, iterator.get()) == 0) throw Refusal{"exists", "object_or_ref"};
}

void RefWriter::remove(const Lock& lock, const std::string& name, std::unique_ptr<Lock>& packed) const {
  removePacked(name, packed);
  mustWrite(unlinkat(lock.parent(), lock.leaf().c_str(), 0) == 0 || errno == ENOENT);
  const sandbox::Fd logs = openBeneath(baseOf(name), parentOf("logs/" + name), O_RDONLY | O_DIRECTORY);
  if (logs) unlinkat(logs.get(), lock.leaf().c_str(), 0);
}

bool RefWriter::isPacked(const std::string& name) const {
  const auto text = readSmall(commonDir_, kPackedRefs, kMostPackedBytes);
  struct stat status {};
  if (!text && (fstatat(commonDir_, kPackedRefs, &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT))
    throw repositoryRefused("reference_unreadable");
  return text && text->find(" " + name + "\n") != std::string::npos;
}

// It may have been packed only just now.
void RefWriter::removePacked(const std::string& name, std::unique_ptr<Lock>& packed) const {
  if (!isPacked(name)) return;
  if (!packed) packed = std::make_unique<Lock>(commonDir_, kPackedRefs, actionId_);
  const auto now = readSmall(commonDir_, kPackedRefs, kMostPackedBytes);
  mustWrite(now.has_value());
  std::string kept;
  bool dropped = false;
  for (std::string_view rest = *now; !rest.empty();) {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    rest.remove_prefix(line.size());
    dropped = line.ends_with(" " + name + "\n") || (dropped && line.starts_with('^'));  // what a tag peels to
    if (!dropped) kept += line;
  }
  packed->replace(kept);
}

void RefWriter::removeLocks(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    const sandbox::Fd parent = openBeneath(baseOf(name), parentOf(name), O_RDONLY | O_DIRECTORY);
    if (parent) LockFile::removeLeft(parent.get(), leafOf(name), actionId_);
  }
  LockFile::removeLeft(commonDir_, kPackedRefs, actionId_);
  // Those of this action, and of older ones that it let go of.
  const sandbox::Fd snapshots = openBeneath(commonDir_, "refs/factionos", O_RDONLY | O_DIRECTORY);
  if (snapshots) LockFile::removeAllLeft(snapshots.get(), actionId_);
}

}  // namespace factionos::git
