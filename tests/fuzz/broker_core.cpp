#include "tests/fuzz/broker_core.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <sodium.h>
#include <unistd.h>

#include "protocol/rpc/descriptor.h"
#include "tests/fuzz/rpc_peer.h"

namespace factionos::fuzz {
namespace {

constexpr const char* kPolicy = R"([[rule]]
family = "terminal"
operation = "*"
program = "sh"
decision = "allow"
until = 2099-01-01T00:00:00Z
[[rule]]
family = "*"
operation = "read-only"
decision = "allow"
[[rule]]
family = "*"
operation = "*"
decision = "ask"
)";

template <typename T>
T must(home::Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "fuzz home: %s\n", result.problem().text().c_str());
    std::abort();
  }
  return std::move(result).value();
}

std::filesystem::path stateOf(const std::string& home) {
  return std::filesystem::path(home) / "state";
}

// What `factionos init` makes.
identity::OperatorKey makeHome(const std::string& path) {
  if (sodium_init() < 0) std::abort();
  const auto home = must(home::Home::create(path));
  auto key = identity::OperatorKey::generate();
  if (!identity::storePlainOperatorKey(home, key).ok()) std::abort();
  state::Keys::create(stateOf(path) / "keys");
  audit::AuditLog::create({.stateDirectory = stateOf(path)});
  const state::Database schema(stateOf(path) / "state.db", state::Access::kReadWrite);
  must(identity::loadOrCreateKey(home, identity::kTokenKeyName));
  using home::Folder;
  using home::WriteMode;
  if (!home.writeFile(Folder::kTop, policy::kPolicyFile, kPolicy, WriteMode::kCreateNew).ok() ||
      !home.writeFile(Folder::kTop, home::kConfigFile, home::defaultConfigText(), WriteMode::kCreateNew).ok())
    std::abort();
  return key;
}

// A home that is made once and copied for each broker.
struct Template {
  Template() : key(makeHome(folder.path() + "/home")) {}
  ScratchFolder folder;
  identity::OperatorKey key;
};

home::Home copyHome(const Template& from, const std::string& path) {
  std::filesystem::copy(from.folder.path() + "/home", path, std::filesystem::copy_options::recursive);
  return must(home::Home::open(path));
}

const Template& homeTemplate() {
  static const Template one;
  return one;
}

home::Config configOf(const std::string& workspace) {
  // A template, so that tasks can be queued; no engine, so that none runs.
  auto config = must(home::parseConfig(std::string(home::defaultConfigText()) +
                                       "[[template]]\nid = \"t\"\ncommand = [\"/bin/true\"]\n"));
  config.workspaces.push_back({.name = "demo", .path = workspace});
  return config;
}

std::string addToken(BrokerCore& broker, const char* name) {
  using identity::Scope;
  auto minted = must(identity::mintToken(
      must(identity::loadOrCreateKey(broker.home, identity::kTokenKeyName)), name,
      identity::ScopeSet::of(Scope::kIngest, Scope::kRead, Scope::kPropose, Scope::kApprove, Scope::kAdmin),
      audit::systemNow()));
  if (!broker.tokens.add(minted.row).ok()) std::abort();
  return std::string(minted.text.text());
}

broker::ActionReply ask(BrokerCore& broker, const std::string& token, const char* key,
                        kj::FunctionParam<void(schema::TerminalRun::Builder)> fill) {
  capnp::MallocMessageBuilder message;
  auto request = message.initRoot<schema::TerminalRun>();
  request.setWorkspace("demo");
  fill(request);
  auto reply = broker.terminal.run(broker.caller(token), key, request).wait(loop().waitScope());
  if (const auto* refused = std::get_if<broker::Refused>(&reply)) {
    std::fprintf(stderr, "fuzz story: refused with code %d\n", static_cast<int>(refused->code));
    std::abort();
  }
  return reply;
}

std::string propose(BrokerCore& broker, const std::string& token, const char* key) {
  auto reply = ask(broker, token, key, [](auto request) { request.initCommand(1).set(0, "true"); });
  return std::get<broker::ActionWaits>(reply).row.id;
}

std::string proofFor(BrokerCore& broker, const std::string& id, identity::ProofDecision decision) {
  const auto row = broker.actions.find(id);
  const identity::ProofMessage message{.actionId = id,
                                       .revision = row->revision,
                                       .decision = decision,
                                       .nonce = broker.actions.nonceOf(*row).value(),
                                       .reasonDigest = std::nullopt};
  return identity::proofText(broker.operatorKey.sign(message));
}

}  // namespace

const broker::MaskRules& maskRules() {
  static const broker::MaskRules one({"a-known-secret-value"});
  return one;
}

const broker::RequestTable& requestTable() {
  static const broker::RequestTable one;
  return one;
}

