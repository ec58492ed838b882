// Run when the product is built: writes the source of kPrograms (programs.h) to the file that it is given.
#include <array>
#include <fstream>

#include "sandbox/programs.h"
#include "sandbox/self_check.h"
#include "workers/git/policy.h"

int main(int count, char** arguments) {
  using namespace factionos;
  if (count != 2) return 2;
  const std::array<sandbox::SeccompPolicy, 2> policies = {
      sandbox::withSelfCheck(git::policy(git::Access::kRead, {})),
      sandbox::withSelfCheck(git::policy(git::Access::kWrite, {})),
  };
  std::ofstream out(arguments[1]);
  sandbox::writeBuiltPrograms(out, "factionos::git::kPrograms", policies);
  return out.flush() ? 0 : 1;
}
