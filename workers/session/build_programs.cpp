// Run when the product is built: writes the source of kPrograms (programs.h) to the file that it is given.
#include <fstream>

#include "workers/session/programs.h"

int main(int count, char** arguments) {
  using namespace factionos;
  if (count != 2) return 2;
  std::ofstream out(arguments[1]);
  sandbox::writeBuiltPrograms(out, "factionos::session::kPrograms", session::builtInPolicies());
  return out.flush() ? 0 : 1;
}
