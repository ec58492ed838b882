#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/audit/fault_points.h"
#include "broker/core/steps.h"

// The names by which a test tells factionosd-faulty where to stop.
namespace factionos::test {

struct WritePlace {
  audit::FaultPoint point;
  std::string_view name;
};
inline constexpr std::array kWritePlaces{
    WritePlace{audit::FaultPoint::kBeforeBegin, "before_begin"},
    WritePlace{audit::FaultPoint::kAfterMutations, "after_mutations"},
    WritePlace{audit::FaultPoint::kBeforeAuditWrite, "before_audit_write"},
    WritePlace{audit::FaultPoint::kAfterAuditWrite, "after_audit_write"},
    WritePlace{audit::FaultPoint::kAfterAuditSync, "after_audit_sync"},
    WritePlace{audit::FaultPoint::kAfterHeadWrite, "after_head_write"},
    WritePlace{audit::FaultPoint::kAfterHeadSync, "after_head_sync"},
    WritePlace{audit::FaultPoint::kBeforeCommit, "before_commit"},
    WritePlace{audit::FaultPoint::kAfterCommit, "after_commit"},
    WritePlace{audit::FaultPoint::kAfterNextKeyWrite, "after_next_key_write"},
    WritePlace{audit::FaultPoint::kAfterSealSync, "after_seal_sync"},
    WritePlace{audit::FaultPoint::kAfterKeyReplace, "after_key_replace"},
};

inline std::string placeOf(broker::Step step, broker::Edge edge) {
  return std::string(nameOf(step)) + (edge == broker::Edge::kBefore ? ".before" : ".after");
}

inline std::string placeOf(audit::FaultPoint point) {
  for (const auto& row : kWritePlaces) {
    if (row.point == point) return "write." + std::string(row.name);
  }
  return {};
}

}  // namespace factionos::test
