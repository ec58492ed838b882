// Run when the product is built: writes the source of kPrograms (programs.h) to the file that it is given.
#include <array>
#include <fstream>

#include "sandbox/programs.h"
#include "sandbox/self_check.h"
#include "workers/probe/policy.h"

int main(int count, char** arguments) {
  using namespace factionos;
  if (count != 2) return 2;
  const std::array policies = {sandbox::withSelfCheck(probe::policy(-1, 0)),
                               probe::programPolicy(-1, 0).seccomp};
  std::ofstream out(arguments[1]);
  sandbox::writeBuiltPrograms(out, "factionos::probe::kPrograms", policies);
  return out.flush() ? 0 : 1;
}
