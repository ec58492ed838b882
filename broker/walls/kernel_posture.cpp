#include "broker/walls/kernel_posture.h"

#include <algorithm>
#include <string_view>

#include "broker/walls/guarantees.h"

namespace factionos::walls {
namespace {

using sandbox::KernelSupport;
using sandbox::verify::Feature;
using sandbox::verify::Guarantee;
using sandbox::verify::Layer;
using sandbox::verify::Strength;

void addOnce(std::vector<Feature>& features, Feature feature) {
  if (std::ranges::find(features, feature) == features.end()) features.push_back(feature);
}

// The layer that carries a promise of a command on this kernel: in a namespace of its own if it can, else
// where there are none. Null: nothing does.
const Layer* carrierOf(std::string_view id, std::span<const Guarantee> table, const KernelSupport& support) {
  for (const std::string_view profile : {"command", "command-plain"}) {
    const auto row = std::ranges::find_if(table, [&](const Guarantee& guarantee) {
      return guarantee.id == id && guarantee.profile == profile &&
             missing(guarantee, support) == Feature::kNone;
    });
    if (row != table.end()) return &row->layer;
  }
  return nullptr;
}

bool byNamespaces(const Layer* carrier) {
  return carrier != nullptr && *carrier == Layer::kNamespaces;
}

// Below the layer that scopes nothing can be mounted: mounts without a pid namespace leave walking the tree.
Cleanup cleanupOf(const Layer* carrier, const KernelSupport& support) {
  if (byNamespaces(carrier)) return Cleanup::kPidNamespace;
  const bool scopes = carrier != nullptr && !has(support, Feature::kMountNamespace);
  return scopes ? Cleanup::kSignalScope : Cleanup::kSubreaper;
}

ProtectedPaths protectedPathsOf(const Layer* existing, const Layer* names) {
  if (existing == nullptr) return ProtectedPaths::kNone;
  return names != nullptr ? ProtectedPaths::kWhole : ProtectedPaths::kExistingOnly;
}

}  // namespace

KernelPosture postureOf(const KernelSupport& support, std::span<const Guarantee> table) {
  KernelPosture posture;
  for (const Guarantee& guarantee : table) {
    const Feature feature = missing(guarantee, support);
    if (feature == Feature::kNone) continue;
    addOnce(guarantee.strength == Strength::kRequired ? posture.lacking : posture.without, feature);
  }
  posture.cleanup = cleanupOf(carrierOf("processes.leftovers", table, support), support);
  posture.protectedPaths = protectedPathsOf(carrierOf("files.protected", table, support),
                                            carrierOf("files.protected-names", table, support));
  posture.processes =
      byNamespaces(carrierOf("processes.outside", table, support)) ? ProcessView::kOwn : ProcessView::kShared;
  return posture;
}

KernelPosture postureOf(const KernelSupport& support) {
  return postureOf(support, guarantees());
}

}  // namespace factionos::walls
