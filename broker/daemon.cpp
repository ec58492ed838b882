#include "broker/daemon.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include <sodium.h>
#include <sys/stat.h>

#include "broker/core/log.h"
#include "broker/home/workspace.h"
#include "broker/identity/token.h"
#include "broker/profile.h"
#include "sandbox/enter.h"
#include "sandbox/remove_tree.h"

namespace factionos::broker {
namespace {

constexpr std::size_t kMaxSecretFile = 16 * 1024;  // above what the masker takes, which then says so

struct Options {
  std::optional<std::string> home;
  std::optional<std::string> user;
  std::optional<std::string> listen;
  bool printAddress = false;
};

template <typename T>
T must(home::Result<T> result) {
  if (!result.ok()) throw StartRefused(result.problem());
  return std::move(result).value();
}

// Sessions make their temporary directories in here. What an earlier broker's sessions left goes; what can't
// be removed is put aside, and tried again at the next start: it must not keep the broker from starting.
void prepareScratch(const home::Home& home) {
  constexpr const char* kName = "scratch";
  constexpr std::uint64_t kAsides = 100;
  const int run = home.fd(home::Folder::kRun);
  const auto aside = [](std::uint64_t number) { return "scratch.left-" + std::to_string(number); };
  for (std::uint64_t i = 0; i < kAsides; ++i) sandbox::removeTree(run, aside(i).c_str());
  if (sandbox::removeTree(run, kName) == sandbox::Removal::kLeft) {
    std::uint64_t free = 0;
    while (free < kAsides && ::renameat2(run, kName, run, aside(free).c_str(), RENAME_NOREPLACE) != 0) ++free;
    log(Level::kWarning, "scratch_left", {{"number", free}});
  }
  if (::mkdirat(run, kName, 0700) != 0)
    throw StartRefused(std::string("can't make run/scratch in the home: ") + std::strerror(errno), 1);
}

// What lies in tokens/, for the masker. A file that can't be read whole is a secret that can't be masked.
MaskRules maskRules(const home::Home& home) {
  std::vector<std::string> secrets;
  std::uint32_t unreadable = 0;
  std::error_code error;
  const auto folder = std::filesystem::path(home.path()) / "tokens";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    auto text = home.readFile(home::Folder::kTokens, entry.path().filename().string(), kMaxSecretFile);
    if (!text) {
      ++unreadable;
    } else if (!text->empty()) {
      secrets.push_back(std::move(text).value());
    }
  }
  if (error) ++unreadable;
  MaskRules rules(secrets, unreadable);
  const auto& coverage = rules.coverage();
  log(coverage.weak + coverage.refused == 0 ? Level::kInfo : Level::kWarning, "secrets",
      {{"known", std::uint64_t{coverage.known}},
       {"weak", std::uint64_t{coverage.weak}},
       {"refused", std::uint64_t{coverage.refused}}});
  return rules;
}

// Identity, home and what takes a capability → launcher → configuration and keys → listeners → sandbox →
// serve.
int run(const Options& options, const Seams& seams) {
  dropPrivileges(options.user);
  auto audit = sandbox::joinLandlockAudit();
  const auto auditReading = audit.reading;
  ::umask(077);
  const auto home =
      must(home::Home::open(must(home::locateHome(home::HomeLookup::fromProcess(options.home)))));
  const auto lock = must(home.lock());
  auto launcher = startLauncher(home, std::move(audit));

  auto config = must(home::loadConfig(home));
  if (options.listen) config.listen = must(home::parseListenAddress(*options.listen));
  const auto guard = must(home::WorkspaceGuard::create(home));
  for (const auto& each : config.templates) {
    if (each.auth.empty()) continue;
    if (const auto refusal = guard.checkProfileDirectory(each.auth)) throw StartRefused(refusal->problem);
  }
  for (const auto* list : {&config.profile.programDirs, &config.profile.readableDirs}) {
    for (const auto& directory : *list) {
      if (const auto refusal = guard.checkProfileDirectory(directory)) throw StartRefused(refusal->problem);
    }
  }
  auto rules = must(policy::Policy::load(home, {}));
  const auto keyState = must(identity::operatorKeyState(home));
  std::optional<identity::PublicKey> operatorKey;
  if (keyState != identity::KeyState::kMissing) operatorKey = must(identity::loadOperatorPublicKey(home));
  auto tokenKey = must(identity::loadOrCreateKey(home, identity::kTokenKeyName));
  prepareScratch(home);
  const auto masks = maskRules(home);
  auto anchor = openAnchor(home, config);
  auto listeners = bindListeners(home, config);
  const AdoptedChildren adopted;

  std::vector<int> keep{0,
                        1,
                        2,
                        lock.descriptors()[0],
                        lock.descriptors()[1],
                        launcher.line.get(),
                        launcher.events.get(),
                        listeners.operatorSocket.get(),
                        adopted.fd()};
  using home::Folder;
  for (const auto folder : {Folder::kTop, Folder::kState, Folder::kRun, Folder::kSpool, Folder::kTokens})
    keep.push_back(home.fd(folder));
  if (anchor) keep.push_back(anchor->descriptor());
  for (const auto& each : listeners.front) keep.push_back(each.socket.get());
  const auto process = OwnProcess::read();  // there is no /proc inside
  sandbox::enter(profile(home.fd(Folder::kTop), adopted.fd(), keep));

  return serve({.home = home,
                .config = config,
                .rules = std::move(rules),
                .operatorKey = operatorKey,
                .operatorKeyState = keyState,
                .tokenKey = std::move(tokenKey),
                .masks = masks,
                .auditReading = auditReading,
                .launcher = std::move(launcher),
                .listeners = std::move(listeners),
                .adopted = adopted,
                .anchor = anchor ? &*anchor : nullptr,
                .process = process,
                .printAddress = options.printAddress,
                .seams = seams});
}

int guarded(const Options& options, const Seams& seams) {
  try {
    return run(options, seams);
  } catch (const StartRefused& refused) {
    std::cerr << "factionosd: " << refused.what() << '\n';
    return refused.status();
  } catch (const sandbox::SetupError& error) {
    std::cerr << "factionosd: the sandbox can't be enforced here: " << error.what() << '\n';
    return 5;
  } catch (const std::exception& error) {
    std::cerr << "factionosd: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace

int daemonMain(int argc, char** argv, const Seams& seams) {
  if (sodium_init() < 0) return 1;
  Options options;
  CLI::App app("factionosd, the broker of FactionOS; usually started by 'factionos serve'");
  app.add_option("--home", options.home, "the home directory (default: $FACTIONOS_HOME, else ~/.factionos)");
  app.add_option("--user", options.user, "when started as root: the user to become at once");
  app.add_option("--listen", options.listen,
                 "loopback address and port, such as 127.0.0.1:4519; port 0 lets the kernel choose");
  app.add_flag("--print-address", options.printAddress,
               "print the bound address on standard output when ready");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return guarded(options, seams);
}

}  // namespace factionos::broker
