#pragma once

#include <string>
#include <vector>

#include "broker/actions/outgoing.h"
#include "broker/executors/session_output.h"
#include "protocol/schemas/git.capnp.h"

namespace factionos::broker {

// What a git worker said, as values of the API: names, messages and differences are masked on their way, and
// numbers are what they are.
class GitView {
 public:
  using Response = redaction::Redactor<redaction::Boundary::kApiResponse>;
  template <typename T>
  using Out = actions::Outgoing<redaction::Boundary::kApiResponse, T>;

  explicit GitView(const MaskRules& masks) : masks_(masks) {}

  void fillStatus(schema::GitStatus::Reader status, Out<schema::GitStatus> out) const;
  void fillDiff(schema::GitDiff::Reader diff, Out<schema::GitDiff> out) const;
  void fillLog(schema::GitLog::Reader log, Out<schema::GitLog> out) const;
  void fillShow(schema::GitShow::Reader show, Out<schema::GitShow> out) const;
  void fillBranches(schema::GitBranches::Reader branches, Out<schema::GitBranches> out) const;
  void fillWorktree(schema::GitWorktree::Reader worktree, Out<schema::GitWorktree> out) const;

 private:
  redaction::Redacted<redaction::Boundary::kApiResponse> name(capnp::Text::Reader text) const;
  redaction::Redacted<redaction::Boundary::kApiResponse> content(capnp::Text::Reader text) const;
  void fillPath(schema::GitPath::Reader path, Out<schema::GitPath> out) const;
  void fillHead(schema::GitHead::Reader head, Out<schema::GitHead> out) const;
  void fillPerson(schema::GitPerson::Reader person, Out<schema::GitPerson> out) const;
  void fillCommit(schema::GitLogEntry::Reader commit, Out<schema::GitLogEntry> out) const;

  const MaskRules& masks_;
};

// What is kept of an outcome for the repeats of its key: nothing that may not rest.
struct GitStored {
  std::vector<std::uint8_t> commit;
  std::string branch;  // where it is a label
  std::uint32_t files = 0;
  std::uint32_t refs = 0;
  std::uint32_t objects = 0;
  std::string snapshot;
};
GitStored storedFrom(schema::GitOutcome::Reader outcome);
void fillOutcome(const GitStored& stored,
                 actions::Outgoing<redaction::Boundary::kStateAtRest, schema::GitOutcome> out);

}  // namespace factionos::broker
