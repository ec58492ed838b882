// Run when the product is built: writes the source of kPrograms (programs.h) to the file that it is given.
#include <fstream>

#include "sandbox/programs.h"
#include "sandbox/self_check.h"
#include "workers/container/policy.h"

int main(int count, char** arguments) {
  using namespace factionos;
  if (count != 2) return 2;
  const sandbox::SeccompPolicy policy = sandbox::withSelfCheck(container::policy());
  std::ofstream out(arguments[1]);
  sandbox::writeBuiltPrograms(out, "factionos::container::kPrograms", {&policy, 1});
  return out.flush() ? 0 : 1;
}
