// Run when the product is built: writes the source of kPrograms (programs.h) to the file that it is given.
#include <fstream>

#include "sandbox/programs.h"
#include "sandbox/self_check.h"
#include "workers/file/policy.h"

int main(int count, char** arguments) {
  using namespace factionos;
  if (count != 2) return 2;
  const sandbox::SeccompPolicy policy = sandbox::withSelfCheck(file::policy(-1));
  std::ofstream out(arguments[1]);
  sandbox::writeBuiltPrograms(out, "factionos::file::kPrograms", {&policy, 1});
  return out.flush() ? 0 : 1;
}
