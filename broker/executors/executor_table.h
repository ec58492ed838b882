#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "broker/core/core.h"
#include "broker/policy/operations.h"

namespace factionos::broker {

// Why a family runs nothing now.
struct Unready {
  redaction::Literal reason;  // a label for diagnostics
  Refused refused;            // what who asks all the same is told
};

// The families that this build can run, as rows, each with the question whether it can now. A family that is
// no row is `not_implemented`. Diagnostics show what is asked here; the action flow asks before each request.
class ExecutorTable {
 public:
  using WhyNot = std::function<std::optional<Unready>()>;

  void add(policy::Family family, WhyNot whyNot) { rows_.emplace_back(family, std::move(whyNot)); }

  std::optional<Unready> whyNot(policy::Family family) const {
    for (const auto& [each, ask] : rows_) {
      if (each == family) return ask();
    }
    return Unready{.reason = "not_implemented", .refused = {.code = schema::ProblemCode::UNAVAILABLE}};
  }

 private:
  std::vector<std::pair<policy::Family, WhyNot>> rows_;
};

}  // namespace factionos::broker
