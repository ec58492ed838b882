// Where a path of a caller leads: the directory that holds its last part, held open, and that part. Whoever
// acts on both acts on what was judged, whatever becomes of the path.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/descriptors.h"
#include "workers/session/caller.h"

namespace factionos::session {

struct Location {
  sandbox::Fd parent;     // O_PATH
  std::string name;       // the last part without a slash; "." or ".." name a directory
  std::string directory;  // the parent's real path
  bool trailingSlash = false;
  sandbox::Fd file;  // set instead of the others: a link of /proc led to this very file (O_PATH)

  [[nodiscard]] std::string last() const { return trailingSlash ? name + "/" : name; }
};

// One path of one call. Links of /proc lead where they would lead the caller, and never into this process.
class Walk {
 public:
  explicit Walk(const Caller& caller) : caller_(caller) {}

  // 0 or an errno. The last part is not followed.
  int to(int directory, const std::string& path, Location& location);
  // The same, of a path that begins at `start`, or at the root if it begins with a slash.
  int from(sandbox::Fd start, const std::string& path, Location& location);
  // The last part is a link: on to where it leads.
  int follow(Location& location);

 private:
  int parentOf(sandbox::Fd start, std::string_view path, sandbox::Fd& parent);
  int step(sandbox::Fd& at, std::string& rest);
  int stepOverLink(sandbox::Fd& at, const std::string& part, std::string& rest);
  int settle(sandbox::Fd start, std::string path, Location& location);
  int readLink(int parent, const std::string& name, sandbox::Fd& magic, std::string& text);

  const Caller& caller_;
  int links_ = 0;
};

}  // namespace factionos::session
