// soak [--runs N] [--share K] [--seed S]: N times some random operations and one SIGKILL at a random moment;
// exits 1 if any promise was broken. The same seed draws the same operations and kills; what they meet is the
// machine's. N is FACTIONOS_SOAK_RUNS of the environment where it is not given, else 200; with a share only
// N/K are made.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "live_broker.h"
#include "tests/soak/run.h"

namespace {

using namespace factionos::test;

constexpr std::uint64_t kRunsOfAHome = 50;
constexpr std::size_t kMostBreaches = 10;  // then it stops: the rest would say the same

void print(const Summary& summary, double seconds) {
  for (const auto& [what, count] : summary.counts)
    std::printf("%-40s %8llu\n", what.c_str(), static_cast<unsigned long long>(count));
  std::printf("%-40s %8.1f\n", "seconds", seconds);
  for (const auto& breach : summary.breaches) std::printf("BROKEN: %s\n", breach.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const char* wanted = std::getenv("FACTIONOS_SOAK_RUNS");
  std::uint64_t runs = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 200;
  std::uint64_t share = 1;
  std::uint64_t seed = std::random_device()();
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto number = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::string_view(argv[i]) == "--runs") runs = number;
    if (std::string_view(argv[i]) == "--share") share = std::max<std::uint64_t>(number, 1);
    if (std::string_view(argv[i]) == "--seed") seed = number;
  }
  runs = (runs + share - 1) / share;
  becomeOrdinaryUser();
  std::printf("soak --runs %llu --seed %llu\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  Summary summary;
  const auto begun = std::chrono::steady_clock::now();
  for (std::uint64_t done = 0; done < runs && summary.breaches.size() < kMostBreaches;) {
    Soak soak(random, summary);
    for (std::uint64_t i = 0; i < kRunsOfAHome && done < runs; ++i, ++done) soak.run();
    soak.settle();
  }
  print(summary, std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  return summary.breaches.empty() ? 0 : 1;
}
