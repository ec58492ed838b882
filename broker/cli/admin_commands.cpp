#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <sstream>

#include "broker/api/tokens.h"
#include "broker/audit/audit_log.h"
#include "broker/cli/card.h"
#include "broker/cli/commands.h"
#include "broker/cli/operator_client.h"
#include "broker/policy/grant.h"
#include "broker/policy/policy.h"
#include "broker/redaction/matrix.h"
#include "broker/state/writer.h"
#include "protocol/json/writer.h"

namespace factionos::cli {
namespace {

struct Options {
  KeySource key;
  std::string name;
  std::string scopes;
  std::string family = "terminal";
  std::string operation = "run";
  std::string workspace;
  std::string principal = "owner";
  std::string program;
  std::string network = "none";
  std::string profile = "default";
  std::string duration = "1h";
  bool asked = false;  // about one request, and not about the file alone
};

template <typename Response>
void printJson(const Response& response) {
  json::ReplyWriter writer;
  std::string out;
  writer.writeReply(capnp::DynamicStruct::Reader(response), out);
  std::cout << out << "\n";
}

identity::ScopeSet scopesOf(const std::string& text) {
  const auto scopes = identity::ScopeSet::parse(text);
  if (!scopes) throw Stop(kUsage, "--scope: a comma-separated list of ingest, read, propose, approve, admin");
  return *scopes;
}

bool brokerRuns(const home::Home& home) {
  return must(home.lockState()).holder == home::LockState::Holder::kBroker;
}

void printToken(const Context& context, std::string_view name, std::string_view token) {
  if (context.json()) {
    std::cout << "{\"name\":\"" << name << "\",\"token\":\"" << token << "\"}\n";
  } else {
    std::cout << token << "\n";
  }
}

// A home whose broker is not running: this process is its only writer, and holds its lock meanwhile.
int createOffline(const Context& context, const home::Home& home, const Options& options) {
  const auto lock = must(home.lock());
  if (broker::isReserved(must(home::loadConfig(home)), options.name))
    throw Stop(kUsage, "a user of this name exists; give the token another name");
  const std::filesystem::path state = std::filesystem::path(home.path()) / "state";
  state::Database database(state / "state.db", state::Access::kReadWrite);
  const auto log = audit::AuditLog::open({.stateDirectory = state},
                                         {.committedThrough = state::committedThrough(database)});
  state::Writer writer(database, *log);
  const auto key = must(identity::loadOrCreateKey(home, identity::kTokenKeyName));
  auto minted =
      must(identity::mintToken(key, options.name, scopesOf(options.scopes), audit::systemNow()), kUsage);
  auto outcome = writer.runBatch(
      {[&](state::Transaction& transaction) { broker::insertToken(transaction, minted.row); }});
  if (outcome.errors.front()) {
    const auto refused = actions::refusedBy(outcome.errors.front());
    throw Stop(kFailed,
               refused.detail.empty() ? std::string("the token could not be stored") : refused.detail.text());
  }
  printToken(context, options.name, minted.text.text());
  return kDone;
}

int createToken(const Context& context, const Options& options) {
  const auto home = context.home();
  if (!brokerRuns(home)) return createOffline(context, home, options);
  const auto scopes = broker::schemaScopes(broker::bitsOf(scopesOf(options.scopes)));
  OperatorClient client(context, options.key);
  auto request = client.service().tokenCreateRequest();
  request.setName(options.name.c_str());
  auto list = request.initScopes(static_cast<unsigned>(scopes.size()));
  for (unsigned i = 0; i < scopes.size(); ++i) list.set(i, scopes[i]);
  const auto made = request.send().wait(client.waitScope());
  if (made.hasProblem()) stopOn(made.getProblem());
  printToken(context, options.name, made.getToken().cStr());
  return kDone;
}

int listTokens(const Context& context, const Options& options) {
  OperatorClient client(context, options.key);
  const auto tokens = client.service().tokenListRequest().send().wait(client.waitScope());
  if (context.json()) {
    printJson(tokens);
    return kDone;
  }
  for (const auto token : tokens.getTokens()) {
    std::cout << token.getName().cStr();
    for (const auto scope : token.getScopes()) std::cout << " " << nameOf(scope);
    std::cout << (token.getRevoked() ? "  revoked" : "") << "\n";
  }
  return kDone;
}

int revokeToken(const Context& context, const Options& options) {
  OperatorClient client(context, options.key);
  auto request = client.service().tokenRevokeRequest();
  request.setName(options.name.c_str());
  const auto done = request.send().wait(client.waitScope());
  if (done.hasProblem()) stopOn(done.getProblem());
  std::cout << (context.json() ? "{\"revoked\":true}\n" : "revoked\n");
  return kDone;
}

std::chrono::minutes parseDuration(const std::string& text) {
  std::istringstream in(text);
  long number = 0;
  char unit = 'm';
  in >> number >> unit;
  const auto minutes = unit == 'h' ? number * 60 : unit == 'd' ? number * 1440 : unit == 'm' ? number : 0;
  if (!in || minutes <= 0) throw Stop(kUsage, "--for: a number and m, h or d, such as 30m or 8h");
  return std::chrono::minutes(minutes);
}

template <typename Enum>
Enum parseEnum(const std::string& text, const char* option) {
  for (const auto each : capnp::Schema::from<Enum>().getEnumerants()) {
    if (enumName(each.getProto().getName().cStr()) == text) return static_cast<Enum>(each.getOrdinal());
  }
  throw Stop(kUsage, std::string(option) + ": no such value");
}

int addGrant(const Context& context, const Options& options) {
  const auto until = std::chrono::system_clock::now() + parseDuration(options.duration);
  OperatorClient client(context, options.key);
  auto request = client.service().grantAddRequest();
  auto grant = request.initGrant();
  grant.setFamily(parseEnum<schema::Family>(options.family, "--family"));
  grant.setOperation(options.operation.c_str());
  grant.setWorkspace(options.workspace.c_str());
  grant.setPrincipal(options.principal.c_str());
  grant.setProgram(options.program.c_str());
  grant.setNetwork(parseEnum<schema::NetworkProfile>(options.network, "--network"));
  grant.setUntil(std::chrono::duration_cast<std::chrono::milliseconds>(until.time_since_epoch()).count());
  const auto made = request.send().wait(client.waitScope());
  if (made.hasProblem()) stopOn(made.getProblem());
  if (context.json()) {
    printJson(made);
  } else {
    std::cout << made.getId().cStr() << " in force for " << options.duration << "\n";
  }
  return kDone;
}

int listGrants(const Context& context, const Options& options) {
  OperatorClient client(context, options.key);
  const auto grants = client.service().grantListRequest().send().wait(client.waitScope());
  if (context.json()) {
    printJson(grants);
    return kDone;
  }
  for (const auto grant : grants.getGrants()) {
    std::cout << grant.getId().cStr() << "  " << nameOf(grant.getFamily()) << "."
              << grant.getOperation().cStr() << "  " << grant.getWorkspace().cStr() << "  "
              << grant.getPrincipal().cStr() << "  " << grant.getProgram().cStr() << "\n";
  }
  return kDone;
}

int removeGrant(const Context& context, const Options& options) {
  OperatorClient client(context, options.key);
  auto request = client.service().grantRemoveRequest();
  request.setId(options.name.c_str());
  const auto done = request.send().wait(client.waitScope());
  if (done.hasProblem()) stopOn(done.getProblem());
  std::cout << (context.json() ? "{\"removed\":true}\n" : "removed\n");
  return kDone;
}

int reloadPolicy(const Context& context, const Options& options) {
  OperatorClient client(context, options.key);
  const auto done = client.service().policyReloadRequest().send().wait(client.waitScope());
  if (done.hasProblem()) stopOn(done.getProblem());
  if (context.json()) {
    printJson(done);
  } else {
    std::cout << "policy revision " << done.getRevision() << " is in force\n";
  }
  return kDone;
}

policy::Program programOf(const std::string& text) {
  if (text == "sh") return policy::Program::shellLine();
  if (text == "workspace") return policy::Program::workspace();
  if (text.empty()) return policy::Program::none();
  return policy::Program::system(text);
}

int checkPolicy(const Context& context, const Options& options) {
  const auto rules = must(policy::Policy::load(context.home(), {}), kFailed);
  if (!options.asked) {
    if (context.json()) {
      std::cout << "{\"rules\":" << rules.ruleCount() << "}\n";
    } else {
      std::cout << "policy.toml is well formed: " << rules.ruleCount() << " rules\n";
    }
    return kDone;
  }
  const auto family = policy::parseFamily(options.family);
  if (!family) throw Stop(kUsage, "--family: no such family");
  policy::Request request{.subject = {.family = *family,
                                      .operation = options.operation,
                                      .workspace = options.workspace,
                                      .principal = options.principal,
                                      .program = programOf(options.program),
                                      .network = options.network,
                                      .profile = options.profile},
                          .now = audit::systemNow(),
                          .approver = policy::Approver::kPresent};
  const auto explanation = rules.explain(request, {});
  if (context.json()) {
    std::cout << "{\"decision\":\"" << policy::label(explanation.decision.verdict)
              << "\",\"line\":" << explanation.decision.ruleLine << "}\n";
  } else {
    std::cout << explanation.text();
  }
  return explanation.decision.verdict == policy::Verdict::kDeny ? kRefused : kDone;
}

void addKeyOptions(CLI::App* command, KeySource& key) {
  command->add_option("--key-file", key.keyFile, "the operator's key (default: operator.key of the home)");
  command->add_option("--passphrase-file", key.passphraseFile,
                      "its passphrase, instead of asking on the terminal");
}

void addSubjectOptions(CLI::App* command, Options& options) {
  command->add_option("--family", options.family, "default: terminal");
  command->add_option("--operation", options.operation, "default: run");
  command->add_option("--workspace", options.workspace, "a workspace's name");
  command->add_option("--principal", options.principal,
                      "a name: of a token, of a user (owner is yourself), or operator; default: owner");
  command->add_option("--program", options.program, "an absolute path, or sh, or workspace");
  command->add_option("--network", options.network,
                      "none (default), loopback, full, or a container's egress");
}

using Body = int (*)(const Context&, const Options&);

CLI::App* sub(CLI::App* parent, const char* name, const char* help, Context& context, Action& action,
              const std::shared_ptr<Options>& options, Body body) {
  auto* command = parent->add_subcommand(name, help);
  command->callback([&context, &action, options, body]() {
    action = [&context, options, body]() { return body(context, *options); };
  });
  return command;
}

int printMatrix(const Context& context, const Options&) {
  std::cout << (context.json() ? redaction::renderMatrixJson() : redaction::renderMatrix());
  return kDone;
}

}  // namespace

void addAdminCommands(CLI::App& app, Context& context, Action& action) {
  auto options = std::make_shared<Options>();
  auto* token = app.add_subcommand("token", "bearer tokens of hooks, dashboards and agents");
  token->require_subcommand(1);
  addKeyOptions(token, options->key);
  auto* create =
      sub(token, "create", "make a token; it is printed this once", context, action, options, createToken);
  create->add_option("name", options->name, "a label")->required();
  create->add_option("--scope", options->scopes, "ingest, read, propose, approve, admin, separated by commas")
      ->required();
  sub(token, "list", "show names and scopes", context, action, options, listTokens);
  auto* revoke = sub(token, "revoke", "end a token", context, action, options, revokeToken);
  revoke->add_option("name", options->name)->required();

  auto* grant = app.add_subcommand("grant", "let exactly one kind of action run without asking, for a time");
  grant->require_subcommand(1);
  addKeyOptions(grant, options->key);
  auto* add = sub(grant, "add", "grant", context, action, options, addGrant);
  addSubjectOptions(add, *options);
  add->add_option("--for", options->duration, "30m, 8h, 2d; default 1h");
  sub(grant, "list", "show what is granted", context, action, options, listGrants);
  auto* remove = sub(grant, "remove", "take a grant back", context, action, options, removeGrant);
  remove->add_option("id", options->name)->required();

  auto* policy = app.add_subcommand("policy", "the rules of policy.toml");
  policy->require_subcommand(1);
  addKeyOptions(policy, options->key);
  auto* check =
      sub(policy, "check", "check the file; with any option, tell which rule decides about such a request",
          context, action, options, checkPolicy);
  addSubjectOptions(check, *options);
  check->add_option("--profile", options->profile, "a container's template; default: default");
  for (auto* option : check->get_options()) {
    if (option->get_lnames() != std::vector<std::string>{"help"})
      option->each([options](const std::string&) { options->asked = true; });
  }
  sub(policy, "reload", "put the file in force", context, action, options, reloadPolicy);
  sub(policy, "matrix", "what may cross which boundary", context, action, options, printMatrix);
}

}  // namespace factionos::cli
