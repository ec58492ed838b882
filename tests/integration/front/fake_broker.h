// The broker's side of the front's line, with a loop and a thread of its own: it serves Gate and Api as a
// test tells it to, and counts what it is asked.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include <kj/async.h>

#include "protocol/schemas/front.capnp.h"
#include "sandbox/descriptors.h"

namespace factionos::front::test {

struct BrokerOptions {
  std::uint32_t headerTimeoutMs = 10000;
  std::uint32_t bodyTimeoutMs = 30000;
  std::uint32_t idleTimeoutMs = 60000;
  std::uint32_t writeTimeoutMs = 10000;
  std::uint32_t maxConnections = 512;
  std::vector<std::string> allowedHosts;
  std::vector<std::string> allowedOrigins;
  // Tokens and the scopes of their principals.
  std::map<std::string, std::vector<schema::Scope>> tokens;
  // Users whose unix connections are let in, with the scopes read and propose.
  std::set<uid_t> users;
};

// What it was asked. Written by its thread; read a number at any time.
class Asked {
 public:
  // Waits until `holds`, at most 10 s.
  bool eventually(const std::function<bool()>& holds);
  // For the broker: counts up or down and wakes who waits.
  void note(std::atomic<int>& number, int by = 1);

  std::atomic<int> logins{0};
  std::atomic<int> peers{0};
  std::atomic<int> calls{0};      // of any method of Api
  std::atomic<int> mutations{0};  // of terminalRun
  std::atomic<int> waiting{0};    // long polls under way
  std::atomic<uid_t> lastUser{static_cast<uid_t>(-1)};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class FakeBroker {
 public:
  // `line` is the broker's end. Returns when the front has its configuration and listeners.
  FakeBroker(sandbox::Fd line, BrokerOptions options);
  ~FakeBroker();
  FakeBroker(const FakeBroker&) = delete;
  FakeBroker& operator=(const FakeBroker&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const std::string& socketPath() const { return socketPath_; }
  Asked& asked() { return asked_; }

  // Resolved when the front has taken it.
  void publish(const std::function<void(schema::Snapshot::Builder)>& fill, std::uint64_t loginEpoch = 1);
  void publishRevision(std::uint64_t revision, std::uint64_t loginEpoch = 1);
  void shutdownFront(std::uint32_t graceMs);
  // Runs on the broker's thread: to change its options.
  void change(const std::function<void(BrokerOptions&)>& how);
  // Ends the line.
  void loseLine();

 private:
  class Gate;
  class Api;
  struct Thread;

  void run(int line);
  void onThread(const std::function<kj::Promise<void>()>& what);
  void bindListeners();

  BrokerOptions options_;
  Asked asked_;
  std::uint16_t port_ = 0;
  std::string directory_;
  std::string socketPath_;
  sandbox::Fd tcp_;
  sandbox::Fd unix_;
  std::unique_ptr<Thread> shared_;
  std::thread thread_;
};

}  // namespace factionos::front::test
