// One thing that the kernel looks at on the way, in its order.
#pragma once

#include <string>
#include <utility>

#include "sandbox/explain/explain.h"

namespace factionos::sandbox::explain {

struct Explainer::Check {
  bool passes = true;
  int error = 0;      // what the process sees if it does not pass
  bool ends = false;  // or that it ends the process
  Layer layer = Layer::kNone;
  std::string rule;
  std::string reason;

  static Check pass() { return {}; }
  static Check pass(Layer layer, std::string rule, std::string_view reason) {
    return {true, 0, false, layer, std::move(rule), std::string(reason)};
  }
  static Check fail(int error, Layer layer, std::string rule, std::string_view reason) {
    return {false, error, false, layer, std::move(rule), std::string(reason)};
  }
  // Nothing of ours.
  static Check ordinary(int error, std::string_view reason) {
    return fail(error, Layer::kSystem, "the system's own", reason);
  }
};

}  // namespace factionos::sandbox::explain
