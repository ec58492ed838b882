#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include "broker/cli/commands.h"
#include "broker/home/config.h"
#include "broker/home/workspace.h"
#include "broker/walls/answer_text.h"
#include "broker/walls/description.h"
#include "broker/walls/question.h"
#include "protocol/json/json_text.h"
#include "sandbox/descriptors.h"
#include "sandbox/landlock.h"
#include "workers/session/resolve.h"

namespace factionos::cli {
namespace {

namespace explain = sandbox::explain;

enum class Kernel {
  kWhole,  // one that has everything: what the profile means
  kThis,   // what of it holds here
};

struct Options {
  std::string profile;
  std::string into;  // a directory
  Kernel kernel = Kernel::kWhole;
  std::string workspace;
  std::string operation;
  std::string target;
};

const walls::Profile& profileOf(const std::string& name) {
  const walls::Profile* const profile = walls::findProfile(name);
  if (profile == nullptr) throw Stop(kUsage, "there is no such profile; `factionos sandbox show` lists them");
  return *profile;
}

walls::Description description(const walls::Profile& profile, Kernel kernel) {
  if (kernel == Kernel::kWhole) return walls::describe(profile, walls::documentScene(profile, {}));
  walls::Scene scene = walls::documentScene(profile, sandbox::probeNamespaces());
  scene.landlockAbi = sandbox::landlockAbi();
  return walls::describe(profile, scene);
}

int list(const Context& context) {
  if (!context.json()) {
    for (const walls::Profile& profile : walls::profiles())
      std::cout << profile.name << "\t" << profile.purpose << "\n";
    return kDone;
  }
  std::string out;
  json::JsonText text(out);
  text.beginObject();
  text.key("profiles");
  text.beginArray();
  for (const walls::Profile& profile : walls::profiles()) {
    text.beginObject();
    text.member("profile", profile.name);
    text.member("role", profile.role);
    text.member("purpose", profile.purpose);
    text.member("within", profile.within);
    text.endObject();
  }
  text.endArray();
  text.endObject();
  std::cout << out << "\n";
  return kDone;
}

// One file a profile, as they lie in docs/profiles.
int writeAll(const Options& options) {
  for (const walls::Profile& profile : walls::profiles()) {
    const auto path = std::filesystem::path(options.into) / (std::string(profile.name) + ".txt");
    std::ofstream file(path, std::ios::trunc);
    file << walls::asText(description(profile, options.kernel));
    file.flush();
    if (!file) throw Stop(kFailed, "a profile could not be written into that directory");
    // Ours are private; these are for everybody.
    using std::filesystem::perms;
    std::filesystem::permissions(path, perms::group_read | perms::others_read,
                                 std::filesystem::perm_options::add);
  }
  return kDone;
}

int show(const Context& context, const Options& options) {
  if (!options.into.empty()) return writeAll(options);
  if (options.profile.empty()) return list(context);
  const walls::Description shown = description(profileOf(options.profile), options.kernel);
  std::cout << (context.json() ? walls::asJson(shown) : walls::asText(shown));
  return kDone;
}

// What stands behind a walls::World: descriptors that it borrows.
struct Here {
  walls::World world;
  sandbox::Fd home;
  sandbox::Fd workspace;
};

void useHome(Here& here, const home::Home& opened, const home::Config& config) {
  here.home = sandbox::Fd(open(opened.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  here.world.home = here.home.get();
  here.world.scratch = opened.path() + "/run/scratch";
  here.world.programPaths = config.profile.programDirs;
  here.world.readPaths = config.profile.readableDirs;
  here.world.apiPort = config.listen.port;
}

// By a name of config.toml, or by a path that may be a workspace.
void useWorkspace(Here& here, const std::string& asked, const home::Home* opened,
                  const home::Config& config) {
  if (const home::WorkspaceEntry* const entry = config.findWorkspace(asked)) {
    here.workspace = sandbox::Fd(open(entry->path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  } else if (opened != nullptr) {
    auto checked = must(home::WorkspaceGuard::create(*opened)).checkTyped(asked);
    if (const auto* refusal = std::get_if<home::WorkspaceRefusal>(&checked))
      throw Stop(kFailed, refusal->problem.text());
    here.workspace = std::move(std::get<home::CheckedWorkspace>(checked).fd);
  } else {
    here.workspace = sandbox::Fd(open(asked.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  if (!here.workspace) throw Stop(kFailed, "the workspace is no directory that can be opened");
  here.world.workspaceHandle = here.workspace.get();
  here.world.workspace = session::realPath(here.workspace.get());
}

Here lookAround(const Context& context, const walls::Profile& profile, const Options& options) {
  Here here;
  here.world.scratch = "/run/scratch";
  here.world.support = sandbox::probeNamespaces();
  here.world.landlockAbi = sandbox::landlockAbi();
  // A machine that only verifies and explains has no home.
  const bool hasHome = context.homeFlag || access(context.homePath().c_str(), F_OK) == 0;
  std::optional<home::Home> opened;
  home::Config config;
  if (hasHome) {
    opened.emplace(context.home());
    config = must(home::loadConfig(*opened));
    useHome(here, *opened, config);
  }
  if (!options.workspace.empty()) {
    useWorkspace(here, options.workspace, opened ? &*opened : nullptr, config);
  } else if (profile.role == "command") {
    throw Stop(kUsage, "--workspace is wanted: the directory that the command works in, or its name");
  }
  return here;
}

explain::Answer answer(const Options& options, const walls::Question& question) {
  using explain::Operation;
  const explain::Explainer explainer(question.scene);
  if (options.operation == "connect") {
    const auto peer = walls::peerTarget(options.target, question.command);
    if (!peer) throw Stop(kUsage, "the target is tcp:PORT, udp:PORT, unix:PATH or unix:@NAME");
    return explainer.connect(*peer);
  }
  const auto path = walls::fileTarget(options.target, question.command);
  if (!path) throw Stop(kUsage, "the target is a path");
  const Operation operation = options.operation == "read"     ? Operation::kRead
                              : options.operation == "write"  ? Operation::kWrite
                              : options.operation == "create" ? Operation::kCreate
                                                              : Operation::kExecute;
  return explainer.file(operation, *path);
}

int explainOne(const Context& context, const Options& options) {
  if (geteuid() == 0) throw Stop(kUsage, "ask as the broker's user: for root, file modes forbid nothing");
  const walls::Profile& profile = profileOf(options.profile);
  const Here here = lookAround(context, profile, options);
  const explain::Answer found = answer(options, walls::ask(profile, here.world));
  std::cout << (context.json() ? walls::asJson(found) : walls::asText(found));
  switch (walls::verdictOf(found)) {
    case walls::Verdict::kAllowed:
      return kDone;
    case walls::Verdict::kDenied:
      return kRefused;
    case walls::Verdict::kFails:
      break;
  }
  return kFailed;
}

void addFormat(CLI::App& command, Context& context) {
  command
      .add_option_function<std::string>(
          "--format",
          [&context](const std::string& format) {
            context.format = format == "json" ? Format::kJson : Format::kText;
          },
          "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

}  // namespace

void addSandboxCommands(CLI::App& app, Context& context, Action& action) {
  auto options = std::make_shared<Options>();
  auto* sandbox = app.add_subcommand("sandbox", "what the walls allow");
  sandbox->require_subcommand(1);
  auto* showCommand =
      sandbox->add_subcommand("show", "what a profile allows, and why; without one, the list");
  showCommand->add_option("profile", options->profile, "one of the list");
  showCommand->add_flag_callback(
      "--here", [options]() { options->kernel = Kernel::kThis; }, "as far as this kernel has it");
  showCommand->add_option("--into", options->into, "write every profile into this directory, a file each");
  addFormat(*showCommand, context);
  showCommand->callback(
      [&context, &action, options]() { action = [&context, options]() { return show(context, *options); }; });

  auto* explainCommand = sandbox->add_subcommand(
      "explain", "whether a profile allows an operation on a target, and by which rule");
  auto asked = std::make_shared<Options>();
  asked->profile = "command";
  explainCommand->add_option("--profile", asked->profile, "one that `sandbox show` lists (default: command)");
  explainCommand->add_option("--workspace", asked->workspace, "a directory, or the name of a workspace");
  explainCommand->add_option("operation", asked->operation, "read, write, create, exec or connect")
      ->required()
      ->check(CLI::IsMember({"read", "write", "create", "exec", "connect"}));
  explainCommand
      ->add_option(
          "target", asked->target,
          "a path, from the workspace or absolute; for connect tcp:PORT, udp:PORT, unix:PATH, unix:@NAME")
      ->required();
  addFormat(*explainCommand, context);
  addVerifyCommand(*sandbox, context, action);
  explainCommand->callback(
      [&context, &action, asked]() { action = [&context, asked]() { return explainOne(context, *asked); }; });
}

}  // namespace factionos::cli
