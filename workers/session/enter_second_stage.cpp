#include "workers/session/enter_second_stage.h"

#include <unistd.h>

#include "sandbox/enter.h"
#include "sandbox/events.h"
#include "sandbox/setup_error.h"
#include "workers/common/start.h"

namespace factionos::session {

void enterSecondStage(TreeEnds ends) {
  try {
    sandbox::narrow(afterStartFiles(ends), afterStartCalls(), sandbox::Traps::kReport);
  } catch (const sandbox::SetupError& error) {
    sandbox::writeEvent(worker::kEvents, sandbox::eventOf(error));
    _exit(worker::kSetupFailed);
  }
}

}  // namespace factionos::session
