#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http.h"
#include "process.h"

namespace factionos::test {

// Started by root, the test program becomes FACTIONOS_TEST_USER (or "nobody"'s uid) for good before any test:
// the product never runs as root.
void becomeOrdinaryUser();

struct Setup {
  enum class Key { kPlain, kSealed } key = Key::kPlain;  // unsealing costs a second on purpose
  std::string limits;                                    // lines of config.toml's [limits]
  std::string engine;                                    // docker's socket, in config.toml's [engines]
  std::string engines;                                   // more lines of that table
  std::string config;                                    // more of config.toml, as tables of their own
  std::string policy;                                    // instead of the shipped policy.toml
  std::string broker;  // a factionosd with workers of its own beside it, instead of what the CLI starts
  enum class Kernel { kAsItIs, kNoUserNamespaces } kernel = Kernel::kAsItIs;
  std::vector<std::string> environment;  // of broker and CLI, beside the usual: NAME=value
};

// A home, a workspace and a running broker of their own, made with the CLI as an operator does. Stops and
// removes all at the end.
class LiveBroker {
 public:
  explicit LiveBroker(Setup setup = {});
  ~LiveBroker();
  LiveBroker(const LiveBroker&) = delete;
  LiveBroker& operator=(const LiveBroker&) = delete;

  const std::string& home() const { return home_; }
  const std::string& workspace() const { return workspace_; }
  std::uint16_t port() const { return port_; }
  pid_t pid() const { return broker_->pid(); }
  Process& process() { return *broker_; }
  const std::string& initOutput() const { return initOutput_; }
  // Of all its starts.
  std::string log() const { return earlierLog_ + (broker_ ? broker_->err() : std::string()); }

  void start();
  void stop();                                 // SIGTERM, and waits
  pid_t child(const std::string& name) const;  // of the broker's tree, by its program's name; 0: none

  Finished cli(std::vector<std::string> arguments, const std::string& input = {});
  std::unique_ptr<Process> startCli(std::vector<std::string> arguments, const std::string& input = {});
  std::vector<std::string> environment() const;

  // A bearer token; made once for each name.
  std::string token(const std::string& scopes = "read,propose", const std::string& name = {});

  Reply get(const std::string& target, const std::string& token);
  Reply post(const std::string& target, const std::string& body, const std::string& token,
             const std::string& key = {});

  // `command`: JSON members that say what runs: R"("command":["true"])".
  Reply propose(const std::string& command, const std::string& token, const std::string& key);
  Finished approve(const std::string& id, std::uint64_t revision = 1);
  Reply execute(const std::string& command, const std::string& token, const std::string& key,
                const std::string& id, std::uint64_t revision = 2);
  // All three; the reply of the last. A failure of the first two fails the test.
  Reply run(const std::string& command, const std::string& token, const std::string& key);
  // The session once it has ended.
  Reply ended(const std::string& session, const std::string& token);
  Reply action(const std::string& id, const std::string& token) { return get("/v1/actions/" + id, token); }
  // Runs and waits; the ended session.
  Reply outcome(const std::string& command, const std::string& token, const std::string& key);
  // Until the output of `session` holds `text`; the session as it is then.
  Reply untilOutput(const std::string& session, const std::string& text, const std::string& token);

 private:
  std::string body(const std::string& command, const std::string& approval) const;
  std::string root_;
  std::string home_;
  std::string workspace_;
  std::string initOutput_;
  std::uint16_t port_ = 0;
  Setup::Kernel kernel_;
  std::string served_;
  std::vector<std::string> extraEnvironment_;
  std::string earlierLog_;
  std::unique_ptr<Process> broker_;
  std::map<std::string, std::string> tokens_;
};

// The output as one text, whether it was cut or not.
std::string outputOf(const Reply& session);
std::string uniqueKey();

}  // namespace factionos::test
