// Requests over keep-alive connections, one under way on each, as fast as they are answered.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace factionos::bench {

struct Load {
  std::uint16_t port = 0;  // on 127.0.0.1
  unsigned connections = 1;
  std::chrono::milliseconds length{3000};
  // The bytes of the n-th request, counted over all connections.
  std::function<std::string(std::uint64_t)> request;
};

struct LoadResult {
  double perSecond = 0;
  double p50Ms = 0;
  double p99Ms = 0;
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;  // with another status than 2xx
};

// Throws std::runtime_error if a connection can't be made or ends before its answer.
LoadResult run(const Load& load);

std::string getRequest(const std::string& target, const std::string& token);
std::string postRequest(const std::string& target, const std::string& token, const std::string& body,
                        const std::string& key = {});

}  // namespace factionos::bench
