#include "workers/git/suspects.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/entries.h"
#include "workers/git/files.h"

namespace factionos::git {
namespace {

// With more of them libgit2's own walk is as fast.
constexpr std::size_t kMostSuspects = 1000;
// The kernel answers several threads at once, and what a look costs is the kernel's: more of them than
// this would only wait for each other, and for fewer entries than this one is done before another has begun.
constexpr std::size_t kMostThreads = 4;
constexpr std::size_t kEntriesOfOne = 500;
constexpr const char* kEmptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

// When the index was written that is in memory. Nothing if another one has taken its place since.
std::optional<timespec> writtenAt(git_index* index) {
  const sandbox::Fd file(open(git_index_path(index), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  std::array<unsigned char, GIT_OID_RAWSZ> sum{};
  const git_oid* known = git_index_checksum(index);
  if (!file || known == nullptr || git_oid_is_zero(known) != 0 || fstat(file.get(), &status) != 0 ||
      status.st_size < GIT_OID_RAWSZ ||
      pread(file.get(), sum.data(), sum.size(), status.st_size - GIT_OID_RAWSZ) != GIT_OID_RAWSZ ||
      std::memcmp(sum.data(), known->id, sum.size()) != 0)
    return std::nullopt;
  return status.st_mtim;
}

// The look of several threads at a tree, a directory of it at a time.
class Look {
 public:
  Look(git_repository* repository, git_index* index, NewNames names, timespec written, bool modes,
       Patience& patience);

  // From `top` on. False: it can't tell. Rethrows what any of the threads has thrown.
  bool into(sandbox::Fd top);
  std::vector<std::string> take() { return std::move(suspects_); }

 private:
  // One that is still to be looked at, with those that it lies in held open: entries [begin, end) are what is
  // tracked below it, `path` ends with a slash. The top has no parent and is `open` already.
  struct Directory {
    std::shared_ptr<DIR> parent;
    std::string path;
    std::size_t begin;
    std::size_t end;
    sandbox::Fd open = {};
  };
  // What one look at one directory has found, before anybody else knows of it.
  struct Seen {
    bool whole = true;
    std::vector<std::string> suspects;
    std::vector<std::string> newNames;
    std::vector<Directory> below;
  };
  class Turn;

  [[nodiscard]] std::string_view nameAt(std::size_t at, const std::string& path) const {
    return entries_[at]->path + path.size();
  }
  [[nodiscard]] std::size_t endOf(std::size_t begin, std::size_t end, const std::string& directory) const;
  [[nodiscard]] bool isUnchanged(const git_index_entry& entry, const struct stat& status) const;
  void judge(int directory, const git_index_entry& entry, const char* name, Seen& seen) const;
  void addGone(const Directory& directory, Seen& seen) const;
  void addNewNames(DIR* stream, const std::string& path, std::vector<std::string_view> known,
                   Seen& seen) const;
  [[nodiscard]] Seen lookAt(Directory directory) const;
  bool isNew(const std::string& path);
  void keep(Seen seen);
  void work();

  git_repository* repository_;
  NewNames names_;
  timespec written_;
  bool modes_;
  Patience& patience_;
  git_oid emptyBlob_{};
  std::vector<const git_index_entry*> entries_;  // libgit2 is asked for none of them meanwhile

  std::mutex mutex_;  // of all that follows, of `patience_`, and of every call of libgit2's
  std::condition_variable changed_;
  std::vector<Directory> waiting_;  // the last is the next, so that few are held open
  unsigned underWay_ = 0;
  bool whole_ = true;
  std::exception_ptr failure_ = nullptr;
  std::vector<std::string> suspects_;
};

Look::Look(git_repository* repository, git_index* index, NewNames names, timespec written, bool modes,
           Patience& patience)
    : repository_(repository), names_(names), written_(written), modes_(modes), patience_(patience) {
  git_oid_fromstr(&emptyBlob_, kEmptyBlob);
  entries_.resize(git_index_entrycount(index));
  for (std::size_t at = 0; at < entries_.size(); ++at) entries_[at] = git_index_get_byindex(index, at);
}

// git's rule: what has the recorded times, size and number is unchanged, unless it was written in the moment
// in which the index was, or later.
bool Look::isUnchanged(const git_index_entry& entry, const struct stat& status) const {
  const auto same = [](const git_index_time& time, const timespec& now) {
    return time.seconds == static_cast<std::int32_t>(now.tv_sec) &&
           time.nanoseconds == static_cast<std::uint32_t>(now.tv_nsec);
  };
  const auto& changed = status.st_mtim;
  const bool settled = changed.tv_sec < written_.tv_sec ||
                       (changed.tv_sec == written_.tv_sec && changed.tv_nsec < written_.tv_nsec);
  const bool link = entry.mode == GIT_FILEMODE_LINK;
  const bool kind = link ? S_ISLNK(status.st_mode) : S_ISREG(status.st_mode);
  const bool executable = (status.st_mode & S_IXUSR) != 0;
  const bool mode = link || !modes_ || executable == (entry.mode == GIT_FILEMODE_BLOB_EXECUTABLE);
  // A size of 0 also marks an entry that git itself does not trust.
  const bool size = entry.file_size == static_cast<std::uint32_t>(status.st_size) &&
                    (entry.file_size != 0 || git_oid_equal(&entry.id, &emptyBlob_) != 0);
  return settled && kind && mode && size && same(entry.mtime, status.st_mtim) &&
         same(entry.ctime, status.st_ctim) && entry.ino == static_cast<std::uint32_t>(status.st_ino) &&
         entry.uid == status.st_uid && entry.gid == status.st_gid;
}

void Look::judge(int directory, const git_index_entry& entry, const char* name, Seen& seen) const {
  if ((entry.flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0) return;
  const bool plain = GIT_INDEX_ENTRY_STAGE(&entry) == 0 && entry.mode != GIT_FILEMODE_COMMIT &&
                     (entry.flags_extended & GIT_INDEX_ENTRY_INTENT_TO_ADD) == 0;
  struct stat status {};
  if (plain && fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && isUnchanged(entry, status))
    return;
  // One with a conflict has up to three entries.
  if (seen.suspects.empty() || seen.suspects.back() != entry.path) seen.suspects.emplace_back(entry.path);
}

// One by one: nobody has promised that an index is in order, and each of them is known by its beginning from
// here on.
std::size_t Look::endOf(std::size_t begin, std::size_t end, const std::string& directory) const {
  while (begin < end && std::strncmp(entries_[begin]->path, directory.data(), directory.size()) == 0) ++begin;
  return begin;
}

// Nothing that is tracked below it is there.
void Look::addGone(const Directory& directory, Seen& seen) const {
  for (std::size_t at = directory.begin; at < directory.end; ++at) {
    const bool leftOut = (entries_[at]->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0;
    if (!leftOut) seen.suspects.emplace_back(entries_[at]->path);
    if (seen.suspects.size() > kMostSuspects) return;
  }
}

void Look::addNewNames(DIR* stream, const std::string& path, std::vector<std::string_view> known,
                       Seen& seen) const {
  std::ranges::sort(known);
  while (const dirent* entry = sandbox::nextEntry(stream)) {
    const std::string_view name = entry->d_name;
    // libgit2, which is asked about new names alone, would take the folder for a repository and tell nothing.
    if (name == ".git" && !path.empty()) seen.whole = false;
    if (name == ".git" || std::ranges::binary_search(known, name)) continue;
    seen.newNames.push_back(path + std::string(name));
  }
}

Look::Seen Look::lookAt(Directory directory) const {
  Seen seen;
  const std::string& path = directory.path;
  if (directory.parent) {
    const std::string name = path.substr(path.rfind('/', path.size() - 2) + 1);
    directory.open = openBeneath(dirfd(directory.parent.get()), name, O_RDONLY | O_DIRECTORY);
    const int why = directory.open ? 0 : errno;
    // What is there instead is a name like any other.
    if ((why == ENOTDIR || why == ELOOP) && names_ != NewNames::kLeftOut)
      seen.newNames.push_back(path.substr(0, path.size() - 1));
    if (why == ENOENT || why == ENOTDIR || why == ELOOP) {
      addGone(directory, seen);
      return seen;
    }
  }
  const std::shared_ptr<DIR> stream =
      directory.open ? sandbox::streamOf(std::move(directory.open)) : sandbox::DirectoryStream();
  seen.whole = stream != nullptr;
  if (!stream) return seen;
  const int handle = dirfd(stream.get());
  std::vector<std::string_view> known;
  for (std::size_t at = directory.begin; at < directory.end && seen.suspects.size() <= kMostSuspects;) {
    const std::string_view name = nameAt(at, path);
    const std::size_t slash = name.find('/');
    known.push_back(name.substr(0, slash));
    if (slash == std::string_view::npos) {
      judge(handle, *entries_[at], name.data(), seen);
      ++at;
      continue;
    }
    std::string below = path + std::string(name.substr(0, slash + 1));
    const std::size_t end = endOf(at, directory.end, below);
    seen.below.push_back({stream, std::move(below), at, end});
    at = end;
  }
  if (names_ != NewNames::kLeftOut) addNewNames(stream.get(), path, std::move(known), seen);
  return seen;
}

bool Look::isNew(const std::string& path) {
  int ignored = 0;
  must(git_ignore_path_is_ignored(&ignored, repository_, path.c_str()));
  return ignored == 0;
}

void Look::keep(Seen seen) {
  std::ranges::move(seen.suspects, std::back_inserter(suspects_));
  for (std::string& path : seen.newNames) {
    if (!isNew(path)) continue;
    seen.whole = seen.whole && names_ != NewNames::kEndTheLook;
    suspects_.push_back(std::move(path));
    if (!seen.whole || suspects_.size() > kMostSuspects) break;
  }
  whole_ = whole_ && seen.whole && suspects_.size() <= kMostSuspects;
  // The first of them next, as they lie on the disk.
  std::move(seen.below.rbegin(), seen.below.rend(), std::back_inserter(waiting_));
}

// A directory of the work that is done, whatever comes of it.
class Look::Turn {
 public:
  explicit Turn(Look& look) : look_(look) { ++look_.underWay_; }
  ~Turn() {
    --look_.underWay_;
    look_.changed_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Look& look_;
};

void Look::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this]() { return !whole_ || !waiting_.empty() || underWay_ == 0; });
    if (whole_ && patience_.over()) whole_ = false;
    if (!whole_ || waiting_.empty()) return changed_.notify_all();
    const Turn turn(*this);
    try {
      Directory directory = std::move(waiting_.back());
      waiting_.pop_back();
      lock.unlock();
      Seen seen = lookAt(std::move(directory));
      lock.lock();
      keep(std::move(seen));
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      failure_ = std::current_exception();
      whole_ = false;
    }
  }
}

bool Look::into(sandbox::Fd top) {
  waiting_.push_back({nullptr, {}, 0, entries_.size(), std::move(top)});
  {
    std::vector<std::jthread> others;
    const std::size_t most = std::min<std::size_t>(std::thread::hardware_concurrency(), kMostThreads);
    try {
      while (others.size() + 1 < std::min(most, entries_.size() / kEntriesOfOne))
        others.emplace_back([this]() { work(); });
    } catch (const std::system_error&) {
      // Where no more can be had, those that there are do it.
    }
    work();
  }
  if (failure_) std::rethrow_exception(failure_);
  return whole_;
}

int boolean(git_config* config, const char* key, int otherwise) {
  int value = otherwise;
  return git_config_get_bool(&value, config, key) == 0 ? value : otherwise;
}

}  // namespace

std::optional<std::vector<std::string>> suspectsIn(git_repository* repository, git_index* index, int workTree,
                                                   NewNames names, Patience& patience) {
  git_config* raw = nullptr;
  must(git_repository_config_snapshot(&raw, repository));
  const Config config(raw);
  // Names that are equal in spite of their letters, and links that are kept as files, are libgit2's to judge.
  if (boolean(raw, "core.ignorecase", 0) != 0 || boolean(raw, "core.symlinks", 1) == 0) return std::nullopt;
  const auto written = writtenAt(index);
  sandbox::Fd top = openBeneath(workTree, ".", O_RDONLY | O_DIRECTORY);
  if (!written || !top) return std::nullopt;
  Look look(repository, index, names, *written, boolean(raw, "core.filemode", 1) != 0, patience);
  if (!look.into(std::move(top))) return std::nullopt;
  return look.take();
}

}  // namespace factionos::git
