// Narrows the session once its command runs.
#pragma once

#include "workers/session/policy.h"

namespace factionos::session {

// The profile that policy.h names afterStart. Ends the process if it can't be entered: the keeper then ends
// the tree.
void enterSecondStage(TreeEnds ends);

}  // namespace factionos::session
