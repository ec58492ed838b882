// Requests per second of the real front under its real profile, for a read that is served from a snapshot.
// Usage: front_load [connections] [seconds]. Client and front share the machine: run it where nothing else
// does.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/integration/front/fixture.h"

namespace factionos::front::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Lane {
  RawClient client;
  Clock::time_point sent;
  std::size_t got = 0;
};

std::size_t answerBytes(RawClient& client, const std::string& ask) {
  client.send(ask);
  client.fill();
  const Answer answer = client.read();
  return answer.head.size() + 2 + answer.body.size();
}

// Time on the processor, user and system, which other work on the machine does not change much.
double cpuSeconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::vector<std::string> all((std::istream_iterator<std::string>(fields)), {});
  return (std::stod(all[11]) + std::stod(all[12])) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void run(int connections, int seconds) {
  Running running;
  running.broker.publishRevision(1);
  const std::string ask = request("GET", "/v1/diagnostics", kGoodToken);
  std::vector<Lane> lanes;
  const int set = epoll_create1(EPOLL_CLOEXEC);
  for (int i = 0; i < connections; ++i) lanes.push_back({running.client(), {}, 0});
  std::vector<long> micros;
  std::uint64_t answers = 0;
  const double cpuBefore = cpuSeconds(running.front.pid());
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::seconds(seconds);
  const auto sendOn = [&](Lane& lane) {
    lane.sent = Clock::now();
    if (send(lane.client.descriptor(), ask.data(), ask.size(), MSG_NOSIGNAL) < 0) std::abort();
  };
  answerBytes(lanes[0].client, ask);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    epoll_event event{EPOLLIN, {}};
    event.data.u64 = i;
    epoll_ctl(set, EPOLL_CTL_ADD, lanes[i].client.descriptor(), &event);
    sendOn(lanes[i]);
  }
  std::vector<char> buffer(65536);
  while (Clock::now() < end) {
    epoll_event events[64];
    const int ready = epoll_wait(set, events, 64, 1000);
    for (int i = 0; i < ready; ++i) {
      Lane& lane = lanes[events[i].data.u64];
      // Each answer is far smaller than the buffer and comes in one piece.
      if (recv(lane.client.descriptor(), buffer.data(), buffer.size(), 0) <= 0) std::abort();
      ++answers;
      micros.push_back(
          std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - lane.sent).count());
      sendOn(lane);
    }
  }
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  std::ranges::sort(micros);
  const double cpu = cpuSeconds(running.front.pid()) - cpuBefore;
  std::printf(
      "%d connections: %.0f requests/s, p50 %ld us, p99 %ld us, %.1f us of CPU each, %ld KiB resident\n",
      connections, static_cast<double>(answers) / took, micros[micros.size() / 2],
      micros[micros.size() * 99 / 100], 1e6 * cpu / static_cast<double>(answers),
      running.front.residentKiB());
  close(set);
}

}  // namespace
}  // namespace factionos::front::test

int main(int argc, char** argv) {
  factionos::front::test::run(argc > 1 ? std::atoi(argv[1]) : 64, argc > 2 ? std::atoi(argv[2]) : 5);
}
