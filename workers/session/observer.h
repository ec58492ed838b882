// Says why something was not to be had: looks again, as the command would, at a copy of the path, and counts
// what was denied by a rule of ours. It decides nothing: the kernel has answered, or answers, by itself, and
// what is seen here may have changed since. What is not there, and what file modes forbid, is nobody's
// denial.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workers/session/caller.h"
#include "workers/session/denial_table.h"
#include "workers/session/file_calls.h"

namespace factionos::session {

// Directories of the machine as it was before the command's mounts, O_PATH, to ask whether something is there
// at all. Through them nothing can be opened: Landlock holds, and the gofer's filter refuses their numbers
// (gofer_policy.h).
struct Machine {
  struct Tree {
    std::string path;
    sandbox::Fd handle;
  };
  std::vector<Tree> trees;  // "/", the user's home, FactionOS's; what is mounted between is not seen

  std::string home;  // of the user; empty: not known

  static Machine open(const std::string& state, const std::string& home);
  [[nodiscard]] bool has(const std::string& path, int mode) const;  // as access(2)
};

// Of this process's user, by the user database; empty if it has none.
std::string homeOfUser();

class Observer final : public Failures {
 public:
  struct Setting {
    DenialTable& denials;
    std::string workspace;
    std::string state;              // FactionOS's home; empty if it is not known
    std::vector<std::string> open;  // trees that the command may read
    std::vector<std::string> own;   // that it may do everything in
    Machine machine;
    bool mounted = false;
    std::uint16_t apiPort = 0;  // that Landlock keeps from the command; 0: none
  };
  explicit Observer(Setting setting) : setting_(std::move(setting)) {}

  // A call of FileCalls that the kernel refused.
  void failed(DeniedOperation operation, const Location& location, int error) override;
  // A call that goes on meanwhile: opening for reading, executing, entering a directory, connecting.
  // A relative path begins at `start`.
  void look(DeniedOperation operation, const Caller& caller, sandbox::Fd start, const std::string& path);
  // A connection over TCP that goes on meanwhile.
  void lookAtPort(std::uint16_t port);

 private:
  [[nodiscard]] bool isPlain(const std::string& path) const;
  [[nodiscard]] bool isOpen(int start, const std::string& path) const;
  void lookAt(DeniedOperation operation, const Location& location);
  void lookOutside(DeniedOperation operation, const std::string& path);
  void count(DeniedOperation operation, DenialSource source, std::string_view path);

  Setting setting_;
};

}  // namespace factionos::session
