// What a path leads to for a process inside of a policy's sandbox, found from outside of it: by the mount
// plan and the files of this machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "sandbox/mounts.h"

namespace factionos::sandbox::explain {

// What is there once the process runs and not before: it stands in for a directory or a terminal of its own.
struct MadeLater {
  enum class Kind : std::uint8_t { kDirectory, kTerminal };
  Kind kind = Kind::kDirectory;
  std::string path = {};
};

// A file as the machine tells two apart; where the plan makes it, by its path.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  std::string made = {};
  friend bool operator==(const Identity&, const Identity&) = default;
};

enum class Absence : std::uint8_t {
  kNone,        // it is there
  kNowhere,     // nor is it on the machine
  kNotMounted,  // the machine has it, the plan does not
};

struct Place {
  int error =
      0;  // why the walk ended: ENOENT, ENOTDIR, ELOOP, EACCES (no search permission), ENAMETOOLONG; 0
  Absence absence = Absence::kNone;
  bool lastMissing = false;  // with ENOENT: all but the last name is there, and `parent` says where
  bool perProcess = false;   // a link of /proc, which leads each process elsewhere: nothing below holds
  std::string path = {};     // real, as the process sees it
  std::string parent = {};   // of `path`
  mode_t mode = 0;
  std::string machine = {};          // the path by which this machine reaches it; empty if the plan makes it
  const MountStep* mount = nullptr;  // the innermost mount; null where there is no plan
};

enum class Links : std::uint8_t { kFollow, kKeepLast };

class View {
 public:
  // Without a plan it is the machine's own root. `steps` must outlive this.
  View(const std::vector<MountStep>& steps, const std::vector<MadeLater>& made);

  [[nodiscard]] Place walk(const std::string& absolute, Links links = Links::kFollow) const;
  // Of a real path as walk() gives it.
  [[nodiscard]] Identity identityOf(const std::string& real) const;

 private:
  struct Node {
    enum class Kind : std::uint8_t { kTree, kEmpty, kLink, kProc, kTerminal };
    Kind kind = Kind::kEmpty;
    std::string machine = {};  // kTree: the path that is bound
    std::string link = {};     // kLink: its text
    const MountStep* mount = nullptr;
  };
  struct Entry {
    bool there = false;
    mode_t mode = 0;
    std::string machine = {};
    std::string link = {};
    const MountStep* mount = nullptr;
    bool perProcess = false;
  };

  void take(const MountStep& step);
  void put(const std::string& path, Node node);
  // The innermost node that `path` lies in, and where it begins.
  [[nodiscard]] std::pair<const Node*, std::string_view> nodeOf(const std::string& path) const;
  [[nodiscard]] Entry look(const std::string& path) const;
  [[nodiscard]] bool holdsNodes(const std::string& path) const;
  void finish(Place& place, const std::string& path, const Entry& entry) const;
  Place absent(Place place, const std::string& path, bool last) const;

  std::map<std::string, Node> nodes_;  // by absolute path, "/" among them
};

}  // namespace factionos::sandbox::explain
