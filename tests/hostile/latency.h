// How long others wait meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace factionos::test {

// Asks again and again, from a thread of its own, until told to stop.
class Latency {
 public:
  // `makeClient` is called on that thread. What it returns is called for one small request each time, and
  // says whether that was answered as it should be.
  template <typename MakeClient>
  explicit Latency(MakeClient makeClient)
      : thread_([this, makeClient = std::move(makeClient)]() {
          auto client = makeClient();
          while (!stopping_) measure([&client]() { return client(); });
        }) {}
  ~Latency() { stop(); }
  Latency(const Latency&) = delete;
  Latency& operator=(const Latency&) = delete;

  // Ends the asking. Prints the figures under `name`, fails the test if a request failed or the 99th
  // percentile is a second or more; the aim of 100 ms is told, for whoever measures on a quiet machine.
  void expectServed(const char* name);

 private:
  void measure(const std::function<bool()>& ask);
  void stop();
  std::atomic<bool> stopping_{false};
  std::vector<std::chrono::microseconds> took_;
  std::size_t failures_ = 0;
  std::thread thread_;
};

}  // namespace factionos::test
