#include "workers/front/metrics.h"

#include <algorithm>

#include "workers/front/snapshots.h"

namespace factionos::front {
namespace {

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n");
  out.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void single(std::string& out, std::string_view name, std::string_view type, std::string_view help,
            std::uint64_t value) {
  head(out, name, type, help);
  out.append(name).append(" ").append(std::to_string(value)).append("\n");
}

}  // namespace

void Metrics::count(std::string_view route, std::uint16_t status) {
  const std::size_t statusClass = std::min<std::size_t>(status / 100U, kClasses - 1);
  ++requests_[route][statusClass];
}

std::string Metrics::render(const ConnectionCounts& connections, const SnapshotView* snapshot) const {
  std::string out;
  head(out, "factionos_http_requests_total", "counter", "Answers by route template and class of status.");
  for (const auto& [route, classes] : requests_) {
    for (std::size_t statusClass = 0; statusClass < kClasses; ++statusClass) {
      if (classes[statusClass] == 0) continue;
      out.append("factionos_http_requests_total{route=\"").append(route.empty() ? "none" : route);
      out.append("\",class=\"").append(std::to_string(statusClass)).append("xx\"} ");
      out.append(std::to_string(classes[statusClass])).append("\n");
    }
  }
  single(out, "factionos_http_connections", "gauge", "Connections that are open.", connections.open);
  single(out, "factionos_http_connections_total", "counter", "Connections that were accepted.",
         connections.accepted);
  single(out, "factionos_http_connections_turned_away_total", "counter",
         "Connections that were closed at once because too many were being served.", connections.turnedAway);
  single(out, "factionos_http_failures_total", "counter", "Requests that met a bug of the front.",
         connections.failures);
  single(out, "factionos_ready", "gauge", "Whether guarded actions can be taken.",
         snapshot != nullptr && snapshot->ready ? 1 : 0);
  if (snapshot == nullptr) return out;
  single(out, "factionos_actions_waiting", "gauge", "Actions that wait for a decision.",
         snapshot->actionsWaiting);
  single(out, "factionos_actions_executing", "gauge", "Actions that are being executed.",
         snapshot->actionsExecuting);
  single(out, "factionos_sessions_active", "gauge", "Terminal sessions that are alive.",
         snapshot->sessionsActive);
  return out;
}

}  // namespace factionos::front
