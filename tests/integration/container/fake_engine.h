// An engine that does as a test says: answers byte for byte, in whatever pieces, late, or not at all. In
// threads of the test's own process.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace factionos::test {

class FakeEngine {
 public:
  // One connection after its request came: writes what it likes, then returns, which closes it.
  class Call {
   public:
    std::string method;
    std::string path;   // without the version and the query
    std::string which;  // the id or name that stands as ID in it
    std::string query;
    std::string body;

    void send(const std::string& bytes) const;
    // In pieces of this many bytes.
    void sendCut(const std::string& bytes, std::size_t piece) const;
    void reply(int status, const std::string& json) const;
    // Until the client closes, or this engine ends.
    void hold() const;
    void pause(int milliseconds) const;

    int socket = -1;
    const std::atomic<bool>* ending = nullptr;
  };
  using Handler = std::function<void(const Call&)>;

  FakeEngine();
  ~FakeEngine();
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;

  [[nodiscard]] const std::string& socketPath() const { return path_; }
  // "POST /containers/create"; ids are written ID.
  void on(const std::string& what, Handler handler);
  // What came, in order: "POST /containers/ID/start".
  std::vector<std::string> calls();
  std::size_t calls(const std::string& what);

  // A container that was made as asked and ends with this code after saying this.
  void behaveWell(const std::string& output = {}, int exitCode = 0);
  // What inspect tells of the body that was created last.
  std::string inspected();
  // "running", "exited" …, as the next inspect tells it.
  void state(const std::string& word);
  [[nodiscard]] bool isGone();

  static constexpr const char* kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

 private:
  void serve();
  void handle(int socket);
  std::string folder_;
  std::string path_;
  int listener_ = -1;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::map<std::string, Handler> handlers_;
  std::vector<std::string> calls_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::string created_;  // body of the last create; empty: there is no container
  std::string state_ = "created";
  int exitCode_ = 0;
  std::thread acceptor_;
};

// A frame of the multiplexed stream.
std::string frame(int type, const std::string& payload);

}  // namespace factionos::test
