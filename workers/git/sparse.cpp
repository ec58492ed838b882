#include "workers/git/sparse.h"

#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>

#include "workers/git/files.h"

namespace factionos::git {
namespace {

// Whether paths are there, asked in the index's order: below a directory that is not there nothing is.
class Presence {
 public:
  explicit Presence(int workTree) : workTree_(workTree) {}

  bool of(std::string_view path) {
    if (!absent_.empty() && path.starts_with(absent_)) return false;
    if (isThere(std::string(path))) return true;
    for (std::size_t end = path.find('/'); end != std::string_view::npos; end = path.find('/', end + 1)) {
      if (isThere(std::string(path.substr(0, end)))) continue;
      absent_ = path.substr(0, end + 1);
      break;
    }
    return false;
  }

 private:
  [[nodiscard]] bool isThere(const std::string& path) const {
    struct stat status {};
    return fstatat(workTree_, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  }

  int workTree_;
  std::string absent_;
};

bool isOn(git_repository* repository, const char* key) {
  const Config config = make<Config>(git_repository_config_snapshot, repository);
  int on = 0;
  return git_config_get_bool(&on, config.get(), key) == 0 && on != 0;
}

// The marks alone: adding the entry anew would drop what git noted of the file's times.
git_index_entry& marksOf(const git_index_entry* entry) {
  return *const_cast<git_index_entry*>(entry);
}

constexpr std::size_t kMostPatternBytes = std::size_t{1} << 20;

// Names that are equal in spite of their letters are git's to compare.
std::optional<Cone> coneOf(const Opened& opened) {
  if (!isOn(opened.repository, "core.sparsecheckoutcone") || isOn(opened.repository, "core.ignorecase"))
    return std::nullopt;
  const auto text = readSmall(opened.place.gitDir.handle.get(), "info/sparse-checkout", kMostPatternBytes);
  return text ? Cone::of(*text) : std::nullopt;
}

void unmarkLeftOut(const Opened& opened, git_index* index) {
  Presence presence(opened.workTree());
  for (std::size_t i = 0; i < git_index_entrycount(index); ++i) {
    const git_index_entry* entry = git_index_get_byindex(index, i);
    if ((entry->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) == 0 || !presence.of(entry->path)) continue;
    marksOf(entry).flags_extended &= static_cast<std::uint16_t>(~GIT_INDEX_ENTRY_SKIP_WORKTREE);
  }
}

}  // namespace

bool isSparseCheckout(git_repository* repository) {
  return isOn(repository, "core.sparsecheckout");
}

void unmarkWhatIsThere(const Opened& opened, git_index* index) {
  if (isSparseCheckout(opened.repository)) unmarkLeftOut(opened, index);
}

void unmarkWhateverIsThere(const Opened& opened, git_index* index) {
  unmarkLeftOut(opened, index);
  for (std::size_t i = 0; i < git_index_entrycount(index); ++i)
    marksOf(git_index_get_byindex(index, i)).flags &= static_cast<std::uint16_t>(~GIT_INDEX_ENTRY_VALID);
}

LeftOut::LeftOut(const Opened& opened, git_index* index)
    : index_(index), sparse_(isSparseCheckout(opened.repository)) {
  if (sparse_) cone_ = coneOf(opened);
}

std::optional<bool> LeftOut::of(const std::string& path) const {
  const git_index_entry* entry = git_index_get_bypath(index_, path.c_str(), GIT_INDEX_STAGE_NORMAL);
  const bool marked = isMarkedLeftOut(index_, path);
  if (!sparse_) return marked ? std::nullopt : std::optional(false);
  if (!cone_) return entry == nullptr ? std::nullopt : std::optional(marked);
  const bool leftOut = !cone_->holds(path);
  return entry == nullptr || marked == leftOut ? std::optional(leftOut) : std::nullopt;
}

bool isMarkedLeftOut(git_index* index, const std::string& path) {
  const git_index_entry* entry = git_index_get_bypath(index, path.c_str(), GIT_INDEX_STAGE_NORMAL);
  return entry != nullptr && (entry->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0;
}

}  // namespace factionos::git