BrokerCore::BrokerCore()
    : operatorKey(homeTemplate().key),
      home(copyHome(homeTemplate(), folder.path() + "/home")),
      config(configOf(folder.path())),
      auditPaths{.stateDirectory = stateOf(home.path())},
      keys(state::Keys::load(stateOf(home.path()) / "keys")),
      database(stateOf(home.path()) / "state.db", state::Access::kReadWrite),
      auditLog(audit::AuditLog::open(auditPaths, {.committedThrough = state::committedThrough(database)})),
      reader(stateOf(home.path()) / "state.db", state::Access::kReadOnly),
      writer(database, *auditLog),
      idempotency(keys, 1, 86'400'000),
      lived(0),
      // In place: what a run leads to has happened when it ends.
      asyncWriter(
          writer,
          [](kj::Function<void()> job) -> kj::Promise<void> {
            job();
            return kj::READY_NOW;
          },
          loop().timer()),
      scratch(home.path() + "/run/scratch"),
      core{.loop = loop(),
           .timer = loop().timer(),
           .reader = reader,
           .writer = asyncWriter,
           .keys = keys,
           .ids = ids,
           .idempotency = idempotency,
           .lived = lived,
           .auditPaths = auditPaths,
           .home = home,
           .config = config,
           .scratch = scratch,
           .apiPort = 0,
           .changes = changes,
           .health = health},
      rules(home, keys, must(policy::Policy::load(home, {})), policy::Approver::kPresent),
      masks(maskRules()),
      workers(loop(), launcher.takeLine(), nullptr),
      actions(core),
      runner(core, actions, rules, executors),
      terminal(core, actions, runner, sessions, workers, masks),
      files(core, runner, workers, masks),
      containers(core, actions, runner, workers, masks, broker::OwnProcess::read()),
      tasks(core, rules, containers),
      git(core, runner, workers, masks),
      events(core),
      tokens(must(identity::loadOrCreateKey(home, identity::kTokenKeyName))),
      uids(identity::UidTable::fromConfig(config, geteuid())),
      services{.core = core,
               .home = home,
               .actions = actions,
               .rules = rules,
               .sessions = sessions,
               .executors = executors,
               .terminal = terminal,
               .files = files,
               .containers = containers,
               .tasks = tasks,
               .git = git,
               .events = events,
               .tokens = tokens,
               .uids = uids,
               .readiness = readiness,
               .masks = masks,
               .operatorKey = operatorKey.publicKey(),
               .separation = identity::ApprovalSeparation::kNone,
               .brokerIdentity = {},
               .startedAt = audit::systemNow()} {
  const auto restored =
      writer.runBatch({[this](state::Transaction& transaction) { rules.restore(transaction); }});
  if (restored.errors.front()) std::abort();
  for (const auto family :
       {policy::Family::kTerminal, policy::Family::kFile, policy::Family::kGit, policy::Family::kContainer})
    executors.add(family, []() { return std::nullopt; });
  token = addToken(*this, "all");
  // Deadlines count from when the loop looked at the clock last, and compiling the masker's rules takes long.
  loop().waitScope().poll();
}

// As serve() ends: sessions first, while the loop still runs.
BrokerCore::~BrokerCore() {
  runner.close();
  terminal.shutdown().wait(loop().waitScope());
  containers.shutdown().wait(loop().waitScope());
  runner.idle().wait(loop().waitScope());
  loop().waitScope().poll();
  runner.abandon();
}

broker::Caller BrokerCore::caller(const std::string& ofToken) {
  return {.principal = tokens.find(ofToken, audit::systemNow()).value()};
}

Story tell(BrokerCore& broker) {
  Story story{.approved = propose(broker, broker.token, "k0"),
              .waiting = propose(broker, addToken(broker, "other"), "k0"),
              .approval = {},
              .rejection = {},
              .session = {}};
  story.approval = proofFor(broker, story.waiting, identity::ProofDecision::kApprove);
  story.rejection = proofFor(broker, story.waiting, identity::ProofDecision::kReject);
  const auto approved = broker.actions
                            .decide({.id = story.approved,
                                     .expectedRevision = 1,
                                     .verdict = schema::Verdict::APPROVE,
                                     .approver = "operator",
                                     .reason = std::nullopt})
                            .wait(loop().waitScope());
  if (broker::refusedIn(approved) != nullptr) std::abort();
  auto reply = ask(broker, broker.token, "k1", [](auto request) { request.setShell("true"); });
  if (std::get<broker::StoredReply>(reply).status != 201) std::abort();
  story.session = broker.sessions.all().begin()->first;
  return story;
}

}  // namespace factionos::fuzz

// Before the first input is timed.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  factionos::fuzz::maskRules();
  factionos::fuzz::requestTable();
  return 0;
}
