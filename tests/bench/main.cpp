// factionos-bench [--quick] [--json FILE] [SUITE…]: figures of this build on this machine. Started as root it
// becomes FACTIONOS_TEST_USER; only memory needs root, and only to look.
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <sys/prctl.h>

#include "tests/bench/suites.h"

namespace factionos::test {
void becomeOrdinaryUser();
}

namespace {

using namespace factionos::bench;

struct Suite {
  const char* name;
  void (*measure)(Report&, Effort, Meter&);
};

constexpr Suite kSuites[] = {{"start", measureStart},
                             {"http", measureHttp},
                             {"terminal", measureTerminal},
                             {"git", measureGit},
                             {"memory", measureMemory},
                             {"scale", measureScale},
                             {"supervision", measureSupervision},
                             {"container", measureContainer}};

}  // namespace

int main(int count, char** arguments) {
  Meter meter;
  factionos::test::becomeOrdinaryUser();
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // the change of user took it, and maps of namespaces need it
  Effort effort = Effort::kFull;
  std::string json;
  std::vector<std::string> wanted;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--quick") == 0) {
      effort = Effort::kQuick;
    } else if (std::strcmp(arguments[i], "--json") == 0 && i + 1 < count) {
      json = arguments[++i];
    } else {
      wanted.emplace_back(arguments[i]);
    }
  }
  for (const auto& name : wanted) {
    bool known = false;
    for (const Suite& suite : kSuites) known = known || name == suite.name;
    if (!known) {
      std::fprintf(
          stderr,
          "no suite %s; there are start, http, terminal, git, memory, scale, supervision, container\n",
          name.c_str());
      return 2;
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("%s\n", machine().c_str());
  Report report;
  int status = 0;
  for (const Suite& suite : kSuites) {
    bool run = wanted.empty();
    for (const auto& name : wanted) run = run || name == suite.name;
    if (!run) continue;
    try {
      suite.measure(report, effort, meter);
    } catch (const std::exception& error) {
      std::printf("%-9s %s\n", suite.name, error.what());
      status = 1;
    }
  }
  if (!json.empty()) report.write(json);
  return status;
}
