// Counters in the Prometheus text format. Labels are route templates and status classes: a bounded set,
// whatever is asked.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace factionos::front {

struct SnapshotView;

struct ConnectionCounts {
  std::uint64_t open = 0;
  std::uint64_t accepted = 0;
  std::uint64_t turnedAway = 0;
  std::uint64_t failures = 0;
};

class Metrics {
 public:
  // `route`: a template that outlives this, or "" for what never reached a route.
  void count(std::string_view route, std::uint16_t status);

  // `snapshot` may be null.
  [[nodiscard]] std::string render(const ConnectionCounts& connections, const SnapshotView* snapshot) const;

 private:
  static constexpr std::size_t kClasses = 6;  // by the status' first digit
  std::map<std::string_view, std::array<std::uint64_t, kClasses>> requests_;
};

}  // namespace factionos::front
