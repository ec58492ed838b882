#include "tests/fuzz/broker_core.h"

#include <cstdlib>

#include <sodium.h>
#include <unistd.h>

#include "broker/identity/operator_key.h"
#include "protocol/rpc/descriptor.h"
#include "tests/fuzz/rpc_peer.h"

namespace factionos::fuzz {
namespace {

constexpr const char* kPolicy = R"([[rule]]
family = "terminal"
program = "sh"
decision = "allow"
until = 2099-01-01T00:00:00Z
[[rule]]
family = "*"
operation = "*"
decision = "ask"
)";

template <typename T>
T must(home::Result<T> result) {
  if (!result.ok()) std::abort();
  return std::move(result).value();
}

class Session final : public schema::Session::Server {
  kj::Promise<void> prepare(PrepareContext context) override {
    auto prepared = context.getResults().initPrepared();
    prepared.setProgram(context.getParams().getCommand().hasShell() ? "sh" : "/usr/bin/true");
    prepared.setProgramLabel("true");
    auto digest = prepared.initDigests(1)[0];
    digest.setLabel("program");
    digest.initSha(32);
    return kj::READY_NOW;
  }
  kj::Promise<void> start(StartContext context) override {
    context.getResults().initDenial().setCode("exec_failed");
    return kj::READY_NOW;
  }
  kj::Promise<void> kill(KillContext) override { return kj::READY_NOW; }
};

class Worker final : public schema::Worker::Server {
  kj::Promise<void> kill(KillContext) override { return kj::READY_NOW; }
};

class Launcher final : public schema::Launcher::Server {
  kj::Promise<void> start(StartContext context) override {
    context.getResults().initDenial().setCode("role_unknown");
    return kj::READY_NOW;
  }
  kj::Promise<void> startSession(StartSessionContext context) override {
    context.getResults().setSession(kj::heap<Session>());
    context.getResults().setWorker(kj::heap<Worker>());
    return kj::READY_NOW;
  }
};

// What `factionos init` makes.
home::Home makeHome(const std::string& path) {
  if (sodium_init() < 0) std::abort();
  auto home = must(home::Home::create(path));
  const auto key = identity::OperatorKey::generate();
  if (!identity::storePlainOperatorKey(home, key).ok()) std::abort();
  state::Keys::create(std::filesystem::path(path) / "state" / "keys");
  audit::AuditLog::create({.stateDirectory = std::filesystem::path(path) / "state"});
  if (!home.writeFile(home::Folder::kTop, policy::kPolicyFile, kPolicy, home::WriteMode::kCreateNew).ok() ||
      !home.writeFile(home::Folder::kTop, home::kConfigFile, home::defaultConfigText(),
                      home::WriteMode::kCreateNew)
           .ok())
    std::abort();
  return home;
}

home::Config configOf(const std::string& workspace) {
  auto config = must(home::parseConfig(home::defaultConfigText()));
  config.workspaces.push_back({.name = "demo", .path = workspace});
  return config;
}

std::string addToken(identity::TokenIndex& index, const identity::SecretBytes& key) {
  using identity::Scope;
  auto minted = must(identity::mintToken(
      key, "all",
      identity::ScopeSet::of(Scope::kIngest, Scope::kRead, Scope::kPropose, Scope::kApprove, Scope::kAdmin),
      audit::systemNow()));
  if (!index.add(minted.row).ok()) std::abort();
  return std::string(minted.text.text());
}

}  // namespace

ScratchFolder::ScratchFolder() {
  const auto base = std::filesystem::exists("/dev/shm") ? std::string("/dev/shm") : std::string("/tmp");
  path_ = base + "/factionos-fuzz-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) std::abort();
  static std::string* const gone = new std::string(path_);
  std::atexit([]() {
    std::error_code ignored;
    std::filesystem::remove_all(*gone, ignored);
  });
}

rpc::OwnFd denyingLauncher() {
  auto pair = rpc::socketPair();
  static auto& line = *new rpc::Connection(loop(), kj::mv(pair.second), {.role = rpc::Role::kServer},
                                           capnp::Capability::Client(kj::heap<Launcher>()));
  static_cast<void>(line);
  return kj::mv(pair.first);
}

BrokerCore::BrokerCore()
    : home(makeHome(folder.path() + "/home")),
      config(configOf(folder.path())),
      auditPaths{.stateDirectory = std::filesystem::path(home.path()) / "state"},
      keys(state::Keys::load(std::filesystem::path(home.path()) / "state" / "keys")),
      database(std::filesystem::path(home.path()) / "state" / "state.db", state::Access::kReadWrite),
      auditLog(audit::AuditLog::open(auditPaths, {.committedThrough = state::committedThrough(database)})),
      reader(std::filesystem::path(home.path()) / "state" / "state.db", state::Access::kReadOnly),
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
           .config = config,
           .scratch = scratch,
           .apiPort = 0,
           .changes = changes,
           .health = health},
      rules(home, keys, must(policy::Policy::load(home, {})), policy::Approver::kPresent),
      masks({"a-known-secret-value"}),
      workers(loop(), denyingLauncher()),
      actions(core),
      terminal(core, actions, rules, sessions, workers, masks),
      events(core),
      tokens(must(identity::loadOrCreateKey(home, identity::kTokenKeyName))),
      uids(identity::UidTable::fromConfig(config, geteuid())),
      services{.core = core,
               .home = home,
               .actions = actions,
               .rules = rules,
               .sessions = sessions,
               .terminal = terminal,
               .events = events,
               .tokens = tokens,
               .uids = uids,
               .readiness = readiness,
               .operatorKey = must(identity::loadOperatorPublicKey(home)),
               .separation = identity::ApprovalSeparation::kNone,
               .brokerIdentity = {},
               .startedAt = audit::systemNow()},
      front(services, workers, listeners) {
  const auto restored =
      writer.runBatch({[this](state::Transaction& transaction) { rules.restore(transaction); }});
  if (restored.errors.front()) std::abort();
  token = addToken(tokens, must(identity::loadOrCreateKey(home, identity::kTokenKeyName)));
}

BrokerCore& brokerCore() {
  static auto& one = *new BrokerCore;
  return one;
}

}  // namespace factionos::fuzz
