// The one place where a create body is made.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workers/container/spec.h"

namespace factionos::container {

enum class Dialect { kDocker, kPodman };

// What the engine is like, as far as the body depends on it.
struct Manner {
  Dialect dialect = Dialect::kDocker;
  bool rootless = false;
};

// Labels by which a container of ours is known.
namespace labels {
inline constexpr std::string_view kManaged = "org.factionos.managed";  // "1"
inline constexpr std::string_view kInstance = "org.factionos.instance";
inline constexpr std::string_view kRun = "org.factionos.run";
inline constexpr std::string_view kAction = "org.factionos.action";
inline constexpr std::string_view kOwnerPid = "org.factionos.owner-pid";
inline constexpr std::string_view kOwnerStart = "org.factionos.owner-start";
inline constexpr std::string_view kProof = "org.factionos.proof";
inline constexpr std::string_view kTemplate = "org.factionos.template";
inline constexpr std::string_view kSpec = "org.factionos.spec";  // digest of everything else
}  // namespace labels

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Sorted by nothing: in the order of the list above.
Pairs labelsOf(const Spec& spec, const Manner& manner);
Pairs environmentOf(const Spec& spec);
std::string temporaryOptions(const Spec& spec);
std::string_view networkOf(const Spec& spec);
std::string_view userNamespaceOf(const Manner& manner);
std::string_view workingDirectory(const Spec& spec);
std::string userOf(const Spec& spec);

// JSON of POST /containers/create. Every field that could loosen the walls is named, also where it has the
// value that the engine would give it.
std::string createBody(const Spec& spec, const Manner& manner);

}  // namespace factionos::container
