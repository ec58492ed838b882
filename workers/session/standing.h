// Where a name stands in the workspace: by the directories that it lies in, whatever they are called. A
// second mount of the same tree has other names for all of them, and so has a workspace that somebody renames
// while a command runs in it; what Landlock allows there it allows by either.
#pragma once

#include <optional>
#include <string>

#include <sys/stat.h>

#include "workers/session/guarded_names.h"
#include "workers/session/location.h"

namespace factionos::session {

class Standing {
 public:
  // `workspace` is absolute and real, and is looked at here. With mounts of its own a command has one name
  // for everything: the kernel's is taken.
  Standing(std::string workspace, Mounted mounted);

  // The path of the directory that the location's name is in: below the workspace's if it lies in that, by
  // whatever name; else the kernel's. Nothing: it lies in it, and it can't be told where.
  [[nodiscard]] std::optional<std::string> directoryOf(const Location& location) const;
  // The same, of a file that is open (O_PATH), with its name. Nothing, too, where its name has gone from it.
  [[nodiscard]] std::optional<std::string> pathOf(int file) const;

 private:
  [[nodiscard]] std::optional<std::string> placed(int directory, std::string path) const;

  std::string workspace_;
  struct stat identity_ {};
  bool byName_;
};

}  // namespace factionos::session
