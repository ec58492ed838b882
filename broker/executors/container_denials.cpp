#include <algorithm>
#include <array>

#include "broker/executors/live_run.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using redaction::Literal;
using schema::ProblemCode;

struct Row {
  std::string_view code;
  ProblemCode problem;
  Literal detail;
};

constexpr std::array kRows{
    Row{"engine_unavailable", ProblemCode::ENGINE_UNAVAILABLE, "The engine can't be reached, or broke off."},
    Row{"engine_refused", ProblemCode::ENGINE_UNAVAILABLE, "The engine answered with an error."},
    Row{"engine_timeout", ProblemCode::ENGINE_UNAVAILABLE, "The engine did not answer in time."},
    Row{"start_refused", ProblemCode::ENGINE_UNAVAILABLE,
        "The engine made it and did not start it: the template's program may not be in the image."},
    Row{"image_missing", ProblemCode::IMAGE_UNAVAILABLE, "The image is not on the engine."},
    Row{"image_changed", ProblemCode::APPROVAL_DRIFT, "The image is not the one that was previewed."},
    Row{"network_missing", ProblemCode::ENGINE_UNAVAILABLE, "The engine has no network factionos-egress."},
    Row{"mount_refused", ProblemCode::SCOPE_VIOLATION, "A directory could not be mounted."},
    Row{"name_taken", ProblemCode::RESOURCE_BUSY,
        "A container that is not ours has the name; it is left alone."},
    Row{"not_as_meant", ProblemCode::SANDBOX_UNAVAILABLE,
        "The engine made the container otherwise than it was asked to; it has been removed."},
    Row{"too_many_runs", ProblemCode::RATE_LIMITED, "As many containers run as may at once."},
    Row{"run_active", ProblemCode::RESOURCE_BUSY, "A run holds the container."},
};

}  // namespace

Refused containerDenied(schema::Denial::Reader denial) {
  const auto code = view(denial.getCode());
  const auto* row = std::ranges::find_if(kRows, [&](const Row& each) { return each.code == code; });
  if (row == kRows.end()) return {.code = ProblemCode::ENGINE_UNAVAILABLE};
  return {.code = row->problem, .detail = row->detail};
}

}  // namespace factionos::broker
