#include <CLI/CLI.hpp>

#include "broker/cli/commands.h"

namespace factionos::cli {
namespace {

// The option or argument of ours that the error's text names.
const CLI::Option* optionIn(const CLI::App& app, const std::string& text) {
  for (const auto* each : app.get_options()) {
    if (const auto name = each->get_name(); !name.empty() && text.find(name) != text.npos) return each;
  }
  for (const auto* each : app.get_subcommands()) {
    if (const auto* found = optionIn(*each, text)) return found;
  }
  return nullptr;
}

}  // namespace

std::string mistakeOf(const CLI::App& app, const CLI::ParseError& error) {
  const std::string name = error.get_name();
  const std::string text = error.what();
  // It knows the names of what is missing alone.
  if (name == "RequiredError") return text;
  if (name == "ExtrasError") return "an argument too many, or an option that is not there";
  const auto* option = optionIn(app, text);
  if (option == nullptr) return "this is not understood";
  return option->get_name() + " takes no such value; it is " + option->get_type_name() + ", " +
         option->get_description();
}

void addEverything(CLI::App& app, Context& context, Action& action) {
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", "factionos 0.1.0");
  app.add_option("--home", context.homeFlag,
                 "the home directory (default: $FACTIONOS_HOME, else ~/.factionos)");
  app.add_flag_callback(
      "--json", [&context]() { context.format = Format::kJson; }, "machine-readable output");
  addHomeCommands(app, context, action);
  addStatusCommands(app, context, action);
  addRunCommand(app, context, action);
  addFileCommands(app, context, action);
  addContainerCommands(app, context, action);
  addGitCommands(app, context, action);
  addActionCommands(app, context, action);
  addAdminCommands(app, context, action);
  addAuditCommands(app, context, action);
  addSandboxCommands(app, context, action);
}

}  // namespace factionos::cli
