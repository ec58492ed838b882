#include "latency.h"

#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

namespace factionos::test {

using Clock = std::chrono::steady_clock;

void Latency::measure(const std::function<bool()>& ask) {
  const auto began = Clock::now();
  if (!ask()) ++failures_;
  took_.push_back(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began));
}

void Latency::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void Latency::expectServed(const char* name) {
  stop();
  ASSERT_FALSE(took_.empty()) << name;
  std::ranges::sort(took_);
  const auto at = [this](std::size_t percent) {
    return static_cast<double>(took_[(took_.size() - 1) * percent / 100].count()) / 1000;
  };
  std::printf("bench hostile.%s requests=%zu p50_ms=%.2f p99_ms=%.2f max_ms=%.2f aim_p99_ms=100 %s\n", name,
              took_.size(), at(50), at(99), at(100), at(99) < 100 ? "met" : "missed");
  EXPECT_EQ(failures_, 0U) << name;
  EXPECT_LT(at(99), 1000) << name;
}

}  // namespace factionos::test
