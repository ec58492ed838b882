// What one action changes, item by item, with the state before and after: enough to carry it out, to undo it,
// and to tell after a crash how far it came. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <git2/oid.h>

namespace factionos::git {

// Of a file git knows whether its owner may execute it, and nothing else; its oldest trees hold more.
std::uint32_t canonicalMode(std::uint32_t mode);

// A tracked file at one place. Mode 0: it is not there.
struct FileState {
  std::uint32_t mode = 0;
  git_oid id{};

  [[nodiscard]] bool there() const { return mode != 0; }
  friend bool operator==(const FileState& a, const FileState& b) {
    return a.mode == b.mode && (a.mode == 0 || git_oid_equal(&a.id, &b.id) != 0);
  }
};

// Of stages 0 to 3. One that has no conflict has stage 0 alone.
struct IndexState {
  FileState stages[4];
  bool intended = false;  // stage 0 says that it is to be added one day (`git add --intent-to-add`)
  friend bool operator==(const IndexState&, const IndexState&) = default;
};

struct RefEdit {
  std::string name;
  std::string before;  // 40 digits, "ref: refs/heads/…" for HEAD, or empty: it is not there
  std::string after;
};
struct IndexEdit {
  std::string path;
  IndexState before;
  IndexState after;
};
struct FileEdit {
  std::string path;
  FileState before;
  FileState after;
};
struct WorktreeEdit {
  enum class What { kAdd, kRemove };
  What what = What::kAdd;
  std::string name;
  std::string directory;  // relative to the workspace
  std::string head;       // "ref: refs/heads/…" or 40 digits
};

// What a remote's own branch is to become.
struct PushEdit {
  std::string remote;
  std::string ref;
  std::string before;
  std::string after;
};

struct ChangeSet {
  std::string operation;
  std::vector<FileEdit> files;  // carried out in this order …
  std::vector<IndexEdit> index;
  std::vector<RefEdit> refs;  // … HEAD last
  std::optional<WorktreeEdit> worktree;
  std::optional<PushEdit> push;

  [[nodiscard]] bool empty() const {
    return files.empty() && index.empty() && refs.empty() && !worktree && !push;
  }
  // The remote's too.
  [[nodiscard]] std::uint32_t movedRefs() const {
    return static_cast<std::uint32_t>(refs.size() + (push ? 1 : 0));
  }
};

// The same the other way round; a push has none.
ChangeSet inverse(const ChangeSet& set, std::string operation);

// One line an item; paths with every byte but plain ones as %XX.
std::string encode(const ChangeSet& set);
// Nothing where a name in it is not one that a caller might give: then it is none of ours.
std::optional<ChangeSet> decode(std::string_view text);

}  // namespace factionos::git
