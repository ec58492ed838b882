// What a kernel can carry of the guarantees, before anything is put to the proof: the posture that
// diagnostics show, read off the same table as `sandbox verify`.
#pragma once

#include <span>
#include <vector>

#include "sandbox/support.h"
#include "sandbox/verify/guarantee.h"

namespace factionos::walls {

// What ends everything that a command started.
enum class Cleanup { kPidNamespace, kSignalScope, kSubreaper };

enum class ProtectedPaths {
  kWhole,  // names that are not there yet as well
  kExistingOnly,
  kNone,
};

enum class ProcessView { kOwn, kShared };

struct KernelPosture {
  // Without which a required guarantee does not hold, so that nothing is started; each once, in the table's
  // order.
  std::vector<sandbox::verify::Feature> lacking;
  // The same of the optional ones: they do not hold, and sessions run.
  std::vector<sandbox::verify::Feature> without;
  Cleanup cleanup = Cleanup::kSubreaper;
  ProtectedPaths protectedPaths = ProtectedPaths::kNone;
  ProcessView processes = ProcessView::kShared;

  [[nodiscard]] bool holds() const { return lacking.empty(); }
};

// `table` is guarantees() but for tests.
KernelPosture postureOf(const sandbox::KernelSupport& support,
                        std::span<const sandbox::verify::Guarantee> table);
KernelPosture postureOf(const sandbox::KernelSupport& support);

}  // namespace factionos::walls
