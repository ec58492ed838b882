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
  bool json = false;
  CLI::App app("FactionOS: guarded actions for coding agents");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", "factionos 0.1.0");
  app.add_option("--home", context.homeFlag,
                 "the home directory (default: $FACTIONOS_HOME, else ~/.factionos)");
  app.add_flag("--json", json, "machine-readable output");
  addHomeCommands(app, context, action);
  addStatusCommands(app, context, action);
  addRunCommand(app, context, action);
  addActionCommands(app, context, action);
  addAdminCommands(app, context, action);
  addAuditCommands(app, context, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  context.format = json ? Format::kJson : Format::kText;
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
