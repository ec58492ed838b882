#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "broker/home/home.h"
#include "broker/home/result.h"
#include "sandbox/workspace.h"

namespace factionos::home {

struct WorkspaceRefusal {
  sandbox::WorkspaceRule rule;
  Problem problem;  // message and remedy; names no path
};

struct CheckedWorkspace {
  sandbox::Fd fd;    // O_PATH | O_DIRECTORY
  std::string path;  // resolved
};

// sandbox::WorkspaceRules in the operator's words: for what the operator types and configures. The launcher
// asks the same rules again, itself, before every start.
class WorkspaceGuard {
 public:
  static Result<WorkspaceGuard> create(
      const Home& home, sandbox::WorkspaceSources sources = sandbox::WorkspaceSources::fromProcess());

  // Symbolic links are resolved; the resolved path is what gets stored.
  [[nodiscard]] std::variant<CheckedWorkspace, WorkspaceRefusal> checkTyped(std::string_view path) const;

  // As it will be judged at every launch: no component may be a symbolic link.
  [[nodiscard]] std::variant<CheckedWorkspace, WorkspaceRefusal> checkStored(std::string_view path) const;

  // For [profile] program_dirs and readable_dirs.
  [[nodiscard]] std::optional<WorkspaceRefusal> checkProfileDirectory(std::string_view path) const;

  [[nodiscard]] const sandbox::WorkspaceRules& rules() const { return rules_; }

 private:
  explicit WorkspaceGuard(sandbox::WorkspaceRules rules) : rules_(std::move(rules)) {}
  sandbox::WorkspaceRules rules_;
};

}  // namespace factionos::home
