#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "broker/cli/card.h"
#include "broker/cli/commands.h"
#include "broker/cli/operator_client.h"
#include "protocol/json/writer.h"

namespace factionos::cli {
namespace {

struct DecideOptions {
  KeySource key;
  std::string id;
  std::uint64_t revision = 0;
  bool yes = false;
  std::string reason;
};

void addKeyOptions(CLI::App* command, KeySource& key) {
  command->add_option("--key-file", key.keyFile, "the operator's key (default: operator.key of the home)");
  command->add_option("--passphrase-file", key.passphraseFile,
                      "its passphrase, instead of asking on the terminal");
}

template <typename Response>
void printJson(const Response& response) {
  json::ReplyWriter writer;
  std::string out;
  writer.writeReply(capnp::DynamicStruct::Reader(response), out);
  std::cout << out << "\n";
}

int decide(const Context& context, const DecideOptions& options, schema::Verdict verdict) {
  if (options.yes && options.revision == 0)
    throw Stop(kUsage, "--yes needs --revision, so that what is decided is what was seen");
  OperatorClient client(context, options.key);
  auto get = client.service().actionRequest();
  get.setId(options.id.c_str());
  const auto found = get.send().wait(client.waitScope());
  if (found.hasProblem()) stopOn(found.getProblem());
  const auto action = found.getAction();
  const auto revision = options.revision != 0 ? options.revision : action.getRevision();
  if (!context.json()) printCard(action);
  const bool approve = verdict == schema::Verdict::APPROVE;
  if (!options.yes && !confirmOnTerminal(approve ? "Approve this action?" : "Reject this action?"))
    throw Stop(kRefused, "nothing was decided");
  identity::ProofMessage message{
      .actionId = options.id,
      .revision = revision,
      .decision = approve ? identity::ProofDecision::kApprove : identity::ProofDecision::kReject};
  if (const auto nonce = identity::parseNonce(action.getNonce().cStr())) message.nonce = *nonce;
  if (!options.reason.empty()) message.reasonDigest = identity::reasonDigest(options.reason);
  auto request = client.service().decideRequest();
  request.setId(options.id.c_str());
  request.setExpectedRevision(revision);
  request.setVerdict(verdict);
  if (!options.reason.empty()) request.setReason(options.reason.c_str());
  request.setProof(identity::proofText(client.key().sign(message)).c_str());
  const auto decided = request.send().wait(client.waitScope());
  if (decided.hasProblem()) stopOn(decided.getProblem());
  if (context.json()) {
    printJson(decided);
  } else {
    std::cout << (approve ? "approved" : "rejected") << ", now revision " << decided.getAction().getRevision()
              << "\n";
  }
  return kDone;
}

int reveal(const Context& context, const DecideOptions& options) {
  OperatorClient client(context, options.key);
  auto request = client.service().revealRequest();
  request.setId(options.id.c_str());
  const auto revealed = request.send().wait(client.waitScope());
  if (revealed.hasProblem()) stopOn(revealed.getProblem());
  if (context.json()) {
    printJson(revealed);
  } else {
    std::cout << revealed.getText().cStr() << "\n";
  }
  return kDone;
}

int list(const Context& context, const DecideOptions& options, const std::string& state) {
  OperatorClient client(context, options.key);
  auto request = client.service().actionsRequest();
  if (!state.empty()) {
    const auto enumerants = capnp::Schema::from<schema::ActionState>().getEnumerants();
    for (const auto each : enumerants) {
      if (enumName(each.getProto().getName().cStr()) == state)
        request.setState(static_cast<schema::ActionState>(each.getOrdinal()));
    }
  }
  const auto actions = request.send().wait(client.waitScope());
  if (context.json()) {
    printJson(actions);
    return kDone;
  }
  for (const auto action : actions.getActions()) printRow(action);
  return kDone;
}

CLI::App* addDecision(CLI::App& app, const char* name, const char* help,
                      const std::shared_ptr<DecideOptions>& options) {
  auto* command = app.add_subcommand(name, help);
  command->add_option("id", options->id, "the action")->required();
  addKeyOptions(command, options->key);
  return command;
}

}  // namespace

void addActionCommands(CLI::App& app, Context& context, Action& action) {
  auto options = std::make_shared<DecideOptions>();
  auto state = std::make_shared<std::string>();
  auto* actions = app.add_subcommand("actions", "list guarded actions, newest first");
  actions->add_option("--state", *state, "only those in this state")
      ->check(CLI::IsMember({"proposed", "approved", "rejected", "expired", "executing", "succeeded",
                             "failed", "timed_out", "unknown"}));
  addKeyOptions(actions, options->key);
  actions->callback([&context, &action, options, state]() {
    action = [&context, options, state]() { return list(context, *options, *state); };
  });

  auto* approve = addDecision(app, "approve", "show an action's consent card and approve it", options);
  approve->add_option("--revision", options->revision, "the revision that you saw; a later one is refused");
  approve->add_flag("--yes", options->yes, "do not ask; needs --revision");
  approve->callback([&context, &action, options]() {
    action = [&context, options]() { return decide(context, *options, schema::Verdict::APPROVE); };
  });

  auto* reject = addDecision(app, "reject", "reject an action", options);
  reject->add_option("--revision", options->revision, "the revision that you saw");
  reject->add_flag("--yes", options->yes, "do not ask; needs --revision");
  reject->add_option("--reason", options->reason, "a word for the record: a-z, 0-9, _ and -");
  reject->callback([&context, &action, options]() {
    action = [&context, options]() { return decide(context, *options, schema::Verdict::REJECT); };
  });

  auto* show = addDecision(
      app, "reveal", "show the command of a waiting action, invisible characters made visible", options);
  show->callback([&context, &action, options]() {
    action = [&context, options]() { return reveal(context, *options); };
  });
}

}  // namespace factionos::cli
