#include "workers/git/suspects.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/entries.h"
#include "workers/git/files.h"

namespace factionos::git {
namespace {

// With more of them libgit2's own walk is as fast.
constexpr std::size_t kMostSuspects = 1000;
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

class Look {
 public:
  Look(git_repository* repository, git_index* index, NewNames names, timespec written, bool modes,
       Patience& patience)
      : repository_(repository),
        index_(index),
        names_(names),
        written_(written),
        modes_(modes),
        patience_(patience) {
    git_oid_fromstr(&emptyBlob_, kEmptyBlob);
  }

  // Entries [begin, end) are what is tracked below `directory`, whose path is `prefix`. False: it can't tell.
  bool into(sandbox::Fd directory, const std::string& prefix, std::size_t begin, std::size_t end);
  std::vector<std::string> take() { return std::move(suspects_); }

 private:
  [[nodiscard]] const git_index_entry& entryAt(std::size_t at) const {
    return *git_index_get_byindex(index_, at);
  }
  [[nodiscard]] std::string_view nameAt(std::size_t at, const std::string& prefix) const {
    return std::string_view(entryAt(at).path).substr(prefix.size());
  }
  [[nodiscard]] std::size_t endOf(std::size_t begin, std::size_t end, std::string_view directory) const;
  [[nodiscard]] bool isUnchanged(const git_index_entry& entry, const struct stat& status) const;
  bool add(std::string path);
  bool judge(int directory, const git_index_entry& entry, const char* name);
  bool below(int directory, const std::string& path, std::size_t begin, std::size_t end);
  bool addNewNames(DIR* stream, const std::string& prefix, std::vector<std::string_view> known);

  git_repository* repository_;
  git_index* index_;
  NewNames names_;
  timespec written_;
  bool modes_;
  Patience& patience_;
  git_oid emptyBlob_{};
  std::vector<std::string> suspects_;
};

bool Look::add(std::string path) {
  if (suspects_.empty() || suspects_.back() != path) suspects_.push_back(std::move(path));
  return suspects_.size() <= kMostSuspects;
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

bool Look::judge(int directory, const git_index_entry& entry, const char* name) {
  if ((entry.flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0) return true;
  const bool plain = git_index_entry_stage(&entry) == 0 && entry.mode != GIT_FILEMODE_COMMIT &&
                     (entry.flags_extended & GIT_INDEX_ENTRY_INTENT_TO_ADD) == 0;
  struct stat status {};
  if (plain && fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && isUnchanged(entry, status))
    return true;
  return add(entry.path);
}

std::size_t Look::endOf(std::size_t begin, std::size_t end, std::string_view directory) const {
  while (begin < end && std::string_view(entryAt(begin).path).starts_with(directory)) ++begin;
  return begin;
}

bool Look::below(int directory, const std::string& path, std::size_t begin, std::size_t end) {
  if (patience_.over()) return false;
  const std::string name = path.substr(path.rfind('/', path.size() - 2) + 1);
  if (sandbox::Fd inner = openBeneath(directory, name, O_RDONLY | O_DIRECTORY))
    return into(std::move(inner), path, begin, end);
  if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) return false;
  for (std::size_t at = begin; at < end; ++at) {
    const bool leftOut = (entryAt(at).flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0;
    if (!leftOut && !add(entryAt(at).path)) return false;
  }
  return true;
}

bool Look::addNewNames(DIR* stream, const std::string& prefix, std::vector<std::string_view> known) {
  std::ranges::sort(known);
  while (const dirent* entry = sandbox::nextEntry(stream)) {
    const std::string_view name = entry->d_name;
    if (name == ".git" || std::ranges::binary_search(known, name)) continue;
    const std::string path = prefix + std::string(name);
    int ignored = 0;
    must(git_ignore_path_is_ignored(&ignored, repository_, path.c_str()));
    if (ignored != 0) continue;
    if (names_ == NewNames::kEndTheLook || !add(path)) return false;
  }
  return true;
}

bool Look::into(sandbox::Fd directory, const std::string& prefix, std::size_t begin, std::size_t end) {
  const sandbox::DirectoryStream stream = sandbox::streamOf(std::move(directory));
  if (!stream) return false;
  const int handle = dirfd(stream.get());
  std::vector<std::string_view> known;
  for (std::size_t at = begin; at < end;) {
    const std::string_view name = nameAt(at, prefix);
    const std::size_t slash = name.find('/');
    known.push_back(name.substr(0, slash));
    if (slash == std::string_view::npos) {
      if (!judge(handle, entryAt(at), name.data())) return false;
      ++at;
      continue;
    }
    const std::string path = prefix + std::string(name.substr(0, slash + 1));
    const std::size_t next = endOf(at, end, path);
    if (!below(handle, path, at, next)) return false;
    at = next;
  }
  return names_ == NewNames::kLeftOut || addNewNames(stream.get(), prefix, std::move(known));
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
  if (!look.into(std::move(top), {}, 0, git_index_entrycount(index))) return std::nullopt;
  return look.take();
}

}  // namespace factionos::git
