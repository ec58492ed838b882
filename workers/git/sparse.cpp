#include "workers/git/sparse.h"

#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>

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

}  // namespace

bool isSparseCheckout(git_repository* repository) {
  const Config config = make<Config>(git_repository_config_snapshot, repository);
  int sparse = 0;
  return git_config_get_bool(&sparse, config.get(), "core.sparsecheckout") == 0 && sparse != 0;
}

void unmarkWhatIsThere(const Opened& opened, git_index* index) {
  if (!isSparseCheckout(opened.repository)) return;
  Presence presence(opened.workTree());
  for (std::size_t i = 0; i < git_index_entrycount(index); ++i) {
    const git_index_entry* entry = git_index_get_byindex(index, i);
    if ((entry->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) == 0 || !presence.of(entry->path)) continue;
    // The mark alone: adding the entry anew would drop what git noted of the file's times.
    const_cast<git_index_entry*>(entry)->flags_extended &=
        static_cast<std::uint16_t>(~GIT_INDEX_ENTRY_SKIP_WORKTREE);
  }
}

}  // namespace factionos::git
