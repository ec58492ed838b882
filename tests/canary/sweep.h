#pragma once

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "live_broker.h"
#include "tests/canary/canaries.h"
#include "tests/canary/requests.h"
#include "tests/canary/streams.h"

namespace factionos::test {

// A live broker with canaries in its environment, its known secrets and the paths of its home and workspace.
// Whatever comes out while a test drives it is searched at once; whatever stays (files, log, frames, command
// lines) at the end of each test.
class Sweep : public testing::Test {
 protected:
  Sweep();
  void SetUp() override;
  void TearDown() override;

  void search(std::string_view bytes, const Place& place, const std::string& where);
  // One request over the unix socket, its answer searched. As the token "agent" if no header says otherwise.
  Reply ask(const Request& request, const std::vector<Category>& shows = {});
  Reply post(const std::string& target, const std::string& body, const std::string& key);
  Reply get(const std::string& target, const std::vector<Category>& shows = {});
  // What a command of the CLI shows, searched.
  Finished screen(std::vector<std::string> arguments, const std::vector<Category>& shows = {},
                  const std::string& input = {});

  // The workspace becomes a repository with one commit, on which `commands` of sh follow.
  void makeRepository(const std::string& commands = "true");
  // `what`: JSON members that say what runs. The id of an action that waits.
  std::string propose(const std::string& what, const std::string& key);
  // Proposes, approves and starts; the session's id.
  std::string start(const std::string& what, const std::string& key);
  // The one place with output.
  Reply detail(const std::string& session, const std::string& query = {});
  bool shows(const std::string& session, const std::string& text);

  std::string plant(Category category, const std::string& origin) {
    return canaries_.plant(category, origin);
  }
  const std::string& socket() const { return socket_; }
  const std::string& token() const { return token_; }
  std::string root() const { return broker_.home().substr(0, broker_.home().rfind('/')); }
  void searchFiles(const std::string& when);
  void searchLog();
  void expectNoCore() const;
  void stopWatching();

  Canaries canaries_;
  LiveBroker broker_;

 private:
  void watchProcesses();
  void searchCommandLines();

  std::string token_;
  std::string socket_;
  std::unique_ptr<StreamReader> events_;
  std::unique_ptr<StreamReader> frames_;
  std::map<Boundary, std::size_t> searched_;
  std::set<std::string> files_;
  // Of every process that was seen below the broker its name, and its command line if it is ours.
  std::mutex mutex_;
  std::set<std::pair<std::string, std::string>> commandLines_;
  std::atomic<bool> watching_{true};
  std::thread watcher_;
};

}  // namespace factionos::test
