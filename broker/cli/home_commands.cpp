#include <CLI/CLI.hpp>
#include <array>
#include <climits>
#include <filesystem>
#include <iostream>

#include <unistd.h>

#include "broker/audit/audit_log.h"
#include "broker/cli/commands.h"
#include "broker/home/config.h"
#include "broker/home/workspace.h"
#include "broker/identity/operator_key.h"
#include "broker/identity/passphrase.h"
#include "broker/identity/token.h"
#include "broker/policy/policy.h"
#include "broker/state/database.h"
#include "broker/state/keys.h"

namespace factionos::cli {
namespace {

struct InitOptions {
  std::optional<std::string> passphraseFile;
  bool noPassphrase = false;
};

struct ServeOptions {
  std::optional<std::string> user;
  std::optional<std::string> listen;
  bool printAddress = false;
};

// Stands in the home from the first file that `init` makes to the last.
constexpr std::string_view kUnfinished = "init.unfinished";

// What `init` makes in the home's top folder before config.toml, which comes last.
constexpr std::array kEarlyFiles{identity::kOperatorKeyFile, identity::kOperatorPublicFile,
                                 policy::kPolicyFile};

// A home without config.toml is either new, or one that nobody finished, or one that somebody took apart.
void mustBeFree(const home::Home& home) {
  using home::Folder;
  if (home.exists(Folder::kTop, home::kConfigFile))
    throw Stop(kUsage, "this home exists already; nothing was changed");
  if (home.exists(Folder::kTop, kUnfinished)) return;
  for (const char* name : kEarlyFiles) {
    if (home.exists(Folder::kTop, name))
      throw Stop(kUsage,
                 std::string("config.toml is missing from a home that holds ") + name +
                     "; put it back, or move the whole home away and run init again. Nothing was changed");
  }
}

// Nobody has used what an `init` made that was cut short: it goes, and all is made anew.
void begin(const home::Home& home) {
  using home::Folder;
  if (!home.exists(Folder::kTop, kUnfinished))
    return must(home.writeFile(Folder::kTop, kUnfinished, "", home::WriteMode::kCreateNew));
  for (const char* name : kEarlyFiles) {
    if (home.exists(Folder::kTop, name)) must(home.removeFile(Folder::kTop, name));
  }
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(home.path()) / "state"))
    std::filesystem::remove_all(entry.path());
}

int init(const Context& context, const InitOptions& options) {
  const auto path = context.homePath();
  const auto home = must(home::Home::create(path));
  mustBeFree(home);
  // The passphrase first: whoever cancels leaves no half-made home behind.
  identity::SecretBytes passphrase;
  if (!options.noPassphrase) {
    passphrase =
        options.passphraseFile
            ? must(identity::readPassphraseFile(*options.passphraseFile))
            : must(identity::askPassphrase("Passphrase for the operator's key", identity::Confirm::kTwice));
  }
  begin(home);
  const auto key = identity::OperatorKey::generate();
  if (options.noPassphrase) {
    must(identity::storePlainOperatorKey(home, key));
  } else {
    must(identity::storeOperatorKey(home, key, passphrase));
  }
  must(identity::loadOrCreateKey(home, identity::kTokenKeyName));
  const std::filesystem::path state = std::filesystem::path(path) / "state";
  state::Keys::create(state / "keys");
  const auto auditKey = audit::AuditLog::create({.stateDirectory = state});
  { const state::Database made(state / "state.db", state::Access::kReadWrite); }
  must(home.writeFile(home::Folder::kTop, policy::kPolicyFile, policy::defaultPolicyText(),
                      home::WriteMode::kCreateNew));
  must(home.writeFile(home::Folder::kTop, home::kConfigFile, home::defaultConfigText(),
                      home::WriteMode::kCreateNew));
  must(home.removeFile(home::Folder::kTop, kUnfinished));
  if (context.json()) {
    std::cout << "{\"home\":\"created\",\"auditPublicKey\":\"" << auditKey << "\"}\n";
    return kDone;
  }
  std::cout << "home        " << path << "\n"
            << "operator    "
            << (options.noPassphrase ? "key WITHOUT a passphrase: any program of yours can approve"
                                     : "key sealed with your passphrase")
            << "\n"
            << "audit key   " << auditKey << "\n"
            << "            keep this line outside of this machine: 'factionos audit verify --first-key' "
               "checks against it\n"
            << "next        factionos workspace add NAME PATH; factionos serve\n";
  return kDone;
}

