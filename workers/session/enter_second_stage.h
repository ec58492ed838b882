// Narrows the session once its command runs.
#pragma once

namespace factionos::session {

// The profile that policy.h names afterStart. Ends the process if it can't be entered: the keeper then ends
// the tree.
void enterSecondStage();

}  // namespace factionos::session
