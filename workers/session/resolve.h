// Finding a program: from a name that a caller wrote to an open descriptor whose real path is known.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "sandbox/descriptors.h"
#include "workers/session/denied.h"

namespace factionos::session {

enum class Place {
  kSystem,     // below a system directory
  kProfile,    // below a directory that the session profile lists
  kWorkspace,  // inside of the workspace
};

struct Found {
  sandbox::Fd file;  // open for reading, regular, executable for us
  std::string path;  // real path
  Place place = Place::kSystem;
};

enum class Executable { kRequired, kIndifferent };

class Resolver {
 public:
  // `workspace` (O_PATH, borrowed) and its real path; `profileDirectories` are absolute and real.
  Resolver(int workspace, std::string workspacePath, std::vector<std::string> profileDirectories);

  // A name without a slash is looked up in kSearchPath and never in the workspace; an absolute path must lie
  // in a system or profile directory or in the workspace, by its text alone: of others nothing is looked at,
  // so that the answer tells nothing about them. Any other path is relative to the workspace. A path in the
  // workspace may not leave it, nor may a symbolic link on the way. Denied: program_not_found,
  // program_outside, program_not_regular, program_not_executable, program_unreadable, program_busy.
  [[nodiscard]] std::variant<Found, Denied> program(const std::string& name) const;

  // A regular file inside of the workspace by the name that a program started there would use for it; no
  // descriptor if it is something else, somewhere else, or not readable. Denied: program_busy.
  [[nodiscard]] std::variant<sandbox::Fd, Denied> operand(const std::string& name) const;

  // `name` as a path relative to the workspace, without looking at a file; empty if it lies elsewhere.
  [[nodiscard]] std::string inWorkspace(const std::string& name) const;

  [[nodiscard]] const std::string& workspacePath() const { return workspacePath_; }

 private:
  [[nodiscard]] sandbox::Fd open(const std::string& path) const;
  [[nodiscard]] std::variant<Found, Denied> search(const std::string& name) const;
  [[nodiscard]] std::variant<Found, Denied> judge(sandbox::Fd handle) const;
  [[nodiscard]] bool place(const std::string& path, Place& place) const;

  int workspace_;
  std::string workspacePath_;
  std::vector<std::string> profileDirectories_;
};

// The path that the kernel knows an open descriptor by; empty if it was removed or has none.
std::string realPath(int descriptor);

// Whether a path led from `start` to what is open as `file` by the names in it alone: no link, no "..".
bool ledByNames(int start, std::string_view path, int file);

// openat2 below `directory`: no "..", symbolic link or mount trick leads out, no magic link is followed.
// Empty on failure with errno set.
sandbox::Fd openBeneath(int directory, const std::string& path, int flags);

}  // namespace factionos::session
