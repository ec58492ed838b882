#include "broker/cli/context.h"

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "sandbox/descriptors.h"

namespace factionos::cli {

std::string Context::homePath() const {
  return must(home::locateHome(home::HomeLookup::fromProcess(homeFlag)), kUsage);
}

home::Home Context::home() const {
  return must(home::Home::open(homePath()));
}

std::string Context::socketPath(const char* name) const {
  const auto own = homePath() + "/run/" + name;
  if (::access(own.c_str(), F_OK) == 0) return own;
  const auto system = std::string(home::kSystemSocketDirectory) + "/" + name;
  return ::access(system.c_str(), F_OK) == 0 ? system : own;
}

bool confirmOnTerminal(const std::string& question) {
  const sandbox::Fd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!terminal) throw Stop(kUsage, "no terminal to ask on; give --yes together with --revision");
  const auto text = question + " [type yes] ";
  if (::write(terminal.get(), text.data(), text.size()) < 0) return false;
  std::string line;
  char each = 0;
  while (line.size() < 64 && ::read(terminal.get(), &each, 1) == 1 && each != '\n') line += each;
  return line == "yes";
}

}  // namespace factionos::cli
