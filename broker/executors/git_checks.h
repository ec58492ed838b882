#pragma once

#include <cstdint>

#include "protocol/schemas/git.capnp.h"

namespace factionos::broker {

// Whether a git worker of ours could have said it: enums that exist, lists no longer than what was asked for
// (`most`), texts within their bounds. What fails is no answer but a breach.
bool isSound(schema::GitStatus::Reader status, std::uint32_t most);
bool isSound(schema::GitDiff::Reader diff, std::uint32_t most);
bool isSound(schema::GitLog::Reader log, std::uint32_t most);
bool isSound(schema::GitShow::Reader show, std::uint32_t most);
bool isSound(schema::GitBranches::Reader branches, std::uint32_t most);
bool isSound(capnp::List<schema::GitWorktree>::Reader worktrees);
bool isSound(schema::GitPreview::Reader preview);
bool isSound(schema::GitOutcome::Reader outcome);
// `done`: whether the change was carried out, so that there must be one.
bool isSnapshot(capnp::Text::Reader name, bool done);

}  // namespace factionos::broker
