// What is in the way of the files that a change writes.
#include <unordered_set>

#include <fcntl.h>
#include <sys/stat.h>

#include "sandbox/entries.h"
#include "workers/git/files.h"
#include "workers/git/plan.h"

namespace factionos::git {
namespace {

class InTheWay {
 public:
  InTheWay(const Planning& planning, const std::vector<FileEdit>& files)
      : planning_(planning), writer_(planning.writer()) {
    // What was judged to be there as it is tracked.
    for (const FileEdit& file : files)
      if (file.before.there() && file.before.mode != GIT_FILEMODE_COMMIT) known_.insert(file.path);
  }

  [[nodiscard]] std::size_t of(const FileEdit& file) {
    if (file.before.mode == GIT_FILEMODE_COMMIT && file.after.mode == GIT_FILEMODE_COMMIT) return 0;
    if (!file.after.there() || known_.contains(file.path) || liesBelowKnown(file.path)) return 0;
    switch (writer_.at(file.path)) {
      case TreeWriter::There::kNothing:
        return 0;
      case TreeWriter::There::kDirectory:
        return file.after.mode == GIT_FILEMODE_COMMIT
                   ? 0
                   : within(planning_.opened.workTree(), file.path, file.path);
      case TreeWriter::There::kFile:
      case TreeWriter::There::kInTheWay:
        return 1;
    }
    return 1;
  }

  // Of a protected name, in a directory that becomes a file; empty, or with what is counted itself.
  [[nodiscard]] std::size_t protectedFolders() const { return protectedFolders_; }

 private:
  // A file that becomes a directory.
  [[nodiscard]] bool liesBelowKnown(const std::string& path) const {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      if (known_.contains(path.substr(0, slash))) return true;
    return false;
  }

  // What of a directory the change does not take away itself: `name` in `parent`, as `path`. One that can't
  // be looked at counts as one.
  [[nodiscard]] std::size_t within(int parent, const std::string& name, const std::string& path) {
    if (planning_.patience.over()) throw Refusal{"timed_out", "untracked"};
    const sandbox::DirectoryStream stream =
        sandbox::streamOf(openBeneath(parent, name, O_RDONLY | O_DIRECTORY));
    if (!stream) return 1;
    std::size_t count = 0;
    while (const dirent* entry = sandbox::nextEntry(stream.get())) {
      const std::string inner = path + "/" + entry->d_name;
      struct stat status {};
      const bool told = fstatat(dirfd(stream.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
      if (told && S_ISDIR(status.st_mode)) {
        if (isProtected(planning_, inner)) ++protectedFolders_;
        count += within(dirfd(stream.get()), entry->d_name, inner);
      } else if (!known_.contains(inner)) {
        ++count;
      }
    }
    return count;
  }

  const Planning& planning_;
  TreeWriter writer_;
  std::unordered_set<std::string> known_;
  std::size_t protectedFolders_ = 0;
};

}  // namespace

void mustNotOverwrite(const Planning& planning, const std::vector<FileEdit>& files) {
  InTheWay way(planning, files);
  std::size_t count = 0;
  for (const FileEdit& file : files) count += way.of(file);
  if (count > 0) throw Refusal{"would_overwrite", "untracked", std::to_string(count)};
  if (way.protectedFolders() > 0)
    throw Refusal{"path_protected", "files", std::to_string(way.protectedFolders())};
}

}  // namespace factionos::git
