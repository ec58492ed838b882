#include "broker/policy/operations.h"

#include <algorithm>
#include <array>

namespace factionos::policy {
namespace {

using redaction::Literal;

constexpr Operation reads(Family family, std::string_view name) {
  return {family,
          name,
          Effect::kReadOnly,
          Posture::kAvailable,
          Decided::kByItself,
          Risk::kLow,
          "none",
          Rollback::kAutomatic,
          ""};
}

constexpr Operation changes(Family family, std::string_view name, Risk risk, Literal mutation,
                            Rollback rollback, Literal guidance) {
  return {family,   name,     Effect::kMutating, Posture::kAvailable, Decided::kByItself, risk,
          mutation, rollback, guidance};
}

constexpr Operation inSession(Family family, std::string_view name, Literal mutation, Literal guidance) {
  return {family,
          name,
          Effect::kMutating,
          Posture::kAvailable,
          Decided::kBySession,
          Risk::kMedium,
          mutation,
          Rollback::kNone,
          guidance};
}

// 501, the same bytes every time. Counted as mutating, so that a rule for what only reads never reaches it.
constexpr Operation never(Family family, std::string_view name) {
  return {family,      name,   Effect::kMutating, Posture::kUnavailable, Decided::kByItself,
          Risk::kHigh, "none", Rollback::kNone,   "not implemented"};
}

constexpr Operation pushRow() {
  Operation row = changes(Family::kGit, "push", Risk::kHigh, "a branch of a remote repository",
                          Rollback::kNone, "what a remote has received can't be called back from here");
  row.posture = Posture::kPolicyBlocked;
  return row;
}

constexpr Family kFile = Family::kFile;
constexpr Family kGit = Family::kGit;
constexpr Family kTerminal = Family::kTerminal;
constexpr Family kContainer = Family::kContainer;

constexpr Literal kByRollback = "factionos git rollback brings back what the snapshot before it holds";
constexpr Literal kCommand = "what a command changed is not known; undo it from version control or a backup";

constexpr std::array kOperations{
    reads(kFile, "list"),
    reads(kFile, "stat"),
    reads(kFile, "read"),
    reads(kFile, "diff"),
    changes(kFile, "write", Risk::kMedium, "one file's contents", Rollback::kManual,
            "file restore brings back the copy that was kept before it"),
    changes(kFile, "edit", Risk::kMedium, "one file's contents", Rollback::kManual,
            "file restore brings back the copy that was kept before it"),
    changes(kFile, "delete", Risk::kMedium, "one file moves to the trash", Rollback::kManual,
            "file restore brings it back until the trash is emptied"),
    changes(kFile, "restore", Risk::kMedium, "one file's contents", Rollback::kManual,
            "what was there is kept first, and can be restored in turn"),
    never(kFile, "open"),
    never(kFile, "move"),

    reads(kGit, "status"),
    reads(kGit, "diff"),
    reads(kGit, "log"),
    reads(kGit, "show"),
    reads(kGit, "branches"),
    reads(kGit, "worktree-list"),
    changes(kGit, "stage", Risk::kLow, "the index", Rollback::kManual, "unstage the same paths"),
    changes(kGit, "unstage", Risk::kLow, "the index", Rollback::kManual, "stage the same paths"),
    changes(kGit, "commit", Risk::kMedium, "one commit on the current branch", Rollback::kManual,
            kByRollback),
    changes(kGit, "branch-create", Risk::kLow, "one new branch", Rollback::kManual, kByRollback),
    changes(kGit, "checkout", Risk::kMedium, "the working tree and HEAD", Rollback::kManual, kByRollback),
    changes(kGit, "worktree-add", Risk::kMedium, "one new working tree", Rollback::kManual,
            "worktree-remove it"),
    changes(kGit, "worktree-remove", Risk::kMedium, "one working tree", Rollback::kManual,
            "worktree-add it again; files that were in no commit do not come back"),
    changes(kGit, "fetch", Risk::kLow, "remote-tracking branches", Rollback::kManual, kByRollback),
    changes(kGit, "rollback", Risk::kMedium, "branches, index and working tree", Rollback::kManual,
            "the state before it is kept as a snapshot of its own"),
    pushRow(),
    never(kGit, "rebase"),
    never(kGit, "merge"),
    never(kGit, "remote"),
    never(kGit, "config"),
    never(kGit, "force-push"),

    reads(kTerminal, "preview"),
    reads(kTerminal, "list"),
    reads(kTerminal, "detail"),
    changes(kTerminal, "run", Risk::kHigh, "whatever the command does in its workspace", Rollback::kNone,
            kCommand),
    changes(kTerminal, "restart", Risk::kHigh, "whatever the command does in its workspace", Rollback::kNone,
            kCommand),
    inSession(kTerminal, "input", "whatever the running program makes of it",
              "what was typed can't be taken back"),
    inSession(kTerminal, "resize", "the size of the session's window", "resize it again"),
    inSession(kTerminal, "signal", "the session's processes", "a process that has ended does not come back"),
    never(kTerminal, "attach"),
    never(kTerminal, "bridge"),

    reads(kContainer, "readiness"),
    reads(kContainer, "preview"),
    reads(kContainer, "list"),
    reads(kContainer, "detail"),
    changes(kContainer, "run", Risk::kHigh, "whatever the agent does in its workspace", Rollback::kNone,
            kCommand),
    inSession(kContainer, "kill", "one of our own containers",
              "a container that has ended does not come back"),
    changes(kContainer, "cleanup", Risk::kLow, "leftovers of our own containers", Rollback::kNone,
            "what is removed does not come back"),
    // What they queue is decided when it is dispatched: as `run`.
    changes(kContainer, "task", Risk::kLow, "one entry of the task queue", Rollback::kManual,
            "cancel the task"),
    changes(kContainer, "campaign", Risk::kLow, "entries of the task queue", Rollback::kManual,
            "cancel the campaign"),
    never(kContainer, "build"),
    never(kContainer, "pull"),
    never(kContainer, "exec"),
    never(kContainer, "raw"),
    never(kContainer, "privileged"),

    never(Family::kRemote, "any"),
    never(Family::kHosted, "any"),
};

constexpr std::array kFamilies{Family::kFile,      Family::kGit,    Family::kTerminal,
                               Family::kContainer, Family::kRemote, Family::kHosted};

}  // namespace

const char* label(Family family) {
  switch (family) {
    case Family::kFile:
      return "file";
    case Family::kGit:
      return "git";
    case Family::kTerminal:
      return "terminal";
    case Family::kContainer:
      return "container";
    case Family::kRemote:
      return "remote";
    case Family::kHosted:
      return "hosted";
  }
  return "";
}

const char* label(Effect effect) {
  return effect == Effect::kReadOnly ? "read-only" : "mutating";
}

const char* label(Posture posture) {
  switch (posture) {
    case Posture::kAvailable:
      return "available";
    case Posture::kUnavailable:
      return "unavailable";
    case Posture::kNonExecuting:
      return "non_executing";
    case Posture::kDeferred:
      return "deferred";
    case Posture::kOffline:
      return "offline";
    case Posture::kAuthRequired:
      return "auth_required";
    case Posture::kTimeout:
      return "timeout";
    case Posture::kPolicyBlocked:
      return "policy_blocked";
  }
  return "";
}

const char* label(Risk risk) {
  switch (risk) {
    case Risk::kLow:
      return "low";
    case Risk::kMedium:
      return "medium";
    case Risk::kHigh:
      return "high";
  }
  return "";
}

const char* label(Rollback rollback) {
  switch (rollback) {
    case Rollback::kAutomatic:
      return "automatic";
    case Rollback::kManual:
      return "manual";
    case Rollback::kNone:
      return "none";
  }
  return "";
}

std::optional<Family> parseFamily(std::string_view text) {
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(),
                                  [text](Family family) { return text == label(family); });
  if (found == kFamilies.end()) return std::nullopt;
  return *found;
}

std::span<const Operation> allOperations() {
  return kOperations;
}

const Operation* findOperation(Family family, std::string_view name) {
  if (family == Family::kRemote || family == Family::kHosted) name = "any";
  if (family == Family::kTerminal && name == "kill") name = "signal";
  const auto found =
      std::find_if(kOperations.begin(), kOperations.end(), [family, name](const Operation& operation) {
        return operation.family == family && operation.name == name;
      });
  return found == kOperations.end() ? nullptr : &*found;
}

}  // namespace factionos::policy