std::string programBeside(const char* relative) {
  char self[PATH_MAX];
  const auto size = ::readlink("/proc/self/exe", self, sizeof self);
  if (size <= 0) throw Stop(kFailed, "can't tell where factionos lies");
  const std::string path(self, static_cast<std::size_t>(size));
  return path.substr(0, path.rfind('/')) + relative;
}

int serve(const Context& context, const ServeOptions& options) {
  const auto broker = programBeside("/../libexec/factionos/factionosd");
  std::vector<std::string> all{"factionosd"};
  const auto add = [&all](const char* name, const std::optional<std::string>& value) {
    if (!value) return;
    all.emplace_back(name);
    all.push_back(*value);
  };
  add("--home", context.homeFlag);
  add("--user", options.user);
  add("--listen", options.listen);
  if (options.printAddress) all.emplace_back("--print-address");
  std::vector<char*> argv;
  for (auto& each : all) argv.push_back(each.data());
  argv.push_back(nullptr);
  ::execv(broker.c_str(), argv.data());
  throw Stop(kFailed, "factionosd does not lie in ../libexec/factionos beside this program");
}

int addWorkspace(const Context& context, const std::string& name, const std::string& path) {
  const auto home = context.home();
  const auto guard = must(home::WorkspaceGuard::create(home));
  if (path.empty()) throw Stop(kUsage, "the path is empty; give a directory");
  char current[PATH_MAX];
  std::string typed = path;
  if (!typed.starts_with('/') && ::getcwd(current, sizeof current) != nullptr)
    typed = std::string(current) + "/" + path;
  const auto checked = guard.checkTyped(typed);
  if (const auto* refusal = std::get_if<home::WorkspaceRefusal>(&checked))
    throw Stop(kRefused, refusal->problem.text());
  must(home::addWorkspace(home, name, std::get<home::CheckedWorkspace>(checked).path));
  const auto lock = must(home.lockState());
  const bool running = lock.holder == home::LockState::Holder::kBroker;
  if (context.json()) {
    std::cout << "{\"workspace\":\"" << name << "\",\"restartNeeded\":" << (running ? "true" : "false")
              << "}\n";
  } else {
    std::cout << "workspace " << name << " added" << (running ? "; restart the broker to use it" : "")
              << "\n";
  }
  return kDone;
}

int listWorkspaces(const Context& context) {
  const auto config = must(home::loadConfig(context.home()));
  if (context.json()) {
    std::cout << "{\"workspaces\":[";
    const char* comma = "";
    for (const auto& each : config.workspaces) {
      std::cout << comma << "\"" << each.name << "\"";
      comma = ",";
    }
    std::cout << "]}\n";
    return kDone;
  }
  for (const auto& each : config.workspaces) std::cout << each.name << "\t" << each.path << "\n";
  return kDone;
}

}  // namespace

void addHomeCommands(CLI::App& app, Context& context, Action& action) {
  auto* initCommand = app.add_subcommand(
      "init", "make a home: safe modes, a commented configuration and policy, the operator's key");
  auto options = std::make_shared<InitOptions>();
  initCommand->add_option("--passphrase-file", options->passphraseFile,
                          "read the passphrase from the first line of this file");
  initCommand->add_flag("--no-passphrase", options->noPassphrase,
                        "leave the operator's key unsealed (posture shows it)");
  initCommand->callback(
      [&context, &action, options]() { action = [&context, options]() { return init(context, *options); }; });

  auto* serveCommand = app.add_subcommand("serve", "run the broker in the foreground");
  auto serveOptions = std::make_shared<ServeOptions>();
  serveCommand->add_option("--user", serveOptions->user, "when started as root: the user to become at once");
  serveCommand->add_option("--listen", serveOptions->listen,
                           "loopback address and port; port 0 lets the kernel choose");
  serveCommand->add_flag("--print-address", serveOptions->printAddress, "print the bound address when ready");
  serveCommand->callback([&context, &action, serveOptions]() {
    action = [&context, serveOptions]() { return serve(context, *serveOptions); };
  });

  auto* workspace = app.add_subcommand("workspace", "the directories that guarded actions may work in");
  workspace->require_subcommand(1);
  auto* add = workspace->add_subcommand("add", "allow a directory under a name");
  auto name = std::make_shared<std::string>();
  auto path = std::make_shared<std::string>();
  add->add_option("name", *name, "a label")->required();
  add->add_option("path", *path, "a directory")->required();
  add->callback([&context, &action, name, path]() {
    action = [&context, name, path]() { return addWorkspace(context, *name, *path); };
  });
  auto* list = workspace->add_subcommand("list", "show them");
  list->callback([&context, &action]() { action = [&context]() { return listWorkspaces(context); }; });
}

}  // namespace factionos::cli
