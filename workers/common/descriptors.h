// The descriptors that a worker is started with, by number. 0 to 2 are /dev/null, so that no later descriptor
// can take the number that a library prints its last words to.
#pragma once

#include <initializer_list>
#include <vector>

namespace factionos::worker {

inline constexpr int kLine = 3;    // Cap'n Proto, one end of a socketpair
inline constexpr int kEvents = 4;  // fixed event records (sandbox/events.h), write end of a pipe
inline constexpr int kScope = 5;   // launcher: the home; file, git: the one workspace; probe: the program.
                                   // O_PATH. Session: see audited_denial.h
inline constexpr int kAuditSocket = 6;  // launcher: see sandbox/landlock_audit.h; if it is told so

// The descriptors of a worker that holds only its own: 0 to 4.
std::vector<int> ownDescriptors(std::initializer_list<int> more = {});

}  // namespace factionos::worker
