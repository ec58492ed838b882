#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include <sys/prctl.h>
#include <unistd.h>

#include "broker/cli/commands.h"
#include "broker/home/user.h"
#include "broker/walls/guarantees.h"
#include "broker/walls/verify_json.h"
#include "sandbox/verify/report.h"

namespace factionos::cli {
namespace {

namespace proof = sandbox::verify;

struct VerifyOptions {
  std::string profile;
  std::vector<std::string> required;
  std::string format = "text";
  std::optional<std::string> user;
  bool list = false;
};

void checkNames(const VerifyOptions& options) {
  const auto subjects = walls::subjects();
  if (!options.profile.empty() && std::ranges::none_of(subjects, [&](const proof::Subject& subject) {
        return subject.name == options.profile || subject.role == options.profile;
      }))
    throw Stop(kUsage, "--profile: no such profile; --help names them");
  for (const std::string& asked : options.required) {
    if (std::ranges::none_of(walls::guarantees(), [&](const proof::Guarantee& guarantee) {
          return asked == guarantee.id ||
                 asked == std::string(guarantee.profile) + "/" + std::string(guarantee.id);
        }))
      throw Stop(kUsage, "--require: no such guarantee; docs/guarantees.md lists them");
  }
}

// As the user that a broker would run as. Who was root before is not dumpable, and could not write its own
// maps.
void becomeOrdinary(const std::optional<std::string>& user) {
  try {
    home::becomeUser(user, "factionos sandbox verify");
  } catch (const home::UserRefused& refusal) {
    throw Stop(kUsage, refusal.what());
  }
  if (user) ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

int verify(const Context& context, const VerifyOptions& options) {
  if (options.list) {
    std::cout << walls::guaranteesPage();
    return kDone;
  }
  checkNames(options);
  becomeOrdinary(options.user);
  const auto subjects = walls::subjects();
  proof::Report report;
  try {
    report = proof::verify({subjects, walls::guarantees(), options.profile, options.required});
  } catch (const std::system_error& error) {
    throw Stop(kNotEnforced, std::string("nothing could be put to the proof: ") + error.what());
  } catch (const sandbox::SetupError& error) {
    throw Stop(kNotEnforced, std::string("nothing could be put to the proof: ") + error.what());
  }
  if (context.json() || options.format == "json") {
    std::cout << walls::verifyJson(report, subjects);
  } else if (options.format == "junit") {
    proof::writeJunit(std::cout, report, subjects);
  } else {
    proof::writeText(std::cout, report, subjects);
  }
  std::cout.flush();
  return report.passed() ? kDone : kNotEnforced;
}

std::string profileNames() {
  std::string names;
  for (const proof::Subject& subject : walls::subjects()) {
    names += (names.empty() ? "" : ", ") + std::string(subject.name);
  }
  return names;
}

}  // namespace

void addVerifyCommand(CLI::App& sandboxCommand, Context& context, Action& action) {
  auto options = std::make_shared<VerifyOptions>();
  auto* command = sandboxCommand.add_subcommand(
      "verify", "proves on this kernel that every wall holds; exit 5 if one that counts does not");
  command->add_option("--profile", options->profile, "one profile, or all of one role: " + profileNames());
  command
      ->add_option("--require", options->required,
                   "guarantees that count even if this kernel lacks what carries them: ID or PROFILE/ID")
      ->delimiter(',');
  command->add_option("--format", options->format, "how the report is written")
      ->check(CLI::IsMember({"text", "json", "junit"}));
  command->add_flag("--list", options->list, "only print the guarantees, as docs/guarantees.md");
  command->add_option("--user", options->user, "when started as root: the user to become at once");
  command->callback([&context, &action, options]() {
    action = [&context, options]() { return verify(context, *options); };
  });
}

}  // namespace factionos::cli
