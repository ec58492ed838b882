#pragma once

#include <CLI/App.hpp>
#include <functional>

#include "broker/cli/context.h"

namespace factionos::cli {

// Each adds its subcommands; a chosen one stores what is to be done in `action`, whose result is the exit
// status.
using Action = std::function<int()>;

// The whole program: what main() parses, and what the tests walk.
void addEverything(CLI::App& app, Context& context, Action& action);
// What was mistaken in a command line, in words of ours: what was typed may be a token, a path or a command,
// and a terminal's log is no place for it.
std::string mistakeOf(const CLI::App& app, const CLI::ParseError& error);

void addHomeCommands(CLI::App& app, Context& context, Action& action);    // init, serve, workspace
void addActionCommands(CLI::App& app, Context& context, Action& action);  // actions, approve, reject, reveal
void addAdminCommands(CLI::App& app, Context& context, Action& action);   // grant, token, policy
void addAuditCommands(CLI::App& app, Context& context, Action& action);   // audit
void addStatusCommands(CLI::App& app, Context& context, Action& action);  // status
void addRunCommand(CLI::App& app, Context& context, Action& action);      // run
void addFileCommands(CLI::App& app, Context& context, Action& action);    // file
void addGitCommands(CLI::App& app, Context& context, Action& action);     // git
void addContainerCommands(CLI::App& app, Context& context, Action& action);  // container
void addSandboxCommands(CLI::App& app, Context& context, Action& action);    // sandbox
void addVerifyCommand(CLI::App& sandbox, Context& context, Action& action);  // verify, below it

}  // namespace factionos::cli
