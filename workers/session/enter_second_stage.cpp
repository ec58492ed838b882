#include "workers/session/enter_second_stage.h"

#include <unistd.h>

#include "sandbox/events.h"
#include "sandbox/landlock.h"
#include "sandbox/seccomp.h"
#include "sandbox/setup_error.h"
#include "workers/common/start.h"

namespace factionos::session {

void enterSecondStage(TreeEnds ends) {
  try {
    const sandbox::Program program = sandbox::compile(afterStartCalls());
    sandbox::restrictByLandlock(afterStartFiles(ends));
    sandbox::installTrapHandler();
    sandbox::loadProgram(program, sandbox::Listener::kNone);
  } catch (const sandbox::SetupError& error) {
    sandbox::writeEvent(worker::kEvents, sandbox::eventOf(error));
    _exit(worker::kSetupFailed);
  }
}

}  // namespace factionos::session
