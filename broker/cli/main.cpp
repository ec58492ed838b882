// factionos: what operators, people and scripts type. Talks to the broker over its sockets, or prepares a
// home whose broker is not running.
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>

#include <sodium.h>
#include <sys/stat.h>

#include "broker/audit/errors.h"
#include "broker/cli/commands.h"
#include "broker/state/errors.h"

int main(int argc, char** argv) {
  using namespace factionos::cli;
  if (sodium_init() < 0) return kFailed;
  ::umask(077);
  ::signal(SIGPIPE, SIG_IGN);
  Context context;
  Action action;
  CLI::App app("FactionOS: guarded actions for coding agents");
  addEverything(app, context, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::cerr << "factionos: " << mistakeOf(app, error) << "; see --help\n";
    return kUsage;
  }
  try {
    return action();
  } catch (const Stop& stop) {
    std::cerr << "factionos: " << stop.what() << '\n';
    return stop.status();
  } catch (const factionos::state::StateUnavailable& error) {
    std::cerr << "factionos: " << error.what() << '\n';
    return kFailed;
  } catch (const factionos::audit::AuditUnavailable& error) {
    std::cerr << "factionos: " << error.what() << '\n';
    return kFailed;
  } catch (const std::exception&) {
    // Exceptions of libraries may quote what they were given.
    std::cerr << "factionos: an internal error; please report it\n";
    return kFailed;
  }
}
